"""Distributions with known densities, and their true curves."""

from precall.truth import *  # noqa: F403
from precall.truth import __all__ as __all__
