"""How a call looks in Python, so that it can be repeated."""

import inspect
import re
from collections.abc import Callable, Mapping
from os import PathLike

import numpy as np

_NOT_IN_THE_RESULT = {"progress", "threads"}
_SPELLED_OUT = str | int | float | None


def python_call(function: Callable[..., object], given: Mapping[str, object]) -> str:
    """Write the call of a function, less arguments at their defaults; arrays go by their names.

    Examples
    --------
    >>> def evaluate(real, generated, *, seed=0): ...
    >>> python_call(evaluate, {"real": "real.npy", "generated": object(), "seed": 1})
    "precall.evaluate('real.npy', generated, seed=1)"
    """
    written = []
    for name, parameter in inspect.signature(function).parameters.items():
        value = given[name]
        if parameter.kind is inspect.Parameter.VAR_KEYWORD and isinstance(value, Mapping):
            written += [f"{key}={_spelled(key, option)}" for key, option in value.items()]
        elif parameter.default is inspect.Parameter.empty:
            written.append(_spelled(name, value))
        elif name not in _NOT_IN_THE_RESULT and not _is_default(value, parameter.default):
            written.append(f"{name}={_spelled(name, value)}")
    return f"precall.{function.__name__}({', '.join(written)})"


def one_line(thing: object) -> str:
    """Return the parameters of a thing, without the addresses of objects that have no name."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(thing).split()))


def _is_default(value: object, default: object) -> bool:
    return value is default or (isinstance(value, _SPELLED_OUT | tuple) and value == default)


def _spelled(name: str, value: object) -> str:
    if isinstance(value, PathLike):
        return repr(str(value))
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, Mapping) and all(isinstance(v, str | PathLike) for v in value.values()):
        return repr({key: str(path) for key, path in value.items()})
    if isinstance(value, list | tuple) and name == "estimators":
        return f"[{', '.join(map(_qualified, value))}]"
    if name in ("split", "engine") or (name == "features" and not callable(value)):
        return _qualified(value)
    if isinstance(value, list | tuple) and all(isinstance(item, _SPELLED_OUT) for item in value):
        return repr(list(value)) if len(value) < 100 else name
    return one_line(value) if isinstance(value, _SPELLED_OUT) else name


def _qualified(thing: object) -> str:
    """What a part of the library is called from outside; an engine goes by its name."""
    is_ours = type(thing).__module__.startswith("precall.")
    if is_ours and isinstance(getattr(thing, "name", None), str) and hasattr(thing, "open"):
        return repr(thing.name)  # type: ignore[attr-defined]
    if type(thing).__module__.startswith("distributed."):
        return "client"
    return f"precall.{one_line(thing)}" if is_ours else one_line(thing)
