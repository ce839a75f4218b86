from __future__ import annotations

import json
import zlib
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.logs.log_rows import write_logs

from benchmarks.log_traffic import Plan
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.model.work import Timer
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.audit.possible_errors import PossibleAnswers
from fencepost.traces.logs.request_log import LoggedExchange, RequestLog
from fencepost.traces.pipeline.logs.stream_group import StreamGroup
from fencepost.traces.pipeline.storage.stream_state import FORMAT, StateError, from_bytes, to_bytes

SETTINGS = AuditSettings()
LEGAL = PossibleAnswers(SETTINGS.revision)
PLAN = Plan(lines=500, groups=4, members=4, unrest_ms=10_000, seed=2)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    wrong = find_revision("mutant:librdkafka-mock-never-fences")
    return write_logs(tmp_path_factory.mktemp("logs"), PLAN, wrong)


def in_pieces(logs: list[Path], size: int) -> Iterator[list[LoggedExchange]]:
    exchanges = list(RequestLog(logs))
    for start in range(0, len(exchanges), size):
        yield exchanges[start : start + size]


def alerts(logs: list[Path], size: int, *, forgets: bool = False) -> list[dict[str, Any]]:
    """Each group in pieces, with nothing but bytes in between."""
    states: dict[str, bytes] = {}
    found = []
    for piece in in_pieces(logs, size):
        groups: dict[str, list[LoggedExchange]] = {}
        for exchange in piece:
            groups.setdefault(exchange.group_ids[0], []).append(exchange)
        for name, own in groups.items():
            group = StreamGroup(name, SETTINGS, LEGAL, None if forgets else states.get(name))
            found += group.take(own)
            states[name] = group.state()
    return found


@pytest.mark.slow
def test_a_group_in_pieces_ends_in_the_violations_of_the_whole(logs: list[Path]) -> None:
    whole = audit_log(RequestLog(logs), SETTINGS)
    places = sorted(f.exchange.place for g in whole.groups.values() for f in g.first_violations)
    assert places
    by_line = alerts(logs, 1)
    assert {row["place"] for row in by_line} <= set(places)
    assert by_line
    assert sorted(alerts(logs, 40), key=str) == sorted(by_line, key=str)
    first = Counter(row["group"] for row in by_line if row["number"] == 1)
    assert set(first.values()) == {1}
    assert sorted(alerts(logs, 40, forgets=True), key=str) != sorted(by_line, key=str)


def test_what_is_kept_stays_small(logs: list[Path]) -> None:
    group = StreamGroup("group-0", SETTINGS, LEGAL)
    sizes = []
    for exchange in RequestLog(logs):
        if exchange.group_ids[0] == "group-0":
            group.take([exchange])
            sizes.append(len(group.state()))
    assert max(sizes) < 50_000


class Liar:
    """Not of a class that may be in a state."""


def test_values_come_back_as_they_were() -> None:
    shared = Timer("session", "a", 1, 2)
    exchange = LoggedExchange(
        "Heartbeat", 4, 1, 2, {"a": [1]}, {}, "d", "c", source="f", line=1, broker="b"
    )
    value: list[Any] = [
        None,
        [True, 1.5, "x", b"\0\xff"],
        {("a", 1): {2, 3}, "b": frozenset({"z"})},
        Counter({"n": 2}),
        deque([1, [2]], 3),
        GroupState.STABLE,
        shared,
        exchange,
        exchange,
    ]
    back = from_bytes(to_bytes(value, {}), {})
    assert back == value
    assert [type(one) for one in back] == [type(one) for one in value]
    assert back[-1] is back[-2]
    assert back[-1]._request is None
    given = Liar()
    assert from_bytes(to_bytes([given], {"it": given}), {"it": given}) == [given]


@pytest.mark.parametrize("value", [Liar(), print, Path("x")])
def test_nothing_else_can_be_in_a_state(value: object) -> None:
    with pytest.raises(StateError):
        to_bytes(value, {})


@pytest.mark.parametrize(
    ("form", "says"),
    [
        (["o", "os.system"], "can't be in a state"),
        (["o", "model.classic.group.replace"], "no class"),
        (["o", "model.classic.group.Nothing"], "can't be read"),
        (["?"], "can't be read"),
        (["r", 3], "can't be read"),
        (["b", "?"], "can't be read"),
    ],
)
def test_bytes_of_somebody_else_are_refused_and_nothing_is_run(form: object, says: str) -> None:
    head = json.loads(zlib.decompress(to_bytes(1, {})))[:3]
    data = zlib.compress(json.dumps([*head, form]).encode())
    with pytest.raises(StateError, match=says):
        from_bytes(data, {})


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x80\x04.", "no state"),
        (zlib.compress(b"[]"), "no state"),
        (zlib.compress(json.dumps([FORMAT, 1, "fencepost 0.0.1", 1]).encode()), "go on with that"),
    ],
)
def test_another_version_is_refused_by_name(data: bytes, says: str) -> None:
    with pytest.raises(StateError, match=says):
        from_bytes(data, {})
