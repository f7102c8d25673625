"""Scores without the rows that may decide them."""

from collections.abc import Mapping

import numpy as np

from precall.evaluation.ceilings import scores_of
from precall.evaluation.settings import Settings
from precall.findings.influence import Influence, influence, suspects
from precall.neighbors.statistics import ROLES
from precall.neighbors.sweeps import Sweeps
from precall.scores import SamplePair, Score


def find_influences(
    settings: Settings, pair: SamplePair, scores: Mapping[str, Score], sweeps: Sweeps
) -> tuple[Influence, ...]:
    """Leave out the rows under suspicion, of one class at a time, and see what scores are then."""
    requests, found = settings.possible_scores(pair.sets), []
    units = {request.name: request.metric.unit for request in requests}
    for suspected in suspects(pair, requests):
        c = ROLES.index(suspected.role)
        kept = np.delete(np.arange(len(pair.sets[c])), suspected.rows)
        fewer = pair.sets[c].subset(kept, f"without {len(suspected.rows)}")
        sets = (fewer, pair.sets[1]) if c == 0 else (pair.sets[0], fewer)
        sweeps.progress.announce(settings.asked_of_all(sets).n_pairs)
        without = scores_of(settings, sets, sweeps, "leaving out single samples")
        found.append(influence(suspected, scores, without, units, min(map(len, sets))))
    return tuple(one for one in found if one is not None)
