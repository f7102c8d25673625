from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """Experiments are whole studies: make quick leaves them out."""
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.slow)
