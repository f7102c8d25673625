"""What an experiment is: cells to measure, rows that set ours beside the published, a figure."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Cell", "Experiment", "Measured", "Measurements", "Row", "Size", "Verdict"]

Verdict = Literal["agrees", "differs", "holds", "fails", "new"]
Values = dict[str, Any]  # what JSON can hold: numbers, text, lists of them

PAPERS = {
    "000": "Sykes, Simon, Rabin: Unifying and extending precision–recall metrics",
    "001": "Cheema, Urner: Precision recall cover",
    "003": "Simon, Webster, Rabin: Revisiting precision and recall definition",
    "004": "a tutorial on precision and recall of generative models",
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large an experiment is to be."""

    quick: bool
    repeats: int | None = None  # None for the experiment's own number

    def pick(self, *, quick: Any, full: Any) -> Any:
        """Choose what depends on the size."""
        return quick if self.quick else full

    def n_repeats(self, *, quick: int, full: int) -> int:
        """Number of repetitions, unless the user asked for another."""
        return self.repeats or (quick if self.quick else full)


@dataclass(frozen=True, slots=True)
class Cell:
    """What is measured at once, and kept when a run is interrupted."""

    parameters: Mapping[str, Any]  # numbers and text

    @property
    def name(self) -> str:
        """Unique in its experiment; the seed of its samples depends on it."""
        return ", ".join(f"{key}={value}" for key, value in self.parameters.items())


@dataclass(frozen=True, slots=True)
class Measured:
    """A cell and what was found there."""

    parameters: Mapping[str, Any]
    values: Values


@dataclass(frozen=True, slots=True)
class Measurements:
    """All cells of an experiment."""

    found: Sequence[Measured]

    def __iter__(self) -> Iterator[Measured]:
        return iter(self.found)

    def where(self, **parameters: Any) -> Self:
        """Return those with certain parameters."""
        chosen = [
            one
            for one in self.found
            if all(one.parameters.get(key) == value for key, value in parameters.items())
        ]
        return type(self)(chosen)

    def parameter(self, name: str) -> list[Any]:
        """Return the distinct values of a parameter, in their order."""
        return list(dict.fromkeys(one.parameters[name] for one in self.found))

    def values(self, key: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """Return a value of each cell: (n_cells,), or (n_cells, length) where it is a list."""
        return np.array([one.values[key] for one in self.found], dtype=np.float64)

    def mean(self, key: str) -> float:
        """Mean over the cells."""
        return float(self.values(key).mean())

    def deviation(self, key: str) -> float | None:
        """Standard deviation over the cells; ``None`` for a single one."""
        values = self.values(key)
        return float(values.std(ddof=1)) if len(values) > 1 else None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what was published, what we find, and how the two agree."""

    what: str
    published: float | str | None
    ours: float | str
    verdict: Verdict
    spread: float | None = None  # standard deviation over repetitions
    note: str = ""  # why they differ, or what the number is

    @classmethod
    def against(
        cls,
        what: str,
        published: float,
        ours: float,
        *,
        tolerance: float,
        spread: float | None = None,
        note: str = "",
    ) -> Self:
        """Set a number beside a published one."""
        agrees = math.isfinite(ours) and abs(ours - published) <= tolerance
        return cls(what, published, ours, "agrees" if agrees else "differs", spread, note)

    @classmethod
    def claim(cls, what: str, ours: str, *, holds: bool, note: str = "") -> Self:
        """Say whether a claim of a paper holds."""
        return cls(what, "claimed", ours, "holds" if holds else "fails", None, note)

    @classmethod
    def new(cls, what: str, ours: float, *, spread: float | None = None, note: str = "") -> Self:
        """Report a number that no paper has."""
        return cls(what, None, ours, "new", spread, note)

    @property
    def difference(self) -> float | None:
        """Ours less the published."""
        if isinstance(self.published, str | None) or isinstance(self.ours, str):
            return None
        return self.ours - self.published


@dataclass(frozen=True, slots=True)
class Experiment:
    """A figure or a table of a paper, done again.

    ``cells`` lists what to measure, ``measure`` measures one cell from its parameters and a random
    generator of its own, ``compare`` makes the rows of the table, ``draw`` fills a figure.
    """

    name: str
    title: str
    where: str  # paper and section: "000 §4.1, Table 1"
    caption: str  # what one should see in the figure
    quick_seconds: float  # on two cores
    full_seconds: float
    cells: Callable[[Size], list[Cell]]
    measure: Callable[[Mapping[str, Any], np.random.Generator], Values]
    compare: Callable[[Measurements], list[Row]]
    draw: Callable[[Measurements, "Figure"], None]
    needs: tuple[str, ...] = ()  # packages beside the core
