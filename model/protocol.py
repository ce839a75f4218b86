"""Define a group protocol: all that tables, machine and soundness checks need of it.

The decision table, the machine, the explorer and the oracle's search know no protocol.  To add a
protocol, add a room beside `model/classic` that makes a `Protocol`, and revisions that carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic

from fencepost.model.coordinator import Config
from fencepost.model.messages.shapes import Message
from fencepost.model.table.columns import Columns
from fencepost.model.table.shared_features import Availability
from fencepost.model.table.step_soundness import Steps
from fencepost.model.table.table import Rule
from fencepost.model.work import Effect, G, Incoming, Outcome, Span, Timer, W

if TYPE_CHECKING:
    from fencepost.model.history.events import Disturbance
    from fencepost.model.machine import Machine
    from fencepost.model.revision import Revision


@dataclass(frozen=True, slots=True, eq=False)
class Write(Generic[W]):
    """A write that precedes a step, on a machine that writes in two steps.

    `is_due`: returns True if a work that performs the rule writes before this step; `begin`: begins
    the write instead of this step and those that follow, which are done when its timer expires.
    """

    is_due: Callable[[W, Rule], bool]
    begin: Callable[[W], None]


@dataclass(frozen=True, slots=True, eq=False)
class Protocol(Generic[G, W]):
    """One group protocol.

    `apis`: the names of its requests, in order.  `columns`: the features of guards; `steps`: the
    steps of rules.  `work`: makes the work of a step on a group.  `effects`: makes the functions
    that perform the steps, by a broker's settings and the revision.

    Functions that the revision's tables decide: `handlers`: the type of a request's message → its
    handler for one group; `timers`: the kind of a timer → the function that expires it (the work's
    group is without it already); `failover`: for a group that exists, or None; `operations`: the
    type of an event → an operator's action on a group, or None.

    `is_unused`: returns True if the coordinator may clean a group up.  `retentions`: returns the
    ends of the retentions of what a group stores.  `writes`: step → the write that precedes it.
    `settings`: Kafka's settings that only this protocol knows, and their defaults.  `takes_topics`:
    True if its groups hold partitions, so that a coordinator may be given the topics.
    `open_effects`: makes the effects of a machine that decides no choice before an answer shows it.
    `elsewhere`: what the cases of another protocol judge, as a certificate should say.
    """

    name: str
    apis: tuple[str, ...]
    columns: Columns
    steps: Steps
    work: Callable[[G | None, Span, Incoming | None], W]
    effects: Callable[[Config, Revision], Mapping[Enum, Effect]]
    handlers: Mapping[
        type[Message],
        Callable[[Machine, G | None, Incoming, Any, Span, Availability, str], tuple[Outcome, ...]],
    ]
    timers: Mapping[str, Callable[[Machine, G, W, Timer], Iterable[W]]]
    failover: Callable[[Machine, G | None, W], Iterable[W]]
    operations: Mapping[type[Disturbance], Callable[[Machine, G | None, W, Any], Iterable[W]]]
    is_unused: Callable[[G], bool]
    retentions: Callable[[G], tuple[Timer, ...]] = lambda _: ()
    writes: Mapping[Enum, Write[W]] = field(default_factory=dict)
    settings: Config = field(default_factory=dict)
    takes_topics: bool = False
    open_effects: Callable[[Config], Mapping[Enum, Effect]] = lambda _: {}
    elsewhere: str = ""
