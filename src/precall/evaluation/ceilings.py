"""What a perfect generator would score: real samples in the place of generated ones."""

from dataclasses import replace

import numpy as np

from precall.data.feature_sets import FeatureSet
from precall.engines import Progress
from precall.errors import InputError
from precall.evaluation.job import Job
from precall.evaluation.weighing import Sets
from precall.results.evaluation import Evaluation
from precall.scores.records import Ceiling

__all__ = ["with_ceiling"]


def with_ceiling(
    result: Evaluation, job: Job, sets: Sets, held_out: FeatureSet | None, progress: Progress
) -> Evaluation:
    """Add to each score what real samples reach.

    Half of real against the other half, or other real samples against real.

    Parameters
    ----------
    held_out
        Other real samples; ``None`` to halve real.
    """
    real, generated = sets
    rng = np.random.default_rng((job.seed, 4))
    if held_out is None:
        order = rng.permutation(len(real))
        first, second = np.array_split(order, 2)
        reference = real.subset(np.sort(first), "first half")
        perfect = real.subset(np.sort(second), "second half")
    else:
        reference, perfect = real, held_out
    m = min(len(perfect), len(generated))
    if m < 2:
        raise InputError("a ceiling needs at least 4 real samples, or 2 held-out ones.")
    found = []
    for features in (perfect, generated):
        chosen = np.sort(rng.choice(len(features), m, replace=False))
        found.append(job.score_only((reference, features.subset(chosen, "subset"))))
        progress(len(found), 2)
    scores = dict(result.scores)
    for name in scores.keys() & found[0].keys():
        ceiling = Ceiling(found[0][name].value, found[1][name].value, len(reference), m)
        scores[name] = replace(scores[name], ceiling=ceiling)
    return replace(result, scores=scores)
