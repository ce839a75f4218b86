"""Targets of the consumer protocol that are made later: a coordinator may batch assignments."""

from __future__ import annotations

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.consumer.consumer_script import (
    BOTH,
    ConsumerScript,
    owned,
)
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL
from fencepost.model.plans.steps import Ms

BATCHED = Registry(ConsumerScript)
batched = BATCHED.case
_HURRIED = Ms("short rebalance")
_INTERVAL = {ASSIGNMENT_INTERVAL: 1000}


@batched("CG-BEAT-ALIVE-CHANGED", config=_INTERVAL)
def topic_given_up_within_the_interval(s: ConsumerScript) -> None:
    """A member gives a topic up within the interval: it loses it before there is a new target."""
    s.join("A1", topics=BOTH)
    s.beat("A1", subscribed_topic_names=("u",))
    s.describe()
    s.beat("A1")
    s.describe()
    s.pause("short rebalance")
    s.beat("A1")
    s.describe()


@batched("CG-BEAT-ALIVE-CHANGED", config=_INTERVAL)
def topic_taken_back_within_the_interval(s: ConsumerScript) -> None:
    """A member gives a topic up and subscribes to it again, both within the interval."""
    s.join("A1", "B1", topics=BOTH)
    s.beat("A1", subscribed_topic_names=("u",))
    s.beat("A1", subscribed_topic_names=BOTH, owns=owned(0, 1, 2, 3))
    s.describe()
    s.beat("A1")
    s.pause("short rebalance")
    s.beat("A1", "A1", "B1")
    s.describe()


@batched("CG-BEAT-ALIVE-CHANGED", "CG-REBALANCE-EXPIRED", config=_INTERVAL)
def topic_is_not_given_up_in_time(s: ConsumerScript) -> None:
    """A member gives a topic up within the interval, but keeps its partitions: its R runs."""
    s.join("A1", topics=BOTH, rebalance=_HURRIED)
    s.beat("A1", subscribed_topic_names=("u",))
    s.pause("short rebalance")
    s.keep("A1")
    s.describe()


@batched("CG-BEAT-ALIVE", config=_INTERVAL)
def target_that_comes_later_is_not_followed(s: ConsumerScript) -> None:
    """A target that is made after the interval takes partitions: the R runs from then."""
    s.join("A1", rebalance=_HURRIED)
    s.join("B1")
    s.beat("A1", "A1")
    s.pause("short rebalance")
    s.beat("A1", owns=owned(0, 1, 2, 3))
    s.pause("short rebalance")
    s.beat("A1", owns=owned(0, 1, 2, 3))
    s.describe()


@batched("CG-JOIN-RETURN-CHANGED", config=_INTERVAL)
def restart_within_the_interval(s: ConsumerScript) -> None:
    """A process restarts with other topics within the interval: it may get the old target first."""
    s.join("A1")
    s.release("A1")
    s.join("A2", topics=BOTH)
    s.beat("A2")
    s.describe()


@batched("CG-JOIN-STATIC-NEW", "CG-BEAT-ALIVE", config=_INTERVAL)
def newcomers_within_the_interval(s: ConsumerScript) -> None:
    """Members join within the interval: the target may be made for all of them at once."""
    s.join("A1", "B1", "C1")
    s.beat("A1", "B1", "C1")
    s.describe()
    s.beat("A1", "B1", "C1")
    s.describe()


def _target_is_due(s: ConsumerScript) -> None:
    """Let a member leave within the interval, so that a target is due; let the interval end."""
    s.join("k")
    s.leave("k")
    s.pause("short rebalance")


@batched("CG-LEAVE-FOR-GOOD", "CG-JOIN-DYNAMIC-NEW", config=_INTERVAL)
def newcomer_within_the_interval_gets_no_old_target(s: ConsumerScript) -> None:
    """A member leaves for good and joins again within the interval: its old target is gone."""
    s.join("m", "n")
    s.pause("short rebalance")
    s.beat("m", "m", "n")
    s.leave("n")
    s.join("n")
    s.beat("n")
    s.describe()


@batched("CG-JOIN-DYNAMIC-NEW-IDLE", config=_INTERVAL, isolated=True)
def join_without_topics_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a member that subscribes to nothing makes it."""
    s.join("A1")
    _target_is_due(s)
    s.join("m", topics=())
    s.describe()


@batched("CG-JOIN-STATIC-NEW-IDLE", config=_INTERVAL, isolated=True)
def static_join_without_topics_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a static member that subscribes to nothing makes it."""
    s.join("A1")
    _target_is_due(s)
    s.join("B1", topics=())
    s.describe()


@batched("CG-JOIN-RETURN", config=_INTERVAL)
def return_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a return makes it."""
    s.reconciled("A1")
    s.release("A1")
    _target_is_due(s)
    s.join("A2")
    s.describe()


@batched("CG-JOIN-RETURN-SELF", config=_INTERVAL)
def return_under_its_id_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a return under its own id makes it."""
    s.reconciled("A1")
    s.release("A1")
    _target_is_due(s)
    s.join("A1")
    s.describe()


@batched("CG-JOIN-RESUME", config=_INTERVAL)
def resumption_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a released member that resumes makes it."""
    s.reconciled("A1")
    s.release("A1")
    _target_is_due(s)
    s.join("A1", instance=None)
    s.describe()


@batched("CG-JOIN-REJOIN", config=_INTERVAL)
def join_without_instance_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a member that joins again makes and takes it."""
    s.join("m")
    _target_is_due(s)
    s.join("m")
    s.describe()


@batched("CG-JOIN-COPY", config=_INTERVAL)
def copy_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a copy makes it, and its own partitions may be lost."""
    s.reconciled("A1", "B1")
    s.release("B1")
    _target_is_due(s)
    s.join("A1", instance="B")
    s.describe()


@batched("CG-LEAVE-FOR-GOOD", named="CG-JOIN-BECOME-STATIC", config=_INTERVAL)
def new_instance_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a dynamic member that becomes static makes it."""
    s.join("m")
    _target_is_due(s)
    s.join("m", instance="A")
    s.describe()


@batched("CG-LEAVE-FOR-GOOD", named="CG-JOIN-CHANGE-INSTANCE", config=_INTERVAL)
def other_instance_after_the_interval(s: ConsumerScript) -> None:
    """A target is due after the interval: a member that changes its instance makes it."""
    s.join("A1")
    _target_is_due(s)
    s.join("A1", instance="B")
    s.describe()


@batched("CG-LEAVE-FOR-GOOD", "CG-BEAT-ALIVE", config=_INTERVAL)
def leave_within_the_interval(s: ConsumerScript) -> None:
    """A member leaves within the interval: its partitions may have no owner meanwhile."""
    s.join("A1", "B1")
    s.beat("A1", "A1", "B1")
    s.describe()
    s.leave("A1")
    s.beat("B1")
    s.describe()
