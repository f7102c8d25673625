"""Mappings that cannot be changed, for results that are frozen."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ReadOnly(dict[K, V]):
    """A dict that refuses to be changed; ``dict(...)``, ``copy()`` and ``|`` give one that can be.

    Unlike ``types.MappingProxyType`` it can be pickled, copied deeply and written as JSON.

    Examples
    --------
    >>> scores = ReadOnly({"recall": 0.5})
    >>> scores["recall"] = 1.0
    Traceback (most recent call last):
    TypeError: this mapping belongs to a result, which is read-only; change a copy, dict(...).
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "this mapping belongs to a result, which is read-only; change a copy, dict(...)."
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type, tuple[dict[K, V]]]:
        return type(self), (dict(self),)


def make_read_only(thing: Any) -> None:
    """Make every mapping of a frozen dataclass read-only; for its ``__post_init__``."""
    for field in fields(thing):
        value = getattr(thing, field.name)
        if isinstance(value, Mapping) and not isinstance(value, ReadOnly):
            object.__setattr__(thing, field.name, ReadOnly(value))
