"""Step a group: from the group and what happens to it, compute every allowed outcome.

The machine looks the rule up in the revision's table and performs its effects; the handlers of the
revision's protocol turn a request into a point of a table.  Pure: the same arguments give the same
outcomes, in the same order.  Time and new member ids are arguments.  Where the protocol leaves a
choice open (which member leads, say), each choice is an outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fencepost.model.coordinator import CONFIG_DEFAULTS, PARTITIONS, Config, Topics
from fencepost.model.protocol import Write
from fencepost.model.revision import Revision
from fencepost.model.table.expr import Column, Point
from fencepost.model.table.shared_features import Availability
from fencepost.model.table.table import OwnStep, Rule, TableError
from fencepost.model.work import (
    CLEANUP,
    Effect,
    Incoming,
    NotFollowedError,
    Outcome,
    Span,
    Timer,
    W,
    Work,
)

if TYPE_CHECKING:
    from fencepost.model.history.events import Disturbance


Assign = Callable[[Any, Callable[[str], int]], Any]
"""(group, name of a topic → its partitions) → the target of the group."""


def missing_topic(name: str) -> bool:
    """Return True if a topic doesn't exist: the default, for names that begin with `missing`."""
    return name.startswith("missing")


def _is_missing(topics: Topics, name: str) -> bool:
    """Return True if a topic isn't among those that there are."""
    topic = topics.get(name)
    return topic is None or not topic.partitions


