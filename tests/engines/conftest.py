import pytest

from engine_cases import ENGINES


@pytest.fixture(params=ENGINES)
def engine(request):
    """A new engine joins the whole contract by one line in ENGINES."""
    return ENGINES[request.param]()
