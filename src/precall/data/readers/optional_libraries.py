"""Libraries that only some need."""

from importlib import import_module
from types import ModuleType


def needed(module: str, what: str, install: str) -> ModuleType:
    """Import a library; where it is missing, say what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{what} {package}. Install it with: pip install {install}") from error
