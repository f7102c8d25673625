"""Settings for all tests."""

import os

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
# No deadline: the first example compiles kernels. The same examples every time where nobody looks.
settings.register_profile("precall", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("precall")
