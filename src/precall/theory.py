"""Closed forms: expected values of scores, and how many samples they want."""

from precall.truth.closed_forms import *  # noqa: F403
from precall.truth.closed_forms import __all__ as __all__
