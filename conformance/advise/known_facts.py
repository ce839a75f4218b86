"""Describe a group and what happens to it: the facts of an advice, from options, or assumed.

Each fact has an option and the sentence that is printed where it is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fencepost.conformance.simulate.deployment_scenario import (
    RESUME_S,
    Duration,
    Spread,
    longest_s,
    quantiles_s,
)
from fencepost.model.bad_input import BadInputError
from fencepost.traces.operations.client_libraries import BY_NAME, JAVA, ClientLibrary

WEEK_S = 7 * 24 * 3600
BEATS = 3
"""A session must survive two heartbeats that are lost."""
SESSIONS_S = (6.0, 1800.0)
"""The shortest and the longest that brokers allow by default."""
HEARTBEAT_S = 3.0
"""The heartbeat interval of Kafka's clients where nothing is set."""
_LONGEST_MESSAGES_S = 0.03
"""Ten of a process that starts and joins, each of which takes up to 3 ms, as in the simulator."""
TODAY = frozenset({"session_s", "is_static", "strategy"})
"""Facts about today's settings; where none is given, the group is new."""


class AdviceError(BadInputError):
    """No advice can be given.  `str()` names the value and the remedy."""


class NoAdviceError(AdviceError):
    """A log is read, and shows too little for advice.  `str()` tells what it shows instead."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of members: static or dynamic, eager or cooperative."""

    is_static: bool
    strategy: str

    def __str__(self) -> str:
        return f"{'static' if self.is_static else 'dynamic'}+{self.strategy}"


FORMS = tuple(
    Form(is_static, strategy)
    for is_static in (False, True)
    for strategy in ("eager", "cooperative")
)


class KnownGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group and what happens to it.  Durations are seconds, rates are per week.

    `topics`: partitions of each.  `at_a_time`: the processes that a deployment restarts at a time.
    `gap_s`: how long a partition may go without a consumer when a host dies; None: any time.
    `pause_s`: the longest silence of a process that lives.  `processing_s`: work on what one poll
    returned, at most.  `resume_s`: from when a member is given a partition until it reads it.
    `warmup_s`: how long a member works on a partition that is new to it before
    it keeps up: caches, state.  `crashes`: processes that die and are started again; `deaths`:
    hosts that die and don't come back.  `only`: what may be advised, such as "static"; where no
    membership or no strategy is named, any.  `session_s`, `is_static`, `strategy`: set today;
    `offers_both`: eager members also offer the cooperative assignor, as Java's do by default since
    3.0.  `keeps_heartbeat`: no other interval may be advised.  `is_new`: nothing is set yet, and
    Kafka's defaults are compared with.  `library`: the name of the client library, "" for Java's
    names of settings.

    Raises AdviceError for what can't be.
    """

    restart_s: Duration
    members: int = 6
    topics: tuple[int, ...] = (24,)
    at_a_time: int = 1
    gap_s: float | None = None
    pause_s: float = 10.0
    processing_s: float = 0.0
    resume_s: float = RESUME_S
    warmup_s: float = 0.0
    deployments: float = 5.0
    crashes: float = 1.0
    deaths: float = 0.1
    heartbeat_s: float = HEARTBEAT_S
    keeps_heartbeat: bool = False
    session_s: float = 45.0
    is_static: bool = False
    strategy: str = "eager"
    offers_both: bool = False
    is_new: bool = False
    only: tuple[str, ...] = ()
    library: str = ""

    def __post_init__(self) -> None:
        """Check what the arithmetic needs."""
        for name in _DURATIONS_AND_RATES:
            option, value = FACTS[name].option, getattr(self, name)
            if isinstance(value, int | float) and not 0 <= value < math.inf:
                raise AdviceError(f"{option} can't be {value:g}: give 0 or more")
        if self.members < 2:
            raise AdviceError(
                f"in a group of {self.members} nobody could take over: give --members 2 or more"
            )
        if not self.topics or min(self.topics) < 1:
            wrong = min(self.topics, default="none")
            raise AdviceError(f"--partitions can't be {wrong}: give 1 or more")
        if not 1 <= self.at_a_time < self.members:
            raise AdviceError(
                f"--at-a-time {self.at_a_time} of {self.members} members: give 1 or more, and "
                "fewer than all, since nobody could take over"
            )
        if not 0 < self.heartbeat_s < self.session_s:
            raise AdviceError(
                f"--session-timeout-ms {self.session_s * 1000:g} is not longer than a heartbeat "
                f"interval of {self.heartbeat_s * 1000:g} ms (--heartbeat-interval-ms, more than "
                "0): every session would end"
            )
        if self.processing_s >= 300:
            raise AdviceError(
                f"--processing-s {self.processing_s:g} is not less than max.poll.interval.ms, "
                "300 s: no member would stay in the group"
            )
        if longest_s(self.restart_s) <= 0:
            raise AdviceError("--restart-s can't be 0: give how long a restart takes")
        if self.warmup_s > WEEK_S:
            raise AdviceError(f"--warmup-s {self.warmup_s:g} is longer than a week: give less")
        if not self.deployments + self.crashes + self.deaths:
            raise AdviceError(
                "nothing happens to this group: give --deployments-per-week, --crashes-per-week "
                "or --deaths-per-week, more than 0"
            )
        times = quantiles_s(self.restart_s, _PARTS)
        deployment_s = self.waves * sum(times) / len(times)
        if self.deployments * deployment_s > WEEK_S:
            raise AdviceError(
                f"{self.deployments:g} deployments that take {deployment_s:,.0f} s each don't fit "
                "in a week: give a lower --deployments-per-week"
            )

    @property
    def form(self) -> Form:
        """Return the form of the members today."""
        return Form(self.is_static, self.strategy)

    @property
    def client_library(self) -> ClientLibrary:
        """Return the client library whose settings are named."""
        return BY_NAME.get(self.library, JAVA)

    @property
    def partitions(self) -> int:
        """Count the partitions of all topics."""
        return sum(self.topics)

    @property
    def waves(self) -> int:
        """Count the turns in which a deployment restarts all processes; the last may be smaller."""
        return -(-self.members // self.at_a_time)

    @property
    def forms(self) -> tuple[Form, ...]:
        """List the forms that may be advised."""
        return tuple(
            form
            for form in FORMS
            if self._may_be("static" if form.is_static else "dynamic", ("static", "dynamic"))
            and self._may_be(form.strategy, ("eager", "cooperative"))
        )

    def _may_be(self, word: str, others: tuple[str, ...]) -> bool:
        named = set(self.only) & set(others)
        return not named or word in named

    @property
    def shortest_s(self) -> float:
        """Return the shortest allowed session that outlasts lost heartbeats and silences."""
        return max(BEATS * self.heartbeat_s, self.pause_s + self.heartbeat_s, SESSIONS_S[0])

    @property
    def longest_s(self) -> float:
        """Return the longest session with which a death is noticed within the tolerated gap."""
        if self.gap_s is None:
            return SESSIONS_S[1]
        left_s = self.gap_s - self.heartbeat_s - self.processing_s - self.reading_s
        return min(left_s, SESSIONS_S[1])

    @property
    def reading_s(self) -> float:
        """Return the longest time of messages, and of a member until it reads its partitions."""
        return _LONGEST_MESSAGES_S + self.resume_s

    @property
    def partition_share(self) -> float:
        """Return the mean number of partitions of a member."""
        return self.partitions / self.members


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a group.

    `option`: of `fencepost advise`; `assumption`: the sentence where it is assumed, "" for none.
    """

    option: str
    assumption: str = ""


