"""What is said where something cannot be read, or a library that only some need is missing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
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


def check_installed(module: str, what: str, install: str) -> None:
    """Refuse to go on without a library, which may take long to import and is not needed yet."""
    package = module.partition(".")[0]
    if find_spec(package) is None:
        raise ImportError(f"{what} {package}. Install it with: pip install {install}")


def needed(module: str, what: str, install: str) -> ModuleType:
    """Import a library; where it is missing, say what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{what} {package}. Install it with: pip install {install}") from error
