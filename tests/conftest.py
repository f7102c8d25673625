"""Settings for all tests."""

import os

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
# No deadline: the first example compiles kernels. The same examples every time where nobody looks.
settings.register_profile("precall", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("quick", settings.get_profile("precall"), max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "precall"))
