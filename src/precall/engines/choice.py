"""How an engine is chosen."""

from importlib import import_module

from precall.engines.protocol import Engine
from precall.errors import InputError

_ENGINES = {"cpu": ("cpu.engine", "CpuEngine"), "reference": ("reference", "ReferenceEngine")}
_BEST = "cpu"


def choose_engine(engine: str | Engine) -> Engine:
    """Return the engine of a name; only ``"auto"`` chooses for the caller."""
    if not isinstance(engine, str) and hasattr(engine, "open"):
        return engine
    name = _BEST if engine == "auto" else engine
    if not isinstance(name, str) or name not in _ENGINES:
        known = ", ".join(repr(known) for known in ("auto", *_ENGINES))
        raise InputError(f"engine={engine!r} is unknown; choose from {known}.")
    module, kind = _ENGINES[name]
    chosen: Engine = getattr(import_module(f"precall.engines.{module}"), kind)()
    return chosen
