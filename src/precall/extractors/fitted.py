"""Features that are fitted on real samples: standardised columns, principal components."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from precall.data.feature_sets import FeatureSet
from precall.errors import InputError
from precall.extractors.pictures.pixels import pixels
from precall.extractors.protocol import Extractor, Network, Prepare
from precall.inputs.items import Kind

Rows = NDArray[np.float64]
Transform = Callable[[Rows], Rows]


@dataclass(frozen=True, slots=True)
class Fitted(Prepare):
    """What is done to an input, with what is fitted afterwards in words."""

    before: Prepare
    after: str

    def __call__(self, item: Any) -> Any:
        """Do what is done before."""
        return self.before(item)

    def __str__(self) -> str:
        before = "" if type(self.before) is Prepare else f"{self.before}; "
        return f"{before}{self.after}"


def _standardiser(rows: Rows, _name: str) -> Transform:
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    return lambda others: (others - mean) / scale


def _projector(rows: Rows, name: str, n_components: int, *, standardise: bool) -> Transform:
    """Return the projection onto the directions along which the rows vary most."""
    from scipy.linalg import eigh

    if n_components > min(rows.shape[1], len(rows) - 1):
        raise InputError(
            f"{name} needs at least {n_components} features and {n_components + 1} samples; there "
            f"are {rows.shape[1]} and {len(rows)}."
        )
    first = _standardiser(rows, name) if standardise else (lambda others: others)
    scaled = first(rows)
    mean, d = scaled.mean(axis=0), rows.shape[1]
    covariance = (scaled - mean).T @ (scaled - mean)
    _, axes = eigh(covariance, subset_by_index=[d - n_components, d - 1])
    return lambda others: np.asarray((first(others) - mean) @ axes[:, ::-1])


def _fit(
    sets: Mapping[str, FeatureSet], *, fit: Callable[..., Transform], name: str
) -> dict[str, FeatureSet]:
    """Fit on the first set, apply to all."""
    transform = fit(np.asarray(next(iter(sets.values())), np.float64), name)
    return {role: _applied(transform, features) for role, features in sets.items()}


def _applied(transform: Transform, features: FeatureSet) -> FeatureSet:
    rows = np.asarray(transform(np.asarray(features, np.float64)), np.float32)
    return replace(
        FeatureSet.of(rows, features.role),
        source=features.source,
        notes=features.notes,
        extraction=features.extraction,
        inputs=features.inputs,
    )


def _load_nothing(_path: Path | None, _device: str) -> Network:
    raise InputError("tables have no network.")


def columns() -> Extractor:
    """Numeric columns of tables, each with mean 0 and deviation 1 of real."""
    return Extractor(
        name="columns",
        kind="rows",
        dimension=None,
        version="1",
        prepare=Fitted(Prepare(), "columns less the mean of real, over its deviation"),
        load=_load_nothing,
        summary="numeric columns of tables, standardised by those of real",
        fit=partial(_fit, fit=_standardiser, name="columns"),
    )


def principal_components(name: str, n_components: int, kind: Kind) -> Extractor:
    """Leading components of pixels, or of standardised columns."""
    base = columns() if kind == "rows" else pixels()
    what = "standardised columns" if kind == "rows" else "pixels"
    before = base.prepare.before if isinstance(base.prepare, Fitted) else base.prepare
    fit = partial(_projector, n_components=n_components, standardise=kind == "rows")
    return replace(
        base,
        name=name,
        dimension=None,
        prepare=Fitted(before, f"{n_components} principal components of the {what} of real"),
        fit=partial(_fit, fit=fit, name=name),
        summary="principal components of pixels or columns, fitted on real",
    )
