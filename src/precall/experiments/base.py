"""What an experiment is: cells to measure, rows that set ours beside the published, a figure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from precall.curves.pr_curve import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = Mapping[str, Any]  # parameters of what is measured at once: numbers and text
Values = dict[str, Any]  # what is found in a cell, as JSON can hold it: numbers, text, lists
Rows: TypeAlias = "Iterator[Row]"
Verdict = Literal["agrees", "differs", "holds", "fails", "new"]


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

    def repeat(self, cells: Iterable[Cell], *, quick: int, full: int) -> list[Cell]:
        """Return all cells again in every repetition, which is their last parameter."""
        repeats = range(self.n_repeats(quick=quick, full=full))
        return [{**cell, "repeat": repeat} for repeat in repeats for cell in cells]

    def cross(self, *, quick: int, full: int, **parameters: Iterable[Any]) -> list[Cell]:
        """Repeat a cell for every combination of parameters."""
        combinations = product(*parameters.values())
        cells = [dict(zip(parameters, chosen, strict=True)) for chosen in combinations]
        return self.repeat(cells, quick=quick, full=full)


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
        reason: str = "",
    ) -> Self:
        """Set a number beside a published one; give a reason where they differ."""
        if abs(ours - published) <= tolerance:  # never where ours is NaN
            return cls(what, published, ours, "agrees", spread, note)
        return cls(what, published, ours, "differs", spread, note or reason)

    @classmethod
    def claim(cls, what: str, ours: str, *, holds: bool, note: str = "", reason: str = "") -> Self:
        """Say whether a claim of a paper holds; give a reason where it fails."""
        if holds:
            return cls(what, "claimed", ours, "holds", None, note)
        return cls(what, "claimed", ours, "fails", None, note or reason)

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
class Measured:
    """A cell and what was found there."""

    cell: Cell
    values: Values


class Measurements(list[Measured]):
    """All cells of an experiment, or some of them."""

    def where(self, **parameters: Any) -> Self:
        """Return those with certain parameters."""
        wanted = parameters.items()
        return type(self)([one for one in self if wanted <= one.cell.items()])

    def without(self, **parameters: Any) -> Self:
        """Return all but those with certain parameters."""
        unwanted = parameters.items()
        return type(self)([one for one in self if not unwanted <= one.cell.items()])

    def parameter(self, name: str) -> list[Any]:
        """Return the distinct values of a parameter, in their order."""
        return list(dict.fromkeys(one.cell[name] for one in self))

    def by(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Return what some parameters are, and those that share it: ``d, n, here``."""
        for chosen in dict.fromkeys(tuple(one.cell[name] for name in names) for one in self):
            yield *chosen, self.where(**dict(zip(names, chosen, strict=True)))

    def values(self, key: str) -> Floats:
        """Return a value of each cell: (n_cells,), or (n_cells, …) where it is a list."""
        return np.array([one.values[key] for one in self], dtype=np.float64)

    def mean(self, key: str) -> float:
        """Mean over the cells."""
        return float(self.values(key).mean())

    def deviation(self, key: str) -> float | None:
        """Standard deviation over the cells; ``None`` for a single one."""
        values = self.values(key)
        return float(values.std(ddof=1)) if len(values) > 1 else None

    def along(self, name: str, key: str) -> tuple[list[Any], list[float]]:
        """Return the values of a parameter, and the mean over the cells with each of them."""
        return self.parameter(name), [here.mean(key) for _, here in self.by(name)]

    def row(self, what: str, key: str, note: str = "") -> Row:
        """Report the mean over the cells, which no paper has."""
        return Row.new(what, self.mean(key), spread=self.deviation(key), note=note)

    def row_against(
        self, what: str, published: float, key: str, *, tolerance: float, **notes: str
    ) -> Row:
        """Set the mean over the cells beside a published number."""
        mean, spread = self.mean(key), self.deviation(key)
        return Row.against(what, published, mean, tolerance=tolerance, spread=spread, **notes)


class Steps(NamedTuple):
    """What an experiment does."""

    cells: Callable[[Size], list[Cell]]  # what is measured at once, and survives an interruption
    measure: Callable[[Cell, np.random.Generator], Values]  # with a generator of its own
    compare: Callable[[Measurements], Rows]  # the table
    draw: Callable[[Measurements, "Figure"], None]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A figure or a table of a paper, done again."""

    name: str
    title: str
    where: str  # paper and section: "Sykes et al. 2024 §4.1, Table 1"
    caption: str  # what one should see in the figure
    seconds: tuple[float, float]  # of the quick and of the full size, on two cores
    steps: Steps
    needs: tuple[str, ...] = ()  # packages beside the core
