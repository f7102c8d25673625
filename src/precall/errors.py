"""What precall raises and warns with."""

import numpy as np

__all__ = ["InputError", "PrecallWarning", "check_integer"]


class InputError(ValueError):
    """The input cannot be evaluated; the message says what was seen and what to do."""


class PrecallWarning(UserWarning):
    """The input can be evaluated, but the answer needs a caveat."""


def check_integer(name: str, value: object, least: int) -> None:
    """Refuse an argument that is not an integer of at least ``least``."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_integer or int(value) < least:  # type: ignore[call-overload]
        raise InputError(f"{name} must be an integer of at least {least}; got {value!r}.")
