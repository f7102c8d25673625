"""What precall raises and warns with."""

import numpy as np

__all__ = ["ClusterError", "InputError", "PrecallWarning", "check_integer"]


class InputError(ValueError):
    """The input cannot be evaluated; the message says what was seen and what to do.

    Examples
    --------
    >>> import numpy as np, precall
    >>> try:
    ...     precall.evaluate(np.zeros((5, 3)), np.zeros((5, 2)))
    ... except precall.InputError as error:
    ...     print(error)
    real and generated must have the same number of features; got 3 and 2. ...
    """


class ClusterError(ConnectionError):
    """The cluster cannot do the work, or was lost; the message says what is left of the work.

    Examples
    --------
    >>> import precall
    >>> try:
    ...     raise precall.ClusterError("no worker is connected to tcp://scheduler:8786")
    ... except ConnectionError as error:
    ...     print(error)
    no worker is connected to tcp://scheduler:8786
    """


class PrecallWarning(UserWarning):
    """The input can be evaluated, but the answer needs a caveat.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np, precall
    >>> real, generated = np.random.default_rng(0).normal(size=(2, 60, 2))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = precall.evaluate(real, generated, estimators=(), scores=["recall"])
    >>> issubclass(caught[0].category, precall.PrecallWarning)
    True
    >>> str(caught[0].message) in result.warnings
    True
    """


def check_integer(name: str, value: object, least: int) -> None:
    """Refuse an argument that is not an integer of at least ``least``."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_integer or int(value) < least:  # type: ignore[call-overload]
        raise InputError(f"{name} must be an integer of at least {least}; got {value!r}.")
