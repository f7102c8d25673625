"""How far the k-th nearest are, as orders of which some need what others have found."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from precall.engines.cluster.orders import KthOrder, digest_of_order
from precall.engines.cluster.own.groups import pairs_of_groups
from precall.engines.cluster.own.orders import GroupOrder, OwnKthOrder, PairOrder
from precall.engines.cluster.parts import Part


@dataclass(frozen=True, slots=True, eq=False)
class RadiiOrders:
    """The orders of one question."""

    answers: Sequence[KthOrder | OwnKthOrder]  # of which the answer consists, one after the other
    groups: dict[str, GroupOrder] = field(default_factory=dict)  # by name; answers stay there
    pairs: dict[str, PairOrder] = field(default_factory=dict)  # that need what groups have found
    worker: int | None = None  # that had better carry them out

    @classmethod
    def in_groups(cls, groups: Sequence[Part], ks: tuple[int, ...]) -> Self:
        """Let every group be compared within itself, then every two groups."""
        depth = max(ks)
        own = {digest_of_order(order): order for order in (GroupOrder(g, depth) for g in groups)}
        names, pairs = list(own), {}
        lists = [[(name, 0)] for name in names]
        for i, j in pairs_of_groups(len(groups)):
            order = PairOrder((groups[i], groups[j]), depth, (names[i], names[j]))
            name = digest_of_order(order)
            pairs[name] = order
            lists[i].append((name, 0))
            lists[j].append((name, 1))
        merges = [OwnKthOrder(g, tuple(of), ks) for g, of in zip(groups, lists, strict=True)]
        return cls(merges, own, pairs)
