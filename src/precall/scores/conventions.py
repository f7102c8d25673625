"""Everybody else's number: presets that reproduce a named program's conventions.

The field's programs disagree on ties, on k, on how distances are rounded and even on which number
is called precision. A preset is the program's own answer to each; docs/why-your-number-differs.md
shows all of them on the same data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from precall.errors import InputError
from precall.neighbors.tie_rules import TieRule

_FOUR = ("precision", "recall", "density", "coverage")


@dataclass(frozen=True, slots=True)
class Convention:
    """How a program counts."""

    name: str
    rule: TieRule = TieRule.CLOSED
    rule_float32: TieRule | None = None  # where the program rounds float32 input differently
    scores: tuple[str, ...] | None = None  # what the program prints; None for everything
    default_k: Mapping[str, int] = field(default_factory=dict)  # where it differs from ours
    spare_samples: int = 1  # needed beyond k
    realism_offset: float = 0.0
    squares_realism: bool = False
    swaps_cover: bool = False  # precision cover is what Definition 2 calls recall cover

    def tie_rule(self, *input_dtypes: str) -> TieRule:
        """Return the rule for input of these precisions: float32 only if both sides are."""
        if self.rule_float32 is not None and set(input_dtypes) == {"float32"}:
            return self.rule_float32
        return self.rule


CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention("precall"),
        Convention(
            "prdc",
            rule=TieRule.OPEN_FLOAT64,
            rule_float32=TieRule.OPEN_FLOAT32,
            scores=_FOUR,
            default_k=dict.fromkeys(_FOUR, 5),
            spare_samples=2,
        ),
        Convention(
            "kynkaanniemi",
            scores=("precision", "recall"),
            realism_offset=1e-5,
            squares_realism=True,
        ),
        Convention(
            "torch-fidelity",
            rule=TieRule.CLOSED_FLOAT64,
            rule_float32=TieRule.CLOSED_FLOAT32,
            scores=("precision", "recall", "f_score"),
        ),
        Convention("guided-diffusion", scores=("precision", "recall")),
        Convention(
            "eas",
            rule=TieRule.OPEN,
            scores=(
                "precision",
                "recall",
                "coverage",
                "precision_coverage",
                "symmetric_precision",
                "symmetric_recall",
            ),
            default_k={"precision": 5, "recall": 5},
        ),
        Convention("prc-authors", scores=("precision_cover", "recall_cover"), swaps_cover=True),
    )
}


def as_convention(name: str) -> Convention:
    """Read the ``convention`` argument of :func:`precall.evaluate`."""
    if not isinstance(name, str) or name not in CONVENTIONS:
        known = ", ".join(repr(known) for known in CONVENTIONS)
        raise InputError(f"convention={name!r} is unknown; choose from {known}.")
    return CONVENTIONS[name]
