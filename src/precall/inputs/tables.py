"""Columns of Parquet and Arrow tables: encoded pictures and sounds, or texts."""

from dataclasses import dataclass
from typing import Any

from precall.data.readers.array_location import ArrayLocation
from precall.inputs.items import Inputs, Kind, Raw, hashed_listing, stamp
from precall.inputs.memory import InMemory
from precall.inputs.texts import list_column

_USUAL: dict[Kind, tuple[str, ...]] = {
    "pictures": ("image", "img", "picture"),
    "sounds": ("audio", "sound"),
    "texts": ("text", "content", "sentence"),
}


@dataclass(frozen=True, slots=True, eq=False)
class EncodedColumn(Inputs):
    """A column of encoded files: bytes, or structures that hold ``bytes``."""

    column: Any  # pyarrow.ChunkedArray
    stored: str

    def __len__(self) -> int:
        return len(self.column)

    def name(self, row: int) -> str:
        """Where it stands."""
        return f"{self.source}, row {row}"

    def raw(self, row: int) -> Raw:
        """The encoded bytes; none where they are missing, which no decoder takes."""
        value = self.column[row].as_py()
        value = value.get("bytes") if isinstance(value, dict) else value
        return value if isinstance(value, bytes) else b""

    def listing(self) -> str | None:
        """The file's size and time of change."""
        return self.stored


def list_table(place: ArrayLocation, kind: Kind) -> EncodedColumn | InMemory:
    """Find the samples in a .parquet, .arrow or .feather file."""
    arrow = place.library("pyarrow")
    with place.refusing("is not a valid table: {!s:.200}.", arrow.ArrowException, OSError):
        table = _read(place, arrow)
    fitting = [field.name for field in table.schema if _fits(field.type, kind, arrow)]
    chosen = _chosen(place, table.schema.names, fitting, kind)
    column = table.column(chosen)
    if kind == "texts":
        return list_column(place, column.to_pylist())
    stored = hashed_listing([place.path.resolve(), chosen, *stamp(place.path)])
    return EncodedColumn(kind, f"{place.path}:{chosen}", (), column, stored)


def kind_of_table(place: ArrayLocation) -> Kind:
    """Tell by the columns what a table holds; numbers alone are rows of features."""
    arrow = place.library("pyarrow")
    with place.refusing("is not a valid table: {!s:.200}.", arrow.ArrowException, OSError):
        schema = _schema(place, arrow)
    fields = [field for field in schema if place.key in (None, field.name)]
    encoded = [field.name for field in fields if _fits(field.type, "pictures", arrow)]
    if encoded:
        is_sound = set(encoded) & {*_USUAL["sounds"]} and not set(encoded) & {*_USUAL["pictures"]}
        return "sounds" if is_sound else "pictures"
    return "texts" if any(_fits(field.type, "texts", arrow) for field in fields) else "rows"


def _schema(place: ArrayLocation, arrow: Any) -> Any:
    if place.path.suffix.lower() == ".parquet":
        return place.library("pyarrow.parquet").read_schema(place.path)
    return _read(place, arrow).schema


def _read(place: ArrayLocation, arrow: Any) -> Any:
    if place.path.suffix.lower() == ".parquet":
        return place.library("pyarrow.parquet").ParquetFile(place.path).read()
    with arrow.memory_map(str(place.path)) as source:
        try:
            return arrow.ipc.open_file(source).read_all()
        except arrow.ArrowInvalid:  # datasets are kept as streams
            source.seek(0)
            return arrow.ipc.open_stream(source).read_all()


def _fits(kind_of_column: Any, kind: Kind, arrow: Any) -> bool:
    types = arrow.types
    if kind == "texts":
        return bool(types.is_string(kind_of_column) or types.is_large_string(kind_of_column))
    if types.is_struct(kind_of_column):
        names = [kind_of_column.field(i).name for i in range(kind_of_column.num_fields)]
        return "bytes" in names
    return bool(types.is_binary(kind_of_column) or types.is_large_binary(kind_of_column))


def _chosen(place: ArrayLocation, names: list[str], fitting: list[str], kind: Kind) -> str:
    """Return the column that was named, a usual one, or the only one that fits."""
    if place.key is not None:
        if place.key not in names:
            raise place.refuse(f"has no column {place.key!r}; it has {', '.join(names)}.")
        if place.key not in fitting:
            raise place.refuse(f"has a column {place.key!r}, but it holds no {kind}.")
        return place.key
    usual = [name for name in _USUAL[kind] if name in fitting]
    if usual or len(fitting) == 1:
        return (usual or fitting)[0]
    if not fitting:
        raise place.refuse(f"has no column of {kind}; it has {', '.join(names)}.")
    raise place.refuse(
        f"has several columns of {kind}: {', '.join(fitting)}. Name one: {place.path}:{fitting[0]}"
    )
