import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Every test has a cache of its own."""
    monkeypatch.setenv("PRECALL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
