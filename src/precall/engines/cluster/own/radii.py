"""Questions about rows among themselves, as orders of which some need what others have found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from precall.engines.cluster.orders import digest_of_order
from precall.engines.cluster.own.groups import pairs_of_groups
from precall.engines.cluster.own.orders import GroupOrder, OwnKthOrder, PairOrder
from precall.engines.cluster.parts import Part


@dataclass(frozen=True, slots=True, eq=False)
class OwnRadii:
    """The orders of one question."""

    groups: dict[str, GroupOrder]  # by name; what they find stays with the workers
    pairs: dict[str, PairOrder]  # that need what the groups have found; likewise
    merges: list[OwnKthOrder]

    @classmethod
    def of(cls, groups: Sequence[Part], ks: tuple[int, ...]) -> Self:
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
        return cls(own, pairs, merges)
