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
        self._names = {id(order): name for name, order in orders.items()}
        self._made: dict[str, Future] = {}
        self._lacking: set[int] = set()  # orders that met a worker without their rows

    def future(self, order: Any) -> Future:
        """Return what an order finds, for which it is carried out once if others need it, too."""
        name = self._names.get(id(order))
        if name is None:
            return self._start(order)
        made = self._made.get(name)
        if made is None or made.status in ("cancelled", "lost"):
            made = self._made[name] = self._start(order)
        return made

    def _start(self, order: Any) -> Future:
        """Have an order carried out when all is there that it needs."""
        needed = [name for name in order.needs() if name in self._orders]
        made = {name: self.future(self._orders[name]) for name in needed}
        return self._submit(order, made, id(order) in self._lacking)

    def lacks(self, order: Any) -> None:
        """Send the rows along the next time."""
        self._lacking.add(id(order))
        self._made.pop(self._names.get(id(order), ""), None)
