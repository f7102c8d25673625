"""The result sample by sample: which generated ones are unrealistic, which real ones are missed."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.errors import InputError, check_integer
from precall.headline.support import Support
from precall.neighbors.statistics import NearestOther, SideStatistics
from precall.runtime.output_files import check_target, replacing
from precall.runtime.read_only import make_read_only
from precall.runtime.refusals import needed
from precall.scores import SamplePair, ScoreRequest

if TYPE_CHECKING:
    import pandas as pd

Column = NDArray[Any]

OUTSIDE = "outside_support"
_INSTALL = "'precall[tables]'"


@dataclass(frozen=True, slots=True)
class Extreme:
    """A sample that is farther from the other class than others are."""

    row: int
    value: float  # realism of a generated sample, relative distance of a real one
    nearest: int  # row of the nearest sample of the other class
    reason: str = ""  # why it is outside of the other's support; empty if it is not


@dataclass(frozen=True, slots=True)
class Extremes:
    """The samples to look at first, the most extreme first."""

    worst_generated: tuple[Extreme, ...] = ()
    least_covered_real: tuple[Extreme, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SampleTable:
    """Columns of equal length, one row a sample; ``index`` is its row in the input.

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> table = precall.evaluate(real, generated, estimators=(), headline=False).samples.generated
    >>> len(table["realism"]), table["index"][:3].tolist()
    (300, [0, 1, 2])
    >>> table.to_csv("samples.csv")  # doctest: +SKIP
    """

    columns: Mapping[str, Column]  # each (n,)

    def __post_init__(self) -> None:
        make_read_only(self)

    def __len__(self) -> int:
        return len(self.columns["index"])

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __repr__(self) -> str:
        return f"SampleTable({len(self)} rows: {', '.join(self.columns)})"

    def rows(self, chosen: NDArray[np.intp]) -> Self:
        """Return a table of some of the rows."""
        return type(self)({name: column[chosen] for name, column in self.columns.items()})

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas data frame."""
        pandas = needed("pandas", "to_pandas() needs", _INSTALL)
        frame: pd.DataFrame = pandas.DataFrame(dict(self.columns))
        return frame

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write a Parquet file."""
        arrow = needed("pyarrow", "to_parquet() needs", _INSTALL)
        parquet = needed("pyarrow.parquet", "to_parquet() needs", _INSTALL)
        table = arrow.table({name: arrow.array(column) for name, column in self.columns.items()})
        with replacing(Path(path)) as temporary:
            parquet.write_table(table, temporary)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a text file with a heading, numbers in full precision."""
        columns = [column.tolist() for column in self.columns.values()]
        with replacing(Path(path)) as new, new.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([self.columns, *zip(*columns, strict=True)])


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Both classes, sample by sample.

    Columns of both tables: ``likelihood_ratio_NAME``, p/q as each curve's evidence has it (NaN
    where the split did not evaluate the sample); for each score that is a share whether the sample
    is inside, under the score's name; ``outside_support``, why it is outside of the support of the
    other class, by any test of the headline, empty where it is not; the nearest sample of the other
    class and the distance to it.
    Of generated: ``realism``, ``authentic``, ``real_balls_kK``, the real k-balls around the sample.
    Of real: ``generated_in_ball_kK``, how often it is covered, and ``relative_distance``, that to
    the nearest generated in units of its own ball at k = 3, whatever scores were asked for: above 1
    it is not covered at that k (Cheema & Urner 2023 §3.2).

    Examples
    --------
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 300, 4))
    >>> generated[7] = 20
    >>> samples = precall.evaluate(real, generated, estimators=(), headline=False).samples
    >>> samples.worst_generated(1)["index"].tolist()
    [7]
    """

    real: SampleTable
    generated: SampleTable

    @classmethod
    def of(
        cls,
        likelihood_ratios: Mapping[str, tuple[Column, Column]],
        pair: SamplePair,
        requests: Sequence[ScoreRequest],
        own_k: int,
        supports: tuple[Support, Support] | None = None,
    ) -> Self:
        """Lay out what is known of every sample; likelihood ratios are of each curve.

        Parameters
        ----------
        own_k
            Of realism and relative distances.
        supports
            That real samples are asked about, and that generated ones are.
        """
        real: dict[str, Column] = {"index": np.arange(len(pair.sets[0]))}
        generated: dict[str, Column] = {"index": np.arange(len(pair.sets[1]))}
        if pair.statistics is not None:
            sides = pair.statistics.real, pair.statistics.generated
            nearest = sides[0].nearest, sides[1].nearest
            if nearest[0] is not None and nearest[1] is not None:
                ks = _asked_for(requests, sides[0])
                real |= _of_real(sides[0], nearest[0], ks, own_k)
                realism = sides[1].squared_realism[own_k]
                if not requests[0].convention.squares_realism:
                    realism = np.sqrt(realism)
                generated |= _of_generated(sides[1], nearest[1], ks, realism)
            for request in requests:
                if (inside := request.metric.inside) is not None:
                    flags = request.inside(pair)
                    (real if inside.role == "real" else generated)[request.name] = flags
        if supports is not None:
            real |= _of_support("support_recall", supports[0])
            generated |= _of_support("support_precision", supports[1])
        for name, (of_real, of_generated) in likelihood_ratios.items():
            real[f"likelihood_ratio_{name}"] = of_real
            generated[f"likelihood_ratio_{name}"] = of_generated
        return cls(SampleTable(real), SampleTable(generated))

    def write(self, path: str | PathLike[str]) -> tuple[Path, Path]:
        """Write both tables: ``samples.csv`` gives samples-real.csv and samples-generated.csv.

        The ending decides on CSV or Parquet.
        """
        names = check_sample_path(Path(path))
        write = SampleTable.to_csv if names[0].suffix == ".csv" else SampleTable.to_parquet
        for table, name in zip((self.real, self.generated), names, strict=True):
            write(table, name)
        return names

    def worst_generated(self, n: int = 10) -> SampleTable:
        """Return the ``n`` least realistic generated samples, the worst first."""
        return _extreme(self.generated, "realism", n, largest=False)

    def least_covered_real(self, n: int = 10) -> SampleTable:
        """Return the ``n`` real samples farthest from any generated one, the farthest first.

        In units of their own balls, so that samples of sparse regions do not always win.
        """
        return _extreme(self.real, "relative_distance", n, largest=True)

    def extremes(self, n: int = 24) -> Extremes:
        """Return both of these in short; empty where no score looked at neighbours."""
        if "realism" not in self.generated.columns:
            return Extremes()
        worst, missed = self.worst_generated(n), self.least_covered_real(n)
        return Extremes(
            _in_short(worst, "realism", "nearest_real"),
            _in_short(missed, "relative_distance", "nearest_generated"),
        )


def _extreme(table: SampleTable, by: str, n: int, *, largest: bool) -> SampleTable:
    check_integer("n", n, 1)
    if by not in table.columns:
        raise InputError(
            "samples cannot be ranked, since no score looked at their neighbours; evaluate with "
            "one that does, such as precision or coverage."
        )
    order = np.argsort(-table[by] if largest else table[by], kind="stable")
    return table.rows(order[:n])


def _in_short(table: SampleTable, value: str, nearest: str) -> tuple[Extreme, ...]:
    named = ["index", value, nearest, *(name for name in (OUTSIDE,) if name in table.columns)]
    columns = (table[name].tolist() for name in named)
    return tuple(Extreme(*row) for row in zip(*columns, strict=True))


def check_sample_path(path: Path, inputs: Iterable[Path] = ()) -> tuple[Path, Path]:
    """Return the two files that :meth:`Samples.write` makes of ``path``; raise if it cannot."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"samples can only be written to a .csv or .parquet file; got {path}.")
    if path.suffix == ".parquet":
        needed("pyarrow", "a .parquet file needs", _INSTALL)
    names = path.with_stem(f"{path.stem}-real"), path.with_stem(f"{path.stem}-generated")
    for name in names:
        check_target(name, inputs)
    return names


