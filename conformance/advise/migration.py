"""How to get from what is set to what is advised: bounces, and the lines that simulate them."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.conformance.advise.advice import Advice

ASSIGNORS = {"eager": "RangeAssignor", "cooperative": "CooperativeStickyAssignor"}
PACKAGE = "org.apache.kafka.clients.consumer."


def migration(advice: Advice) -> Iterator[str]:
    """The steps in order; none where nothing changes."""
    old, new = advice.today, advice.advised
    if (old.form, old.session_s) == (new.form, new.session_s):
        return
    size = (
        f"--members {advice.known.members} --partitions {','.join(map(str, advice.known.topics))}"
    )
    others = []
    if new.form.is_static and not old.form.is_static:
        others.append("group.instance.id")
    if old.form.is_static and not new.form.is_static:
        others.append("no group.instance.id")
    if new.session_s != old.session_s:
        others.append("the new session.timeout.ms")
    also = f", with {' and '.join(others)}" if others else ""
    if old.form.strategy == new.form.strategy:
        yield f"One bounce{also}."
    else:
        both = ",".join(f"{PACKAGE}{ASSIGNORS[each.form.strategy]}" for each in (new, old))
        yield f"A first bounce offers both assignors{also}: partition.assignment.strategy={both}"
        yield (
            f"A second bounce, when the first is over, leaves {ASSIGNORS[old.form.strategy]} out. "
            "In one bounce the first new process would fail with INCONSISTENT_GROUP_PROTOCOL."
        )
        if new.form.strategy == "cooperative":
            static = " --static" if old.form.is_static else ""
            yield f"To see it: fencepost simulate to-cooperative {size}{static}"
    if new.form.is_static and not old.form.is_static:
        yield f"To see it: fencepost simulate to-static {size}"
    if old.form.is_static and not new.form.is_static:
        yield (
            "Each restart of that bounce waits for the session of the old process: make it short "
            f"in a bounce before. To see it: fencepost simulate to-dynamic {size}"
        )
