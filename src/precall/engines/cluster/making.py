"""Orders of which some need what others find, or rows that a worker may have lost."""

from collections.abc import Callable
from typing import Any

from distributed import Future

Submit = Callable[[Any, dict[str, Future], bool], Future]
# an order, what others made for it, and whether it needs all rows sent along


class Making:
    """Has orders carried out, again where their answers or what they need was lost.

    Parameters
    ----------
    orders
        Those that others need, by the name of what they find.
    submit
        Has one carried out.
    """

    def __init__(self, orders: dict[str, Any], submit: Submit) -> None:
        self._orders, self._submit = orders, submit
        self._made: dict[str, Future] = {}
        self._lacking: set[int] = set()  # orders that met a worker without their rows

    def get(self, name: str) -> Future:
        """Return what an order finds."""
        made = self._made.get(name)
        if made is None or made.status in ("cancelled", "lost"):
            made = self._made[name] = self.start(self._orders[name])
        return made

    def start(self, order: Any) -> Future:
        """Have an order carried out when all is there that it needs."""
        made = {name: self.get(name) for name in order.needs() if name in self._orders}
        return self._submit(order, made, id(order) in self._lacking)

    def lacks(self, order: Any) -> None:
        """Send the rows along the next time."""
        self._lacking.add(id(order))
        for name in [name for name, of in self._orders.items() if of is order]:
            self._made.pop(name, None)