class Machine:
    """Machine that runs a revision of its protocol with a broker's settings.

    `config`: Kafka's names → values, times in ms; settings left out have Kafka's defaults.
    `missing`: returns True for the name of a topic that doesn't exist.  `in_two_steps`: a write
    precedes the steps of the protocol's `writes`; these and later steps are done when its timer
    expires.  Until then the group may change.  `topics`: those that there are, all others are
    missing; None: `missing` decides.  `assign`: makes the target where the coordinator assigns;
    None: each legal target is an outcome.  `leaves_open`: a choice that no answer shows is left
    open in the group, instead of one outcome for each.  `parts`: machines of the revision's parts.
    """

    def __init__(
        self,
        revision: Revision,
        config: Config | None = None,
        missing: Callable[[str], bool] = missing_topic,
        *,
        in_two_steps: bool = False,
        topics: Topics | None = None,
        assign: Assign | None = None,
        leaves_open: bool = False,
    ) -> None:
        protocol = revision.protocol
        self.revision = revision
        self.protocol = protocol
        self.topics = topics
        self.missing = missing if topics is None else partial(_is_missing, topics)
        self.assign = assign
        self.config: dict[str, int | None] = {
            **CONFIG_DEFAULTS,
            **protocol.settings,
            **(config or {}),
        }
        self.effects: dict[Enum, Effect] = {**protocol.effects(self.config, revision)}
        if leaves_open:
            self.effects |= protocol.open_effects(self.config)
        for do, twist in revision.twists.items():
            self.effects[do] = twist(self.effects[do])
        self.parts = tuple(
            Machine(
                part,
                config,
                missing,
                in_two_steps=in_two_steps,
                topics=topics,
                assign=assign,
                leaves_open=leaves_open,
            )
            for part in revision.parts
        )
        self._tables = revision.tables
        self._columns = {
            table.name: columns
            for table in revision.tables.values()
            if (columns := tuple(f for f in table.features if isinstance(f, Column)))
        }
        self._handlers = protocol.handlers
        self._distort = revision.distort
        self._writes: dict[Enum, Write[Any]] = {**protocol.writes} if in_two_steps else {}

    def partitions_of(self, name: str) -> int | None:
        """Return the number of partitions of a topic that exists, else 0; None: it isn't known.

        Where nobody gave the topics, a protocol whose groups hold no partitions doesn't know it.
        """
        if self.missing(name):
            return 0
        return self.config.get(PARTITIONS) if self.topics is None else self.topics[name].partitions

    def is_missing_partition(self, name: str, number: int) -> bool:
        """Return True if a topic doesn't exist, or doesn't have a partition, as far as is known."""
        count = self.partitions_of(name)
        return self.missing(name) or (count is not None and number >= count)

    # Events of a group.

    def handle(
        self,
        group: Any,
        request: Incoming,
        span: Span,
        here: Availability = Availability.HERE,
        group_id: str = "",
    ) -> tuple[Outcome, ...]:
        """Handle a request.

        `group` None: it doesn't exist.  `group_id`: the group's id, where a request may name
        several.  Raises TypeError for a message of no API, TableError where the table is wrong.
        """
        message = request.message
        handler = self._handlers.get(type(message))
        if handler is None:
            raise TypeError(f"{type(message).__name__} is a message of no API")
        return self._distorted(handler(self, group, request, message, span, here, group_id))

    def expire(self, group: Any, timer: Timer, span: Span) -> tuple[Outcome, ...]:
        """Let a timer of the group reach its deadline."""
        work = self.protocol.work(group.without_timer(timer.kind, timer.subject), span, None)
        return self._finished(self.protocol.timers[timer.kind](self, group, work, timer))

    def failover(self, group: Any, span: Span) -> tuple[Outcome, ...]:
        """Let another coordinator load the stored group."""
        work = self.protocol.work(group, span, None)
        return self._finished(self.protocol.failover(self, group, work))

    def operate(self, group: Any, event: Disturbance, span: Span) -> tuple[Outcome, ...]:
        """Perform an operator's action on a group; it may be cleaned up then, or not.

        Raises NotFollowedError for an action that the protocol doesn't model.
        """
        operation = self.protocol.operations.get(type(event))
        if operation is None:
            raise NotFollowedError(
                f"{self.revision.name} doesn't model {event.name}: leave {event.do} out"
            )
        return self._finished(operation(self, group, self.protocol.work(group, span, None), event))

    def cleaned(self, group: Any) -> tuple[Timer, ...]:
        """Return the timers that a pass of the cleaner may let expire, each from its `earliest` on.

        `cleanup` removes an unused group; `retention` removes offsets of a topic, the subject, or
        keeps them.  There are none where `offsets.retention.check.interval.ms` is None.
        """
        if self.config["offsets.retention.check.interval.ms"] is None:
            return ()
        unused = (Timer(CLEANUP, "", 0, 0),) if self.protocol.is_unused(group) else ()
        return (*unused, *self.protocol.retentions(group))

    def _finished(self, works: Iterable[Work[Any]]) -> tuple[Outcome, ...]:
        return self._distorted(tuple(work.outcome() for work in works))

    def _distorted(self, outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        """Change the answers as a mutant's `distort` does."""
        distort = self._distort
        if distort is None:
            return outcomes
        return tuple(
            replace(
                outcome,
                emissions=tuple(
                    e if e.message is None else replace(e, message=distort(e.message))
                    for e in outcome.emissions
                ),
            )
            for outcome in outcomes
        )

    # For the handlers of a protocol.

    def decide(
        self,
        table: str,
        point: Point,
        group: object = None,
        member_id: str = "",
        group_instance_id: str | None = None,
    ) -> Rule:
        """Return a table's rule for a point.  Raises TableError where there isn't exactly one.

        The point has no `Column` yet; its value follows from the group and the ids.
        """
        for column in self._columns.get(table, ()):
            try:
                point += (column.value(group, member_id, group_instance_id),)
            except ValueError as error:
                raise TableError(f"{table}: column {error}") from error
        return self._tables[table].decide(point)

    def perform(self, work: W, rule: Rule, skip: Enum | None = None) -> list[W]:
        """Perform the steps of a rule without `skip`; return a work for each choice.

        Raises TableError where a step can't be done.
        """
        work.rule = rule.id
        work.rules.append(rule.id)
        works = [work]
        writes = self._writes
        for do in rule.effect:
            if do is skip:
                continue
            if writes and do in writes and writes[do].is_due(work, rule):
                for w in works:
                    writes[do].begin(w)
                break
            effect = do.perform if isinstance(do, OwnStep) else self.effects[do]
            try:
                if len(works) == 1:
                    works = effect(works[0]) or works
                else:
                    works = [fork for w in works for fork in (effect(w) or [w])]
            except AssertionError as error:
                raise TableError(f'{rule.id}: the step "{do.value}" can\'t be done') from error
        return works
