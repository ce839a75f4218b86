"""Abstract mixed groups to the structure of consumer groups, of which formulas speak.

A classic group is seen as the consumer group that an upgrade would make of it.  So what must hold
of each group also holds across conversions.  Steps of a classic group that stays one say nothing
here: the classic protocol has properties of its own.
"""

from __future__ import annotations

from dataclasses import replace as changed
from functools import lru_cache

from fencepost.model.bridge.conversion import upgraded
from fencepost.model.classic.group import Group
from fencepost.model.consumer.group import ConsumerGroup, Phase
from fencepost.model.work import Span
from fencepost.properties.logic.consumer_signature import CONSUMER_SIGNATURE
from fencepost.properties.logic.structures import Abstraction
from fencepost.properties.worlds.consumer_abstraction import (
    NOTHING,
    AbstractConsumerEvent,
    AbstractConsumerGroup,
    abstract_consumer_event,
    abstract_consumer_group,
)
from fencepost.properties.worlds.views import StepView

_CLASSIC_STEP = AbstractConsumerEvent("step of a classic group")
_NOW = Span(0, 0)


@lru_cache(maxsize=4096)
def as_consumer_group(group: Group | ConsumerGroup | None) -> ConsumerGroup | None:
    """Return a group as a consumer group; its sessions begin now, if it is a classic one."""
    return upgraded(group, _NOW) if isinstance(group, Group) else group


def as_consumer_step(view: StepView) -> StepView:
    """Return a step as one of consumer groups."""
    if not isinstance(view.before, Group) and not isinstance(view.after, Group):
        return view
    return changed(view, before=as_consumer_group(view.before), after=as_consumer_group(view.after))


def stays_classic(view: StepView) -> bool:
    """Return True if a group is a classic one before a step, and none of the other kind after."""
    return isinstance(view.before, Group) and not isinstance(view.after, ConsumerGroup)


def begins_classic(view: StepView) -> bool:
    """Return True if a step makes a classic group where there was none."""
    return view.before is None and isinstance(view.after, Group)


def _abstract_group(group: Group | ConsumerGroup | None) -> AbstractConsumerGroup:
    """Return a group as formulas see it.

    A classic member that has partitions to give up counts as hurried: it has a time to join again.
    """
    whole = as_consumer_group(group)
    abstract = abstract_consumer_group(whole)
    if whole is None:
        return abstract
    called = {m.member_id for m in whole.members if m.classic and m.phase is Phase.UNREVOKED}
    return changed(abstract, hurried=abstract.hurried | called) if called else abstract


def _abstract_event(view: StepView) -> AbstractConsumerEvent:
    if stays_classic(view) or begins_classic(view):
        return _CLASSIC_STEP
    return abstract_consumer_event(as_consumer_step(view))


MIXED: Abstraction = Abstraction(CONSUMER_SIGNATURE, NOTHING, _abstract_group, _abstract_event)
"""The abstraction of mixed groups."""
