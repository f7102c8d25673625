"""Class labels of samples, and which samples belong to which class."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.data.inputs import to_labels
from precall.errors import InputError

_LONGEST_NUMBER = 20
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class ClassShare:
    """How much of each side belongs to a class; ``None`` for a side without labels."""

    real: float | None
    generated: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """One label a sample, as text; ``None`` for a side without labels."""

    real: NDArray[np.str_] | None
    generated: NDArray[np.str_] | None

    @classmethod
    def of(cls, real: object, generated: object, sets: tuple[FeatureSet, FeatureSet]) -> Self:
        """Read and check the labels of both sides."""
        return cls(_read(real, sets[0]), _read(generated, sets[1]))

    def classes(self) -> list[str]:
        """Return every label of either side, numbers in their order, then words in theirs."""
        known = [side for side in (self.real, self.generated) if side is not None]
        labels = np.unique(np.concatenate(known)).tolist() if known else []
        return sorted(labels, key=_natural)

    def share(self, label: str) -> ClassShare:
        """Return how much of each side has this label."""
        sides = self.real, self.generated
        return ClassShare(*(None if s is None else float((s == label).mean()) for s in sides))

    def one_sided(self) -> list[str]:
        """Say which classes only one side has: nothing can be measured of these."""
        if self.real is None or self.generated is None:
            return []
        found = []
        for role, mine, other in (
            ("real", self.real, self.generated),
            ("generated", self.generated, self.real),
        ):
            labels = sorted(set(mine.tolist()) - set(other.tolist()), key=_natural)
            if labels:
                more = f" and {len(labels) - _MOST_NAMED} more" * (len(labels) > _MOST_NAMED)
                named = ", ".join(map(repr, labels[:_MOST_NAMED])) + more
                which, it = ("class", "it") if len(labels) == 1 else ("classes", "them")
                are = "is" if len(labels) == 1 else "are"
                found.append(f"{which} {named} {are} not evaluated: only {role} has {it}.")
        return found

    def select(
        self, label: str, sets: tuple[FeatureSet, FeatureSet]
    ) -> tuple[FeatureSet, FeatureSet] | None:
        """Return the samples with this label; a side without labels stays whole.

        ``None`` if a side has labels, but not this one.
        """
        chosen = []
        for side, features in zip((self.real, self.generated), sets, strict=True):
            rows = None if side is None else np.flatnonzero(side == label)
            if rows is not None and len(rows) == 0:
                return None
            chosen.append(features if rows is None else features.subset(rows, label))
        return chosen[0], chosen[1]


def _read(labels: object, features: FeatureSet) -> NDArray[np.str_] | None:
    if labels is None:
        return None
    name = f"labels_{features.role}"
    values = to_labels(labels, name)
    if len(values) != len(features):
        raise InputError(
            f"{name} must have one label for each of the {len(features)} rows of {features.role}; "
            f"got {len(values)}."
        )
    return values


def _natural(label: str) -> tuple[bool, int, str]:
    is_number = label.removeprefix("-").isdecimal() and len(label) < _LONGEST_NUMBER
    return not is_number, int(label) if is_number else 0, label
