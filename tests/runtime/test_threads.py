import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from precall.runtime.threads import in_threads, single_threaded_libraries


def test_results_are_in_order():
    def slow_first(item):
        time.sleep(0.02 if item == 0 else 0)
        return item

    assert in_threads(slow_first, range(10), 4) == list(range(10))


def test_an_error_stops_the_rest():
    begun, before = [], set(threading.enumerate())  # other tests may have left some

    def task(item):
        begun.append(item)
        if item == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        in_threads(task, range(1000), 2)
    assert len(begun) < 1000
    assert set(threading.enumerate()) <= before


def n_library_threads():
    np.eye(2) @ np.eye(2)
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_libraries_keep_to_one_thread_until_the_last_has_left():
    before = n_library_threads()
    first, second = single_threaded_libraries(), single_threaded_libraries()
    with first:
        second.__enter__()
        assert n_library_threads() == {1}
    assert n_library_threads() == {1}
    second.__exit__(None, None, None)
    assert n_library_threads() == before


def test_libraries_that_are_loaded_later_are_limited_too(monkeypatch):
    asked = []
    with single_threaded_libraries():
        monkeypatch.setattr(
            "threadpoolctl.threadpool_limits",
            lambda limits: asked.append(limits) or SimpleNamespace(restore_original_limits=bool),
        )
        with single_threaded_libraries():
            assert asked == []
        monkeypatch.setitem(sys.modules, "just_loaded", SimpleNamespace())
        with single_threaded_libraries():
            assert asked == [1]
