"""What precall raises and warns with."""

__all__ = ["InputError", "PrecallWarning"]


class InputError(ValueError):
    """The input cannot be evaluated; the message says what was seen and what to do."""


class PrecallWarning(UserWarning):
    """The input can be evaluated, but the answer needs a caveat."""
