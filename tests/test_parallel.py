import threading
import time

import pytest

from precall.parallel import in_threads


def test_results_are_in_order():
    def slow_first(item):
        time.sleep(0.02 if item == 0 else 0)
        return item

    assert in_threads(slow_first, range(10), 4) == list(range(10))


def test_an_error_stops_the_rest():
    begun = []

    def task(item):
        begun.append(item)
        if item == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        in_threads(task, range(1000), 2)
    assert len(begun) < 1000
    assert threading.active_count() < 10
