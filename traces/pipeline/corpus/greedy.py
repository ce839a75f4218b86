"""Few traces that cover as much as all: the greedy cover.

Decides which are kept: again and again the trace that adds most, of several the one with the lowest
number; so the same traces give the same cover, in whatever order they come.  Then every one that
the later ones made superfluous goes.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping


def greedy(shown: Mapping[int, frozenset[str]]) -> list[int]:
    """Of traces, by number, with what each shows: those to keep, in the order in which they came.

    What a trace adds only falls, so one whose old figure is still the best when counted anew is it.
    """
    missing: set[str] = set().union(*shown.values())
    queue = [(-len(items), trace) for trace, items in shown.items()]
    heapq.heapify(queue)
    kept: list[int] = []
    while missing:
        _, trace = heapq.heappop(queue)
        adds = len(shown[trace] & missing)
        if queue and (-adds, trace) > queue[0]:
            heapq.heappush(queue, (-adds, trace))
            continue
        kept.append(trace)
        missing -= shown[trace]
    return _without_superfluous(kept, shown)


def _without_superfluous(kept: list[int], shown: Mapping[int, frozenset[str]]) -> list[int]:
    times = Counter(item for trace in kept for item in shown[trace])
    needed = []
    for trace in kept:
        if all(times[item] > 1 for item in shown[trace]):
            times.subtract(shown[trace])
        else:
            needed.append(trace)
    return needed
