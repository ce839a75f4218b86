"""What is known of a group: what an operator says, what a log shows, and what is assumed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import msgspec

from fencepost.conformance.simulate.deployment_scenario import RESUME_S
from fencepost.conformance.simulate.durations import Duration, longest_s, quantiles_s
from fencepost.model.bad_input import BadInputError

WEEK_S = 7 * 24 * 3600
BEATS = 3
"""A session must survive two heartbeats that are lost."""
SESSIONS_S = (6.0, 1800.0)
"""The shortest and the longest that brokers allow by default."""
HEARTBEAT_S = 3.0
"""What Kafka's clients have where nothing is set."""
_LONGEST_MESSAGES_S = 0.03
"""Ten of a process that starts and joins, each of which takes up to 3 ms, as in the simulator."""
TODAY = frozenset({"session_s", "is_static", "strategy"})
"""Facts that say what is set today; where none is given, the group is new."""


class AdviceError(BadInputError):
    """No advice can be given.  `str()` names the value and the remedy."""


@dataclass(frozen=True, slots=True)
class Form:
    """What members are: static or dynamic, eager or cooperative."""

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

    `topics`: how many partitions each has.  `at_a_time`: a deployment restarts so many processes.
    `gap_s`: how long a partition may go without a consumer when a host dies; None: any time.
    `pause_s`: the longest silence of a process that lives.  `processing_s`: work on what one poll
    returned, at most.  `resume_s`: from when a member is given a partition until it reads it.
    `warmup_s`: how long a member works on a partition that is new to it before
    it keeps up: caches, state.  `crashes`: processes that die and are started again; `deaths`:
    hosts that die and don't come back.  `only`: what may be advised, such as "static"; where no
    membership or no strategy is named, any.  `session_s`, `is_static`, `strategy`: set today;
    `offers_both`: eager members also offer the cooperative assignor, as Java's do by default since
    3.0.  `keeps_heartbeat`: no other interval may be advised.  `is_new`: nothing is set yet, and
    Kafka's defaults are compared with.

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

    def __post_init__(self) -> None:
        """Check what the arithmetic needs."""
        for name in _DURATIONS_AND_RATES:
            said, value = SAID[name], getattr(self, name)
            if isinstance(value, int | float) and not 0 <= value < math.inf:
                raise AdviceError(f"{said} can't be {value:g}: give 0 or more")
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
        rollout_s = self.waves * sum(times) / len(times)
        if self.deployments * rollout_s > WEEK_S:
            raise AdviceError(
                f"{self.deployments:g} rollouts that take {rollout_s:,.0f} s each don't fit in a "
                "week: give a lower --deployments-per-week"
            )

    @property
    def form(self) -> Form:
        """What members are today."""
        return Form(self.is_static, self.strategy)

    @property
    def partitions(self) -> int:
        """Those of all topics."""
        return sum(self.topics)

    @property
    def waves(self) -> int:
        """In how many turns a deployment restarts all processes; the last may be smaller."""
        return -(-self.members // self.at_a_time)

    @property
    def forms(self) -> tuple[Form, ...]:
        """What may be advised."""
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
        """The shortest session that survives lost heartbeats and silences, and brokers allow."""
        return max(BEATS * self.heartbeat_s, self.pause_s + self.heartbeat_s, SESSIONS_S[0])

    @property
    def longest_s(self) -> float:
        """The longest session with which a death is noticed within the tolerated gap."""
        if self.gap_s is None:
            return SESSIONS_S[1]
        left_s = self.gap_s - self.heartbeat_s - self.processing_s - self.reading_s
        return min(left_s, SESSIONS_S[1])

    @property
    def reading_s(self) -> float:
        """How long at most messages take, and a member until it reads what it is given."""
        return _LONGEST_MESSAGES_S + self.resume_s

    @property
    def partition_share(self) -> float:
        """How many partitions a member has."""
        return self.partitions / self.members


SAID = {
    "restart_s": "--restart-s",
    "members": "--members",
    "topics": "--partitions",
    "at_a_time": "--at-a-time",
    "gap_s": "--tolerated-gap-s",
    "pause_s": "--longest-pause-s",
    "processing_s": "--processing-s",
    "resume_s": "--resume-s",
    "warmup_s": "--warmup-s",
    "deployments": "--deployments-per-week",
    "crashes": "--crashes-per-week",
    "deaths": "--deaths-per-week",
}
"""What each fact is called on the command line."""
_DURATIONS_AND_RATES = SAID.keys() - {"restart_s", "members", "topics", "at_a_time"}
BOTH = "both"
"""Said of today's strategy where eager members offer the cooperative assignor, too."""
_PARTS = 100
"""Into which restart times are divided, to know their mean."""


def known_group(facts: dict[str, Any]) -> KnownGroup:
    """A group of plain values; those that are None are assumed.  Raises AdviceError.

    Where a session is said that is no longer than Kafka's heartbeat interval, so is another one.
    """
    given = {name: value for name, value in facts.items() if value is not None}
    given["is_new"] = not TODAY & given.keys()
    given["keeps_heartbeat"] = "heartbeat_s" in given
    given["offers_both"] = given.get("strategy", BOTH) == BOTH
    if given["offers_both"]:
        given["strategy"] = "eager"
    if 0 < given.get("session_s", math.inf) <= HEARTBEAT_S:
        given.setdefault("heartbeat_s", given["session_s"] / BEATS)
    if "restart_s" not in given:
        raise AdviceError(
            "how long does a restart take? Give --restart-s, or a log in which members restart"
        )
    if "topics" not in given:
        given["topics"] = (4 * given.get("members", 6),)
    try:
        restart_s = msgspec.convert(given["restart_s"], Duration)
    except msgspec.ValidationError as error:
        raise AdviceError(f"--restart-s: {str(error).partition(' - at')[0]}") from None
    return KnownGroup(**{**given, "restart_s": restart_s})
