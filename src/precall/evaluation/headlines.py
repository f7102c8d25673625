"""The headline of a result: three numbers, their intervals, and why samples are outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from precall.evaluation.evidence_pool import Sets
from precall.findings.reasons import Reasons, reasons_of
from precall.headline.measure import measure_headline
from precall.headline.outlyingness import ENOUGH, EPSILON, settled_epsilon
from precall.headline.support import Support
from precall.neighbors.sweeps import Sweeps
from precall.scores import Score
from precall.scores.headline_names import FEWEST, HEADLINE
from precall.uncertainty.resampling import Resampled


@dataclass(frozen=True, slots=True, eq=False)
class HeadlineFound:
    """What goes into a result."""

    scores: Mapping[str, Score] = field(default_factory=dict)
    replicates: Mapping[str, Resampled] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=Reasons)
    supports: tuple[Support, Support] | None = None  # asked by real and by generated samples


def find_headline(
    names: Sequence[str],
    sets: Sets,
    sweeps: Sweeps,
    *,
    seed: int,
    confidence: float,
    intervals: bool,
) -> HeadlineFound:
    """Measure the numbers that are wanted; nothing where samples are too few."""
    if not names or headline_shortage(names, sets) is not None:
        return HeadlineFound()
    found = measure_headline(*sets, sweeps, seed)
    n, m = map(len, sets)
    precision, recall, at_half = found.precision, found.recall, found.recall_at_half
    scores = {
        "support_precision": _support_score(precision, n, confidence),
        "support_recall": _support_score(recall, m, confidence),
        "recall_at_half": Score(at_half.value(), expected_if_equal=1.0),
    }
    replicates = {}
    if intervals:
        values = {
            "support_precision": precision.draws,
            "support_recall": lambda of_real, of_generated: recall.draws(of_generated, of_real),
            "recall_at_half": at_half.draws,
        }
        replicates = {name: Resampled.of(values[name], n, m, seed) for name in names}
    reasons = Reasons(reasons_of(precision), reasons_of(recall))
    kept = {name: scores[name] for name in HEADLINE if name in names}
    return HeadlineFound(kept, replicates, reasons, (recall, precision))


def _support_score(support: Support, n_references: int, confidence: float) -> Score:
    outside, epsilon = support.surely_outside(confidence)
    return Score(
        support.value(),
        expected_if_equal=1.0,
        tests=support.by_test(),
        epsilon=settled_epsilon(n_references),
        surely_outside=outside,
        surely_epsilon=epsilon,
    )


def headline_shortage(names: Sequence[str], sets: Sets) -> str | None:
    """Say which side has too few samples for the headline, if one has."""
    for features in sets if names else ():
        if len(features) < FEWEST:
            return (
                f"{', '.join(names)}: at least {FEWEST} samples are needed; {features.role} has "
                f"{len(features)}."
            )
    return None


def headline_caveats(names: Sequence[str], sets: Sets) -> list[str]:
    """Say what is left out, and where ε had to grow."""
    if (shortage := headline_shortage(names, sets)) is not None:
        return [f"{shortage} Left out."]
    sides = {"support_precision": sets[0], "support_recall": sets[1]}
    grown = {
        name: f"{100 * settled_epsilon(len(side)):.2g} % of {len(side)} {side.role} samples"
        for name, side in sides.items()
        if name in names and settled_epsilon(len(side)) > EPSILON
    }
    if not grown:
        return []
    return [
        f"{', '.join(grown)}: with fewer than {ENOUGH} samples each test of the support leaves out "
        f"more than {100 * EPSILON:.2g} %: {', '.join(grown.values())}."
    ]
