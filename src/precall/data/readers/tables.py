"""Tables of Arrow: a column of vectors, or columns of numbers that are features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.readers.array_location import ArrayLocation


def read_parquet(place: ArrayLocation) -> NDArray[Any]:
    """Read a .parquet file."""
    arrow, parquet = place.library("pyarrow"), place.library("pyarrow.parquet")
    damaged = "is not a valid .parquet file: {!s:.200}."
    with place.refusing(damaged, arrow.ArrowException, OSError):
        columns = chosen_columns(place, arrow, parquet.read_schema(place.path))
        table = parquet.read_table(place.path, columns=columns)
    return from_table(place, table)


def read_arrow(place: ArrayLocation) -> NDArray[Any]:
    """Read a .arrow or .feather file."""
    arrow = place.library("pyarrow")
    damaged = place.refusing(
        "is not a valid .arrow file: {!s:.200}.", arrow.ArrowException, OSError
    )
    with damaged, arrow.memory_map(str(place.path)) as source:
        reader = arrow.ipc.open_file(source)
        columns = chosen_columns(place, arrow, reader.schema)
        return np.array(from_table(place, reader.read_all().select(columns)))


def chosen_columns(place: ArrayLocation, arrow: Any, schema: Any) -> list[str]:
    """Which columns to read: the one that was named, the only vectors, or all numbers."""
    if any(isinstance(field.type, arrow.BaseExtensionType) for field in schema):
        raise place.refuse(
            "has columns of an extension type, which could run code; store plain numbers instead."
        )
    if place.key is not None:
        return [schema.names[column] for column in place.chosen_columns(schema.names)]
    vectors = [field.name for field in schema if _is_vector(field.type)]
    if vectors:
        return [place.choose(vectors)]
    numbers = [field.name for field in schema if _is_numeric(field.type)]
    if not numbers:
        raise place.refuse("has neither a column of vectors nor columns of numbers.")
    return numbers


def _is_vector(kind: Any) -> bool:
    return hasattr(kind, "value_type") and _is_numeric(kind.value_type)


def _is_numeric(kind: Any) -> bool:
    return str(kind).startswith(("float", "double", "int", "uint", "halffloat"))


def from_table(place: ArrayLocation, table: Any) -> NDArray[Any]:
    """Return the values of the columns that were chosen."""
    if any(column.null_count for column in table.columns):
        raise place.refuse("has missing values; drop the rows that hold them.")
    if table.num_columns == 1 and _is_vector(table.schema.field(0).type):
        column = table.column(0).combine_chunks()
        if len(column) == 0:
            raise place.refuse("has no rows.")
        values = column.flatten().to_numpy(zero_copy_only=False)
        if not hasattr(column.type, "list_size") and len({len(row) for row in column}) > 1:
            raise place.refuse("has vectors of different lengths.")
        return np.asarray(values).reshape(len(column), -1)
    for field in table.schema:
        if not _is_numeric(field.type):
            raise place.refuse(
                f"holds {field.type} in column {field.name!r}; name columns of numbers, or one "
                "column of vectors alone."
            )
    columns = [column.to_numpy() for column in table.columns]
    kept = place.features_among(columns, table.column_names)
    return np.column_stack([columns[column] for column in kept])