FACTS = {
    "restart_s": Fact("--restart-s"),
    "members": Fact("--members", "{} members"),
    "topics": Fact("--partitions", "{} partitions, of one topic"),
    "at_a_time": Fact("--at-a-time", "a deployment restarts {} process at a time"),
    "gap_s": Fact("--tolerated-gap-s"),
    "pause_s": Fact("--longest-pause-s", "a live process is never silent for longer than {:g} s"),
    "processing_s": Fact("--processing-s", "work on the records of one poll takes up to {:g} s"),
    "resume_s": Fact(
        "--resume-s",
        "a member reads a partition {:g} s after it was assigned, as in real deployments",
    ),
    "warmup_s": Fact(
        "--warmup-s", "a member needs {:g} s to warm up for a partition that is new to it"
    ),
    "deployments": Fact("--deployments-per-week", "a deployment {:g} times in a week"),
    "crashes": Fact(
        "--crashes-per-week", "a process that dies and is started again, {:g} times in a week"
    ),
    "deaths": Fact(
        "--deaths-per-week", "a host that dies and doesn't come back, {:g} times in a week"
    ),
    "heartbeat_s": Fact(
        "--heartbeat-interval-ms", "for comparison, a heartbeat interval of {:g} s"
    ),
    "session_s": Fact("--session-timeout-ms", "for comparison, a session timeout of {:g} s"),
    "is_static": Fact("--static, --dynamic", "for comparison, {} members"),
    "strategy": Fact(
        "--strategy",
        "for comparison, members that offer both assignors and rebalance eagerly, as Java's do by "
        "default since 3.0",
    ),
    "only": Fact("--only"),
}
"""All facts, in the order in which assumptions are printed."""
_DURATIONS_AND_RATES = (
    "gap_s",
    "pause_s",
    "processing_s",
    "resume_s",
    "warmup_s",
    "deployments",
    "crashes",
    "deaths",
)
BOTH = "both"
"""Value of today's strategy where eager members offer the cooperative assignor, too."""
_PARTS = 100
"""Number of parts into which restart times are divided, to know their mean."""


def known_group(facts: dict[str, Any]) -> KnownGroup:
    """Make a group of plain values; those that are None are assumed.  Raises AdviceError.

    A session no longer than Kafka's heartbeat interval comes with a shorter heartbeat interval.
    """
    values = {name: value for name, value in facts.items() if value is not None}
    values["is_new"] = not TODAY & values.keys()
    values["keeps_heartbeat"] = "heartbeat_s" in values
    library = BY_NAME.get(values.get("library", ""), JAVA)
    values.setdefault("strategy", library.strategy)
    values["offers_both"] = values["strategy"] == BOTH
    values.setdefault("session_s", library.session_ms / 1000)
    if values["offers_both"]:
        values["strategy"] = "eager"
    if 0 < values.get("session_s", math.inf) <= HEARTBEAT_S:
        values.setdefault("heartbeat_s", values["session_s"] / BEATS)
    if "restart_s" not in values:
        raise AdviceError(
            "how long does a restart take? Give --restart-s, or a log in which members restart"
        )
    if "topics" not in values:
        values["topics"] = (4 * values.get("members", 6),)
    try:
        restart_s = msgspec.convert(values["restart_s"], Duration)
    except msgspec.ValidationError as error:
        raise AdviceError(f"--restart-s: {str(error).partition(' - at')[0]}") from None
    return KnownGroup(**{**values, "restart_s": restart_s})


_ALWAYS = (
    "the next processes of a deployment are restarted when the group is balanced",
    "what fencepost simulate assumes: messages of 2 ms, a broker that never fails",
)


def assumptions(known: KnownGroup, inputs: Sequence[str]) -> list[str]:
    """Write the assumptions; `inputs`: the facts of options, or of a log."""
    sentences = []
    if not isinstance(known.restart_s, Spread):
        sentences.append(f"every restart takes {known.restart_s:g} s (--restart-p95-s)")
    for name, fact in FACTS.items():
        if name in inputs or not fact.assumption:
            continue
        value = getattr(known, name)
        if name == "strategy" and known.library:
            own = known.client_library.name
            sentences.append(f"for comparison, {value} members, where {own} is not set otherwise")
            continue
        if name == "is_static":
            value = "static" if value else "dynamic"
        elif name == "topics":
            value = known.partitions
        sentences.append(f"{fact.assumption.format(value)} ({fact.option})")
    return [*sentences, *_ALWAYS]