def _asked_for(requests: Sequence[ScoreRequest], real: SideStatistics) -> list[int]:
    """Each k of own balls that a score needs; 1, which is always known, if none does."""
    plans = [plan for request in requests if (plan := request.needs)]
    ks = frozenset[int]().union(*(plan.every_k for plan in plans))
    return sorted(ks & real.holds.keys()) or [1]


def _of_support(name: str, support: Support) -> dict[str, Column]:
    """Whether each sample is inside by the test that most fail, and why not by any."""
    test = support.deciding()
    return {name: test.of_queries <= test.threshold, OUTSIDE: np.array(support.reasons(), str)}


def _of_real(
    side: SideStatistics, nearest: NearestOther, ks: Sequence[int], own_k: int
) -> dict[str, Column]:
    distance, radius = np.sqrt(nearest.squared), np.sqrt(side.squared_radii[own_k])
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(distance == 0, 0.0, distance / radius)
    return {
        "nearest_generated": nearest.place,
        "nearest_generated_distance": distance,
        "relative_distance": relative,
        **{f"generated_in_ball_k{k}": side.holds[k] for k in ks},
    }


def _of_generated(
    side: SideStatistics, nearest: NearestOther, ks: Sequence[int], realism: Column
) -> dict[str, Column]:
    return {
        "realism": realism,
        "nearest_real": nearest.place,
        "nearest_real_distance": np.sqrt(nearest.squared),
        "authentic": ~nearest.holds[1],
        **{f"real_balls_k{k}": side.held_by[k] for k in ks},
    }
