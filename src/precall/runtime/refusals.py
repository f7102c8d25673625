"""What is said where something cannot be read, or a library that only some need is missing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from precall.errors import InputError


@contextmanager
def refusing(message: Callable[[Exception], str], *errors: type[Exception]) -> Iterator[None]:
    """Turn any of these errors into a refusal; one that was refused already keeps its message."""
    try:
        yield
    except InputError:
        raise
    except errors as error:
        raise InputError(message(error)) from error


def needed(module: str, what: str, install: str) -> ModuleType:
    """Import a library; where it is missing, say what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{what} {package}. Install it with: pip install {install}") from error
