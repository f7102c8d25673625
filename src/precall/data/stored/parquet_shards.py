"""Rows of a .parquet file, by its row groups."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation
from precall.data.readers.tables import chosen_columns, from_table
from precall.data.stored.files import open_file, stamp_of
from precall.data.stored.shards import Places


@dataclass(frozen=True, slots=True)
class ParquetShard:
    """A column of vectors, or columns of numbers that are features."""

    name: str
    n_rows: int
    stamp: str
    place: ArrayLocation  # whose role errors speak of
    columns: tuple[str, ...]
    ends: tuple[int, ...]  # of the row groups

    @classmethod
    def of(cls, name: str, place: ArrayLocation) -> Self:
        """Read what the file says of itself."""
        arrow, parquet = place.library("pyarrow"), place.library("pyarrow.parquet")
        with (
            place.refusing(
                "is not a valid .parquet file: {!s:.200}.", arrow.ArrowException, OSError
            ),
            open_file(name) as file,
        ):
            whole = parquet.ParquetFile(file)
            meta, columns = whole.metadata, chosen_columns(place, arrow, whole.schema_arrow)
            if len(columns) > 1 and place.key is None:  # what numbers the first rows is no feature
                table = whole.read_row_group(0, columns=columns)
                kept = place.features_among([c.to_numpy() for c in table.columns], columns)
                columns = [columns[column] for column in kept]
            sizes = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        ends = tuple(int(end) for end in np.cumsum(sizes))
        named = replace(place, key=",".join(columns))
        return cls(name, meta.num_rows, stamp_of(name), named, tuple(columns), ends)

    def rows(self, places: Places) -> NDArray[Any]:
        """Read the row groups that the places are in, one after the other."""
        arrow, parquet = self.place.library("pyarrow"), self.place.library("pyarrow.parquet")
        found = []
        damaged = self.place.refusing(
            "cannot be read: {!s:.200}.", arrow.ArrowException, OSError, ValueError
        )
        with damaged, open_file(self.name) as file:
            whole = parquet.ParquetFile(file)
            groups = np.searchsorted(self.ends, places, side="right")
            for group in np.unique(groups):
                table = whole.read_row_group(int(group), columns=list(self.columns))
                first = self.ends[group - 1] if group else 0
                found.append(from_table(self.place, table)[places[groups == group] - first])
        return np.concatenate(found)

    def current_stamp(self) -> str:
        """Return the stamp that the file has now."""
        return stamp_of(self.name)
