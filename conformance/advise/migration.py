"""How to get from what is set to what is advised: bounces, what each costs, and how to go back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from fencepost.conformance.advise.advice import Advice
from fencepost.conformance.advise.arithmetic import EventCost, crash, deployment, stopped_s
from fencepost.conformance.advise.known_facts import BOTH, Form, KnownGroup
from fencepost.conformance.advise.setting_cost import SettingCost, simulate_line
from fencepost.model.history.words import plural

ASSIGNORS = {"eager": "RangeAssignor", "cooperative": "CooperativeStickyAssignor"}
PACKAGE = "org.apache.kafka.clients.consumer."
_SEEDS = 20


@dataclass(frozen=True, slots=True)
class Stand:
    """What all members are set to.  `offers`: "eager", "cooperative", or "both", which is eager."""

    is_static: bool
    offers: str
    session_s: float
    heartbeat_s: float

    @property
    def strategy(self) -> str:
        """How a group rebalances that is set so."""
        return "eager" if self.offers == BOTH else self.offers


@dataclass(frozen=True, slots=True)
class Bounce:
    """All processes are restarted with other settings; `cost` is nearly what it costs."""

    old: Stand
    new: Stand
    cost: EventCost
    line: str


def stand_of(known: KnownGroup, setting: SettingCost) -> Stand:
    """A setting as members have it; eager ones offer both assignors where they do so today."""
    strategy = setting.form.strategy
    offers = BOTH if strategy == "eager" and known.offers_both else strategy
    return Stand(setting.is_static, offers, setting.session_s, setting.heartbeat_s)


def assignors_of(offers: str) -> str:
    """The value of partition.assignment.strategy."""
    names = ("eager", "cooperative") if offers == BOTH else (offers,)
    return ",".join(f"{PACKAGE}{ASSIGNORS[name]}" for name in names)


def bounces(known: KnownGroup, old: Stand, new: Stand, short_s: float) -> list[Bounce]:
    """The bounces from one to the other; `short_s`: the shortest session that is safe.

    From one assignor to another it takes two.  Where static members become dynamic, each restart
    waits for a session: that is made short before, if it pays.
    """
    stands = [old]
    if {old.offers, new.offers} == set(ASSIGNORS):
        stands.append(_with(new, offers=BOTH))
    if new != stands[-1]:
        stands.append(new)
    way = [_bounce(known, *each) for each in pairwise(stands)]
    if old.is_static and not new.is_static and short_s < old.session_s:
        shorter = [old, _with(old, session_s=short_s), *stands[1:]]
        other = [_bounce(known, *each) for each in pairwise(shorter)]
        if lost_s(known, other) < lost_s(known, way):
            return other
    return way


def lost_s(known: KnownGroup, way: Sequence[Bounce]) -> float:
    """What all of them cost, in partition-seconds."""
    return sum(bounce.cost.lost_s(known.warmup_s) for bounce in way)


def _with(stand: Stand, offers: str | None = None, session_s: float | None = None) -> Stand:
    return Stand(
        stand.is_static,
        offers or stand.offers,
        session_s or stand.session_s,
        stand.heartbeat_s,
    )


def _bounce(known: KnownGroup, old: Stand, new: Stand) -> Bounce:
    known = msgspec.structs.replace(known, heartbeat_s=old.heartbeat_s)
    line = simulate_line(
        known,
        Form(old.is_static, old.strategy),
        old.session_s,
        "rolling-bounce",
        _SEEDS,
        _changes(old, new),
        offers_both=old.offers == BOTH,
    )
    return Bounce(old, new, _cost(known, old, new), line)


def _changes(old: Stand, new: Stand) -> list[str]:
    """What differs, as `fencepost simulate --set` takes it."""
    said = []
    if new.is_static != old.is_static:
        said.append(f"membership={'static' if new.is_static else 'dynamic'}")
    if new.offers != old.offers:
        said.append(f"strategy={new.offers}")
    if new.session_s != old.session_s:
        said.append(f"session_timeout_ms={1000 * new.session_s:.0f}")
    if new.heartbeat_s != old.heartbeat_s:
        said.append(f"heartbeat_interval_ms={1000 * new.heartbeat_s:.0f}")
    return said


def _cost(known: KnownGroup, old: Stand, new: Stand) -> EventCost:
    """An old process goes as it is, a new one comes; half way the group is half of each kind."""
    of, times, is_static = deployment, 1, old.is_static
    if old.is_static and not new.is_static:  # the group knows nothing of the new ones: as crashes
        of, times, is_static = crash, known.waves, False
        known = msgspec.structs.replace(known, members=known.waves, at_a_time=1)
    both = [
        of(known, Form(is_static, strategy), old.session_s).times(times)
        for strategy in (old.strategy, new.strategy)
    ]
    cost = (both[0] + both[1]).times(0.5)
    if is_static and old.strategy != new.strategy:  # the first that offers one assignor alone
        cost += EventCost(1, 0, known.partitions * stopped_s(known))
    return cost


def way_there(advice: Advice) -> list[Bounce]:
    """From what is compared with to what is advised; none where nothing changes."""
    return _way(advice, advice.today, advice.advised)


def way_back(advice: Advice) -> list[Bounce]:
    """From what is advised to what is compared with."""
    return _way(advice, advice.advised, advice.today)


def _way(advice: Advice, old: SettingCost, new: SettingCost) -> list[Bounce]:
    known = advice.asked
    shortest_s = min(
        (point.session_s for point in advice.curve if not point.why_not),
        default=advice.advised.session_s,
    )
    return bounces(known, stand_of(known, old), stand_of(known, new), shortest_s)


def migration(advice: Advice) -> list[str]:
    """The steps in order, their cost, and how to go back; none where nothing changes."""
    there, back, known = way_there(advice), way_back(advice), advice.asked
    words = []
    for number, bounce in enumerate(there, 1):
        which = f"Bounce {number} of {len(there)}" if len(there) > 1 else "One bounce"
        words.append(
            f"{which}: {bounce_words(bounce)}. It costs about "
            f"{bounce.cost.lost_s(known.warmup_s):,.0f} partition-seconds and "
            f"{bounce.cost.rebalances:.0f} rebalances."
        )
        if bounce.line:
            words.append(f"To see it: {bounce.line}")
    if there:
        words += _warnings(there)
        steps = "; then ".join(bounce_words(bounce) for bounce in back)
        words.append(
            f"Back, by {plural(len(back), 'bounce')}: {steps}. That costs about "
            f"{lost_s(known, back):,.0f} partition-seconds."
        )
    return words


def bounce_words(bounce: Bounce) -> str:
    """What processes are started with."""
    old, new = bounce.old, bounce.new
    said = []
    if new.offers == BOTH != old.offers:
        said.append(f"offer both assignors, partition.assignment.strategy={assignors_of(BOTH)}")
    elif new.offers != old.offers:
        gone = next(name for name in ASSIGNORS if name != new.offers)
        said.append(f"leave {ASSIGNORS[gone]} out")
    if new.is_static != old.is_static:
        said.append("set group.instance.id" if new.is_static else "take group.instance.id away")
    if new.session_s != old.session_s:
        said.append(f"set session.timeout.ms={1000 * new.session_s:.0f}")
    if new.heartbeat_s != old.heartbeat_s:
        said.append(f"set heartbeat.interval.ms={1000 * new.heartbeat_s:.0f}")
    return ", ".join(said)


def _warnings(there: Sequence[Bounce]) -> list[str]:
    """What must not be left out."""
    old, new = there[0].old, there[-1].new
    words = []
    fails = "the first new process would fail with INCONSISTENT_GROUP_PROTOCOL"
    if (old.offers, new.offers) == (BOTH, "cooperative"):
        words.append(
            "Members that offer both assignors, as Java's consumer does by default since 3.0, "
            "leave RangeAssignor out in one bounce. Where RangeAssignor alone is set it takes two, "
            f"of which the first offers both: in one {fails} (--strategy eager tells so)."
        )
    elif {old.offers, new.offers} == set(ASSIGNORS):
        words.append(
            f"Start the second bounce when the first is over: in one {fails}. Java's consumer "
            "offers both by default since 3.0: if yours do, the second is enough (--strategy both)."
        )
    if old.is_static and not new.is_static:
        words.append(
            "An old static process says nothing when it stops: each restart of that bounce waits "
            "for its session, unless an administrator removes its member "
            "(removeMembersFromConsumerGroup)."
        )
    return words
