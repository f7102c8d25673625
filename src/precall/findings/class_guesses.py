"""Classes of a side without labels, guessed by its nearest samples on the side that has some.

Half of the labelled samples guess the classes of the other half and of the other side. Were P = Q,
those that are guessed would be exchangeable, whatever the guesses are worth, so that exact tests of
equal shares keep their level; how often guesses are right decides about the power only.
"""

import warnings
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.data.labels import Labels
from precall.findings.shares import SharesCompared, compare_shares
from precall.runtime.threads import single_threaded_libraries

_N_VOTES = 5
_MOST_SAMPLES = 5000  # that guess, and of each side that are guessed
_MOST_CLASSES = 200


def guessed_shares(
    sets: tuple[FeatureSet, FeatureSet], labels: Labels, confidence: float, seed: int
) -> Mapping[str, SharesCompared]:
    """Compare how often each class is guessed on both sides; nothing unless one has labels.

    The chance to find any class of equal distributions different is at most 1 − confidence.
    """
    known = [side for side in (labels.real, labels.generated) if side is not None]
    classes = labels.classes()
    if len(known) != 1 or not 2 <= len(classes) <= _MOST_CLASSES:
        return {}
    (names,), labelled = known, int(labels.real is None)
    if len(names) < 2 * _N_VOTES:
        return {}
    guess, asked = np.array_split(np.random.default_rng((seed, 8)).permutation(len(names)), 2)
    guess, others = guess[:_MOST_SAMPLES], np.arange(len(sets[1 - labelled]))
    voters, voices = _rows(sets[labelled], guess), names[guess]
    asked_rows: dict[int, NDArray[np.intp]] = {labelled: asked, 1 - labelled: others}
    guessed = [
        _voted(voters, voices, _rows(sets[c], asked_rows[c][:_MOST_SAMPLES])) for c in (0, 1)
    ]
    counts = [(int((guessed[0] == c).sum()), int((guessed[1] == c).sum())) for c in classes]
    compared = compare_shares(counts, len(guessed[0]), len(guessed[1]), 1 - confidence)
    return dict(zip(classes, compared, strict=True))


def _rows(features: FeatureSet, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.asarray(features.select(rows).tile(0, len(rows)), np.float64)


def _voted(
    voters: NDArray[np.float64], labels: NDArray[np.str_], rows: NDArray[np.float64]
) -> NDArray[np.str_]:
    """Return the label that most of the nearest voters have."""
    from sklearn.neighbors import KNeighborsClassifier

    with single_threaded_libraries(), warnings.catch_warnings(action="ignore"):
        vote = KNeighborsClassifier(min(_N_VOTES, len(voters)), algorithm="brute")
        return np.asarray(vote.fit(voters, labels).predict(rows))
