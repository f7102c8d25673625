"""The Bayes classifier, for distributions whose densities are known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from precall.curves.error_rates import Evidence
from precall.errors import InputError
from precall.estimators.base import Estimator, Task, in_tiles


class HasLogDensity(Protocol):
    """A distribution with a density, such as those in :mod:`precall.distributions`."""

    def log_density(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log density at each row."""


LogDensity = HasLogDensity | Callable[[NDArray[Any]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Likelihood(Estimator):
    """Compare the true densities: the best classifier (Simon et al. 2019, Theorem 4).

    Parameters
    ----------
    p, q
        The densities of real and of generated: objects with a ``log_density`` method, or functions
        from rows (n, d) to log densities (n,).

    Examples
    --------
    >>> import precall
    >>> from precall.distributions import Gaussian
    >>> p, q = Gaussian([0.0, 0.0]), Gaussian([1.0, 0.0])
    >>> result = precall.evaluate(
    ...     p.sample(2000, seed=0),
    ...     q.sample(2000, seed=1),
    ...     estimators=[precall.Likelihood(p, q)],
    ...     scores=(),
    ... )
    >>> truth = precall.true_curve(p, q)
    >>> abs(result.curves["likelihood"].area - truth.area) < 0.03
    True
    """

    p: LogDensity
    q: LogDensity
    name: ClassVar[str] = "likelihood"

    def __post_init__(self) -> None:
        for name, density in (("p", self.p), ("q", self.q)):
            if not (callable(density) or hasattr(density, "log_density")):
                raise InputError(
                    f"{name} must have a log_density method or be a function; got {density!r}."
                )

    def evidence(self, task: Task) -> Evidence:
        """Weigh the evaluated samples."""
        return _weigh(in_tiles(self._log_ratio, *task.evaluated), task.is_real)

    def weigh(self, real: NDArray[Any], generated: NDArray[Any]) -> Evidence:
        """Weigh samples that are at hand as arrays (n, d) and (m, d)."""
        log_ratio = np.concatenate([self._log_ratio(rows) for rows in (real, generated)])
        return _weigh(log_ratio, np.arange(len(log_ratio)) < len(real))

    def _log_ratio(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        log_p, log_q = _log_density(self.p, rows, "p"), _log_density(self.q, rows, "q")
        with np.errstate(invalid="ignore"):  # -inf - -inf: neither can produce this row
            return log_p - log_q


def _weigh(log_ratio: NDArray[np.float64], is_real: NDArray[np.bool_]) -> Evidence:
    """p/(p + q) against q/(p + q), both from the log ratio: densities themselves underflow."""
    neither = np.isnan(log_ratio)
    a, b = (np.where(neither, 0.0, scipy.special.expit(x)) for x in (log_ratio, -log_ratio))
    return Evidence(a, b, is_real)


def _log_density(density: LogDensity, rows: NDArray[Any], name: str) -> NDArray[np.float64]:
    function = density.log_density if hasattr(density, "log_density") else density
    values = np.asarray(function(rows), dtype=np.float64)
    if values.shape != (len(rows),):
        raise InputError(
            f"{name} must return one log density per row; got shape {values.shape} for {len(rows)} "
            "rows."
        )
    if np.isnan(values).any() or np.isposinf(values).any():
        raise InputError(
            f"{name} must return log densities that are finite or -inf; got NaN or +inf."
        )
    return values
