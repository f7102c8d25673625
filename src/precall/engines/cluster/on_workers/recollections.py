"""What a worker remembers of earlier orders: how good the best was, so that it looks for no worse.

Runs on workers. No answer depends on it: what a row found elsewhere bounds what it will have found
in the end, and whatever is as good is told by the order that its pair belongs to.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class Recollections:
    """Forgets the oldest first."""

    def __init__(self) -> None:
        self.most_bytes = 0
        self._known: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """Return what is remembered, or None."""
        thing, _ = self._known.get(key, (None, 0))
        return thing

    def keep(self, key: Hashable, thing: Any, n_bytes: int) -> None:
        """Remember something, instead of what was known of the same before."""
        self._known.pop(key, None)
        self._known[key] = thing, n_bytes
        while sum(size for _, size in self._known.values()) > self.most_bytes:
            self._known.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()
