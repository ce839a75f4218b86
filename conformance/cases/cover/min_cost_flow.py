"""A minimum-cost flow: the cheapest way to move what is too much at some nodes to where it lacks.

Arcs carry any amount and costs are small whole numbers, so there are few different distances.  For
each distance, shortest first, as much as possible is sent along paths of just that length (a
maximum flow among the arcs that lie on them).  Among flows of equal cost the order of the arcs
decides.  The ids of the cover suites' cases come from that choice, so networkx isn't used here: its
`network_simplex` finds the same cost, but another flow, which changes between its versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

_FAR = 1 << 60


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc from node `source` to node `target`, at `cost` ≥ 0 for each unit."""

    source: int
    target: int
    cost: int


def cheapest_flow(arcs: Sequence[Arc], surplus: Sequence[int]) -> tuple[list[int], int]:
    """Return how much each arc carries, and the total cost.

    `surplus`: per node what leaves it (negative: what it must receive); they add up to 0.  Raises
    ValueError if they don't, or if some of it can't get there.
    """
    if sum(surplus):
        raise ValueError(f"the surplus adds up to {sum(surplus)}; what leaves must arrive")
    network = _Network(len(surplus) + 2)
    for arc in arcs:
        network.add(arc.source, arc.target, arc.cost, _FAR)
    source, sink = len(surplus), len(surplus) + 1
    for node, amount in enumerate(surplus):
        if amount > 0:
            network.add(source, node, 0, amount)
        elif amount < 0:
            network.add(node, sink, 0, -amount)
    left = sum(amount for amount in surplus if amount > 0)
    while left:
        sent = network.send_nearest(source, sink)
        if not sent:
            raise ValueError(f"{left} of the surplus can't get to where it is missing")
        left -= sent
    carried = [_FAR - network.room[2 * i] for i in range(len(arcs))]
    return carried, sum(arc.cost * amount for arc, amount in zip(arcs, carried, strict=True))


class _Network:
    """Arcs with the room that is left on them; arc `i ^ 1` is arc `i` backwards.

    `potential`: the distance of each node from the source as it was in the last round, so that no
    arc with room costs less than the difference of its ends.
    """

    def __init__(self, nodes: int) -> None:
        self.leaving: list[list[int]] = [[] for _ in range(nodes)]
        self.target: list[int] = []
        self.cost: list[int] = []
        self.room: list[int] = []
        self.potential = [0] * nodes

    def add(self, source: int, target: int, cost: int, room: int) -> None:
        for ends, price, width in (((source, target), cost, room), ((target, source), -cost, 0)):
            self.leaving[ends[0]].append(len(self.target))
            self.target.append(ends[1])
            self.cost.append(price)
            self.room.append(width)

    def send_nearest(self, source: int, sink: int) -> int:
        """Send all that can go by shortest paths; return the amount, 0 if there is none."""
        distance = self._distances(source)
        if distance[sink] == _FAR:
            return 0
        far = max(d for d in distance if d < _FAR)
        for node, d in enumerate(distance):
            self.potential[node] += min(d, far)
        sent = 0
        while (levels := self._levels(source, sink)) is not None:
            sent += self._blocking(source, sink, levels)
        return sent

    def _distances(self, source: int) -> list[int]:
        distance = [_FAR] * len(self.leaving)
        distance[source] = 0
        heap = [(0, source)]
        target, cost, room, potential = self.target, self.cost, self.room, self.potential
        while heap:
            d, node = heappop(heap)
            if d > distance[node]:
                continue
            base = d + potential[node]
            for arc in self.leaving[node]:
                after = target[arc]
                if room[arc] and (new := base + cost[arc] - potential[after]) < distance[after]:
                    distance[after] = new
                    heappush(heap, (new, after))
        return distance

    def _tight(self, node: int, arc: int) -> bool:
        """Whether an arc has room and lies on shortest ways."""
        gap = self.potential[self.target[arc]] - self.potential[node]
        return self.room[arc] > 0 and self.cost[arc] == gap

    def _levels(self, source: int, sink: int) -> list[int] | None:
        """How many tight arcs away each node is; None if the sink isn't to be reached."""
        levels = [-1] * len(self.leaving)
        levels[source] = 0
        queue = [source]
        for node in queue:
            for arc in self.leaving[node]:
                after = self.target[arc]
                if levels[after] < 0 and self._tight(node, arc):
                    levels[after] = levels[node] + 1
                    queue.append(after)
        return None if levels[sink] < 0 else levels

    def _blocking(self, source: int, sink: int, levels: list[int]) -> int:
        """Fill every way that leads one level further with each arc."""
        at = [0] * len(self.leaving)
        sent, path, node = 0, list[int](), source
        while True:
            if node == sink:
                amount = min(self.room[arc] for arc in path)
                sent += amount
                for arc in path:
                    self.room[arc] -= amount
                    self.room[arc ^ 1] += amount
                full = next(i for i, arc in enumerate(path) if not self.room[arc])
                node = self.target[path[full] ^ 1]
                del path[full:]
            elif at[node] < len(self.leaving[node]):
                arc = self.leaving[node][at[node]]
                after = self.target[arc]
                if levels[after] == levels[node] + 1 and self._tight(node, arc):
                    path.append(arc)
                    node = after
                else:
                    at[node] += 1
            elif path:
                node = self.target[path.pop() ^ 1]
                at[node] += 1
            else:
                return sent
