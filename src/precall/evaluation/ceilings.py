"""What a perfect generator would score: real samples in the place of generated ones."""

from contextlib import nullcontext

import numpy as np

from precall.data.feature_sets import FeatureSet
from precall.errors import InputError
from precall.evaluation.evidence_pool import Sets
from precall.evaluation.settings import Settings
from precall.neighbors.sweeps import Sweeps
from precall.scores import Ceiling, SamplePair


def find_ceilings(
    settings: Settings, sets: Sets, held_out: FeatureSet | None, sweeps: Sweeps
) -> dict[str, Ceiling]:
    """Find for each score what real samples reach, and what generated ones reach at that size.

    Half of real against the other half, or held-out samples against real.
    """
    real, generated = sets
    rng = np.random.default_rng((settings.seed, 4))
    reference, perfect = real, held_out
    if perfect is None:
        first, second = np.array_split(rng.permutation(len(real)), 2)
        reference, perfect = (real.subset(half, "half") for half in (first, second))
    m = min(len(perfect), len(generated))
    if m < 2:
        raise InputError("a ceiling needs at least 4 real samples, or 2 held-out ones.")
    found = []
    with sweeps.placed(held_out) if held_out is not None else nullcontext():
        for features in (perfect, generated):
            chosen = rng.choice(len(features), m, replace=False)
            pair = reference, features.subset(chosen, "subset")
            found.append(scores_of(settings, pair, sweeps, "finding the ceiling"))
    return {
        name: Ceiling(found[0][name], found[1][name], len(reference), m)
        for name in found[0].keys() & found[1].keys()
    }


def scores_of(settings: Settings, sets: Sets, sweeps: Sweeps, doing: str) -> dict[str, float]:
    """Score other sets, without curves or intervals."""
    asked = settings.asked_of_all(sets)
    (found,) = sweeps.measure([asked], doing)
    pair = SamplePair(found.cross, sets, sweeps.session, settings.seed)
    return {r.name: r.measure(pair).value for r in settings.possible_scores(sets)}
