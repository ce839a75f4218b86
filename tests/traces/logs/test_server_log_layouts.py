"""Whatever a layout, a collector, an export or a paste puts around a message: it reads the same."""

from __future__ import annotations

import json
import textwrap
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.traces.logs.coordinator_messages import MessageKind
from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.server_log import (
    OTHER_LINE,
    UNDATED,
    UNREAD,
    CoordinatorEvent,
    LogKind,
    ServerLog,
    log_kind,
)

AT = datetime(2024, 11, 20, 19, 8, 22, 974_000, tzinfo=UTC)
AT_MS = 1_732_129_702_974
OLD, NEW = "[GroupCoordinator 1]: ", "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] "
OLD_LOGGER = "kafka.coordinator.group.GroupCoordinator"
NEW_LOGGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
ON = "(__consumer_offsets-7)"
LEFT = (
    "Member MemberMetadata(memberId=app-1, groupInstanceId=Some(i), clientId=app, "
    "clientHost=/10.0.0.1, sessionTimeoutMs=6000, rebalanceTimeoutMs=9000, "
    "supportedProtocols=List(range, sticky)) has left group spans through explicit `LeaveGroup`; "
    "client reason: the consumer is being closed"
)
MESSAGES = (
    (
        f"{OLD}Preparing to rebalance group spans in state PreparingRebalance with old "
        "generation 4 "
        f"{ON} (reason: Adding new member nonode@nohost/<0.1.0>-1 with group instance id Some(i); "
        "client reason: not provided)"
    ),
    (
        f"{NEW}Preparing to rebalance group spans in state PreparingRebalance with old "
        "generation 4 "
        "(reason: explicit `LeaveGroup` request for (app-1) members.)."
    ),
    f"{OLD}Stabilized group my group generation 5 {ON} with 2 members",
    f"{NEW}Stabilized group spans generation 15 with 12 members.",
    (
        f"{OLD}Assignment received from leader app-1 for group spans for generation "
        "245. The group has "
        "2 members, 0 of which are static."
    ),
    f"{OLD}Group spans with generation 6 is now empty {ON}",
    f"{OLD}Member rdkafka-7b8f in group spans has failed, removing it from the group",
    f"{OLD}{LEFT}",
    (
        f"{NEW}[Group spans] Member app-1 has left group through explicit `LeaveGroup` "
        "request; client "
        "reason: not provided"
    ),
    (
        f"{NEW}Dynamic member with unknown member id joins group spans in Stable state. "
        "Created a new "
        "member id app-1 and requesting the member to rejoin with this id."
    ),
    (
        f"{OLD}Static member with groupInstanceId=i and unknown member id joins group "
        "spans in Stable "
        "state. Replacing previously mapped member i-0 with this groupInstanceId."
    ),
    f"{OLD}Group spans removed dynamic members who haven't joined: HashSet(app-1, app-2)",
)
BERLIN = timezone(timedelta(hours=1))


def date(form: str, zone: timezone = UTC) -> str:
    made = AT.astimezone(zone).strftime(form)
    return made.replace("MILLIS", "974")


DATES = (
    date("%Y-%m-%d %H:%M:%S,MILLIS"),
    date("%Y-%m-%d %H:%M:%S.MILLIS"),
    date("%Y-%m-%dT%H:%M:%S.MILLISZ"),
    date("%Y-%m-%dT%H:%M:%S,MILLIS+0000"),
    date("%Y-%m-%dT%H:%M:%S.MILLIS+01:00", BERLIN),
    date("%Y/%m/%d %H:%M:%S.MILLIS"),
    date("%d %b %Y %H:%M:%S,MILLIS"),
    date("%d.%m.%Y %H:%M:%S,MILLIS"),
    date("%m/%d/%Y %I:%M:%S.MILLIS %p"),
    date("%b %d, %Y @ %H:%M:%S.MILLIS"),
    date("%d/%b/%Y:%H:%M:%S.MILLIS +0000"),
    date("%Y%m%dT%H%M%S.MILLISZ"),
    f"{AT_MS}",
)
LEVELS = ("INFO", "INFO ", "[INFO]", "DEBUG", "level=info", "WARN:")
LAYOUTS = (
    "[{date}] {level} {text} ({logger})",
    "{date} {level} {text} ({logger}) [data-plane-kafka-request-handler-3]",
    "{date} - {level} [data-plane-kafka-request-handler-3:Logging@66] - {text}",
    "[{date}] {level} {text} ({logger}:66)",
    "[{date}] {level} {text} ({logger}:66) - app=kafka, clusterId=confluent, server=0",
    "[{date}] {level} [{logger}] {text}",
    "{date} {level} {logger} [executor-Rebalance] - {text}",
    "{date} [executor-Heartbeat] {level}  k.c.g.GroupCoordinator - {text}",
    "{level} | {date} | {logger} | {text}",
    "[{date}][{level}][{logger}] {text}",
    "{level} {text} ({logger}) {date}",
    "{date}\t{level}\t{text}\t({logger})",
)
PREFIXES = (
    "",
    "kafka-1  | ",
    "> > ",
    "│ ",
    "`",
    "[pod/kafka-0/kafka] ",
    "kafka-0 kafka ",
    "2024-11-20T18:59:59.006683114Z ",
    "2024-11-20T18:59:59.006683114Z stdout F ",
    "Nov 20 18:59:59 host-1 kafka[4242]: ",
    "<14>1 2024-11-20T18:59:59.006683Z host kafka 4242 - - ",
    ("streaming_kafka-broker-1.1.x8w3q0z5k2v7b9n4m6l1j0h2g@worker-42.rack-17.room-3.example  | "),
    "server.log:17:",
    "\x1b[32m",
    "    ",
)
SUFFIXES = ("", "", "`", " │", "\x1b[0m", '",', "  ", "\\n", "<br>")


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, str]:
    """A line of some layout, and its message."""
    text = draw(st.sampled_from(MESSAGES))
    layout = draw(st.sampled_from(LAYOUTS))
    is_dated_before = layout.index("{date}") < layout.index("{text}")
    prefix = draw(st.sampled_from(PREFIXES if is_dated_before else PREFIXES[:7]))
    line = layout.format(
        date=draw(st.sampled_from(DATES)),
        level=draw(st.sampled_from(LEVELS)),
        text=text,
        logger=NEW_LOGGER if text.startswith(NEW) else OLD_LOGGER,
    )
    return prefix + line + draw(st.sampled_from(SUFFIXES)), text


def content(event: CoordinatorEvent | str) -> tuple[object, ...]:
    assert isinstance(event, CoordinatorEvent), event
    ids = event.group, event.member_id, event.instance_id, event.generation
    return event.at_ms, event.kind, *ids, event.is_new, sorted(event.fields.items())


def read(line: str | bytes) -> CoordinatorEvent | str:
    data = line.encode() if isinstance(line, str) else line
    return ServerLog([]).of_line("b", "server.log", 1, data + b"\n", 0)


def usual(text: str) -> tuple[object, ...]:
    logger = NEW_LOGGER if text.startswith(NEW) else OLD_LOGGER
    return content(read(f"[{DATES[0]}] INFO {text} ({logger})"))


@given(lines())
def test_a_line_of_any_layout_reads_the_same(drawn: tuple[str, str]) -> None:
    line, text = drawn
    assert content(read(line)) == usual(text)


JSON = (
    {"@timestamp": date("%Y-%m-%dT%H:%M:%S.MILLISZ"), "level": "INFO", "message": "TEXT"},
    {"timeMillis": AT_MS, "level": "INFO", "loggerName": OLD_LOGGER, "message": "TEXT"},
    {"instant": {"epochSecond": AT_MS // 1000, "nanoOfSecond": 974_000_000}, "message": "TEXT"},
    {"log": "LINE\n", "stream": "stdout", "time": "2024-11-20T18:59:59.1Z"},
    {"line": "LINE", "timestamp": "1732129702974000000", "labels": {"pod": "kafka-0"}},
    {"timestamp": AT_MS, "ingestionTime": AT_MS + 9, "message": "TEXT"},
    {
        "_source": {
            "message": "TEXT",
            "@timestamp": date("%b %d, %Y @ %H:%M:%S.MILLIS"),
            "event": {"original": "TEXT"},
        },
        "fields": {"message": ["TEXT"]},
    },
    {"version": "1.1", "host": "h", "short_message": "TEXT", "timestamp": 1732129702.974},
    {"MESSAGE": "TEXT", "__REALTIME_TIMESTAMP": str(AT_MS * 1000), "_PID": "7"},
    {"result": {"_raw": "LINE", "_time": "2024-11-20T18:59:59.1Z"}},
    {"data": {"result": [{"stream": {}, "values": [[f"{AT_MS}000000", "TEXT"]]}]}},
    {"time": f"{AT_MS}", "class": OLD_LOGGER, "body": {"stringValue": "TEXT"}},
    {"ts": AT_MS / 1000, "msg": "TEXT", "logger": OLD_LOGGER},
    {"message": json.dumps({"@timestamp": date("%Y-%m-%dT%H:%M:%S.MILLISZ"), "message": "TEXT"})},
)


def filled(value: object, text: str) -> object:
    if isinstance(value, dict):
        return {key: filled(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, text) for inner in value]
    if isinstance(value, str) and value.startswith("{"):
        return json.dumps(filled(json.loads(value), text))
    if isinstance(value, str):
        return value.replace("LINE", f"[{DATES[0]}] INFO TEXT").replace("TEXT", text)
    return value


@pytest.mark.parametrize("form", JSON, ids=lambda form: next(iter(form)))
@pytest.mark.parametrize("text", MESSAGES, ids=range(len(MESSAGES)))
def test_json_has_the_message_and_its_time_as_fields(form: object, text: str) -> None:
    line = json.dumps(filled(form, text))
    for prefix in ("", "kafka-1  | ", "2024-11-20T18:59:59Z stdout F "):
        at_ms, kind, *ids, _, fields = content(read(prefix + line))
        expected = usual(text)
        assert (at_ms, kind, *ids, fields) == (*expected[:-2], expected[-1])


@pytest.mark.parametrize(
    "beside", [{"logger": OLD_LOGGER}, {"log": {"logger": OLD_LOGGER}}, {"log.logger": NEW_LOGGER}]
)
def test_a_field_of_json_shows_whose_line_it_is(beside: dict[str, object]) -> None:
    line = json.dumps({"@timestamp": AT_MS, "message": "Group spans dances", **beside})
    assert read(line) == UNREAD
    for logger in (OLD_LOGGER, NEW_LOGGER):
        line = line.replace(logger, "kafka.log.Log")
    assert read(line) == OTHER_LINE


def log_of(tmp_path: Path, text: str, name: str = "server.log") -> ServerLog:
    path = tmp_path / name
    path.write_text(text)
    return ServerLog([path])


def story(count: int = 6) -> list[str]:
    """The lines of rebalances, one each 20 s."""
    made: list[str] = []
    for number in range(count):
        at = AT + timedelta(seconds=20 * number)
        for millis, text in enumerate(
            (
                (
                    f"Preparing to rebalance group spans in state PreparingRebalance with old "
                    "generation "
                    f"{number} {ON} (reason: Adding new member app-{number} with group instance id "
                    "None)"
                ),
                f"Stabilized group spans generation {number + 1} {ON} with {number + 1} members",
                f"Assignment received from leader for group spans for generation {number + 1}",
            )
        ):
            stamp = (at + timedelta(milliseconds=millis // 2)).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
            made.append(f"[{stamp}] INFO {OLD}{text} ({OLD_LOGGER})")
    return made


def contents(log: ServerLog) -> list[tuple[object, ...]]:
    return [content(event) for event in log]


def test_the_newest_first_is_turned_round(tmp_path: Path) -> None:
    """Also where lines of one millisecond kept their order, and where there are few lines."""
    rows = story()
    forward = contents(log_of(tmp_path, "\n".join(rows)))
    assert len(forward) == len(rows)
    assert contents(log_of(tmp_path, "\n".join(rows[::-1]))) == forward
    by_time = sorted(rows, key=lambda row: row[1:24], reverse=True)
    assert by_time != rows[::-1]
    assert contents(log_of(tmp_path, "\n".join(by_time))) == forward
    assert contents(log_of(tmp_path, "\n".join(rows[2::-1]))) == forward[:3]


def test_an_order_that_is_neither_is_refused(tmp_path: Path) -> None:
    rows = story(100)[::-1]
    mixed = rows[:250] + rows[250:][::-1]
    with pytest.raises(LogFileError, match="sort the file by time"):
        list(log_of(tmp_path, "\n".join(mixed)))


@pytest.mark.parametrize("width", [60, 90, 120, 200])
def test_lines_that_a_window_cut_are_joined(tmp_path: Path, width: int) -> None:
    rows = story()
    cut = [row[at : at + width] for row in rows for at in range(0, len(row), width)]
    expected = contents(log_of(tmp_path, "\n".join(rows)))
    assert contents(log_of(tmp_path, "\n".join(cut))) == expected


def test_words_that_a_mail_wrapped_are_joined(tmp_path: Path) -> None:
    wrapped = [
        f"> [{DATES[0]}] INFO {OLD}Preparing to rebalance group spans in state",
        "> PreparingRebalance with old generation 4 (__consumer_offsets-7) (reason: Adding new",
        f"> member app-1 with group instance id None) ({OLD_LOGGER})",
        f"> [{DATES[0]}] INFO {OLD}Group spans with generation 5 is now",
        f"> empty {ON} ({OLD_LOGGER})",
    ]
    first, second = log_of(tmp_path, "\n".join(wrapped))
    assert first.fields["reason"] == "Adding new member app-1 with group instance id None"
    assert (first.line, second.line, second.kind) == (1, 4, MessageKind.EMPTY)


@pytest.mark.parametrize("width", [70, 100])
@pytest.mark.parametrize("by_words", [False, True])
def test_boxes_are_unpacked(tmp_path: Path, width: int, by_words: bool) -> None:
    rows = story(2)
    border = f"├{'─' * (width + 2)}┤"
    boxed = [f"┌{'─' * (width + 2)}┐"]
    for row in rows:
        cut = [row[at : at + width] for at in range(0, len(row), width)]
        parts = textwrap.wrap(row, width, break_on_hyphens=False) if by_words else cut
        boxed += [f"│ {part:{width}} │" for part in parts]
        boxed.append(border)
    expected = contents(log_of(tmp_path, "\n".join(rows)))
    assert contents(log_of(tmp_path, "\n".join(boxed))) == expected


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_may_be_one_json_document(tmp_path: Path, indent: int | None) -> None:
    rows = story(2)
    events = [{"timestamp": AT_MS, "message": row} for row in rows]
    text = json.dumps({"events": events, "searchedLogStreams": []}, indent=indent)
    log = log_of(tmp_path, text, "events.json.log")
    assert contents(log) == contents(log_of(tmp_path, "\n".join(rows)))
    lines_ = [event.line for event in log_of(tmp_path, text, "events.json.log")]
    assert lines_ == ([1] * 6 if indent is None else [5, 9, 13, 17, 21, 25])
    assert log_kind(tmp_path / "events.json.log") is LogKind.SERVER
    turned = json.dumps({"events": events[::-1]}, indent=indent)
    assert contents(log_of(tmp_path, turned)) == contents(log_of(tmp_path, "\n".join(rows)))


def test_a_file_may_be_json_objects_of_several_lines(tmp_path: Path) -> None:
    """Log4j's JSON layout that is not compact, or lines that went through `jq .`."""
    objects = [
        json.dumps({"timeMillis": AT_MS + n, "thread": "t", "message": row[31:]}, indent=2)
        for n, row in enumerate(story(2))
    ]
    events = list(log_of(tmp_path, "\n".join(objects)))
    assert [event.at_ms - AT_MS for event in events] == [0, 1, 2, 3, 4, 5]
    assert events[2].line == 14
    cut = log_of(tmp_path, "\n".join(objects)[:-70], "cut.log")
    assert len(list(cut)) == 5
    assert sum(unread.lines for unread in cut.unread) == 1


def test_several_messages_may_stand_in_one_line(tmp_path: Path) -> None:
    rows = story(2)
    log = log_of(tmp_path, "\\n".join(rows))
    assert contents(log) == contents(log_of(tmp_path, "\n".join(rows), "b.log"))


@pytest.mark.parametrize(
    "text",
    [
        f"{OLD}**Stabilized group spans** generation 5 {ON}",
        f"{OLD}Stabilized group **spans** generation 5 {ON}",
        f"{OLD}Stabilized group `spans` generation 5 {ON}",
        f"{OLD}*Stabilized group spans generation 5 {ON}*",
        f"{OLD}Stabilized group&nbsp;spans <b>generation 5</b> {ON}",
        f"{OLD}Stabilized\tgroup  spans generation 5 {ON}",
    ],
)
def test_emphasis_and_marks_of_pages_are_left_out(text: str) -> None:
    event = read(f"[{DATES[0]}] INFO {text} ({OLD_LOGGER})")
    assert isinstance(event, CoordinatorEvent)
    assert (event.group, event.generation) == ("spans", 5)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"[{DATES[0]}] INFO {OLD}Group spans dances with generation 5 ({OLD_LOGGER})", UNREAD),
        (f"[{DATES[0]}] INFO {OLD}Preparing to rebalance group spans in state Prepa", UNREAD),
        (f"INFO {MESSAGES[0]}", UNDATED),
        (f"19:08:22,974 INFO {MESSAGES[0]}", UNDATED),
        (f"Nov 20 19:08:22 host kafka: {MESSAGES[0]}", UNDATED),
        (f"04/03/2024 19:08:22 {MESSAGES[0]}", UNDATED),
        (f"[{DATES[0]}] INFO Discovered group coordinator b:9092 (o.a.k.clients.X)", OTHER_LINE),
        (
            (
                f"[{DATES[0]}] INFO [group-coordinator-event-processor-0]: Starting "
                "(org.apache.kafka.coordinator.group.runtime.X)"
            ),
            OTHER_LINE,
        ),
    ],
)
def test_a_line_is_unread_only_if_it_is_about_a_group(line: str, reason: str) -> None:
    assert read(line) == reason


def test_other_dates_of_a_file_show_which_number_is_the_day(tmp_path: Path) -> None:
    rows = [f"{day}/2024 19:08:22 INFO {MESSAGES[5]}" for day in ("11/04", "11/05", "11/20")]
    days = [event.at_ms // 86_400_000 for event in log_of(tmp_path, "\n".join(rows))]
    assert [day - days[0] for day in days] == [0, 1, 16]


def test_of_several_messages_in_one_line_none_is_lost(tmp_path: Path) -> None:
    first, second, third = story(1)
    strange = second.replace("Stabilized group", "Dances with group")
    log = log_of(tmp_path, f"{first}\\n{strange}\\n{third}")
    assert [event.kind for event in log] == [MessageKind.PREPARING, MessageKind.ASSIGNED]
    assert [(unread.reason, unread.lines) for unread in log.unread] == [(UNREAD, 1)]


def test_a_line_that_is_too_long_is_unread_if_it_is_of_a_coordinator() -> None:
    line = f"[{DATES[0]}] INFO {OLD}Group spans dances {'x' * 3000}"
    log = ServerLog([], line_limit=2000)
    assert log.of_line("b", "s", 1, line.encode(), 0) == UNREAD


@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 400), st.sampled_from(MESSAGES))
def test_damaged_lines_are_counted_and_never_a_crash(
    garbage: bytes, begin: int, end: int, text: str
) -> None:
    whole = f"[{DATES[0]}] INFO {text} ({OLD_LOGGER})".encode()
    as_json = json.dumps({"message": text, "time": AT_MS}).encode()
    for line in (whole, as_json):
        damaged = line[:begin] + garbage + line[begin + end :]
        for made in ServerLog([])._of_several(("b", "s", 1), damaged, 0):
            assert isinstance(made, CoordinatorEvent | str)
        assert isinstance(read(damaged), CoordinatorEvent | str)


def test_a_long_line_of_garbage_takes_no_hours() -> None:
    """Without bounds a pattern with two names takes the cube of the length."""
    garbage = "Member x in group y " * 1500
    assert read(f"{garbage}has failed, removing it from the band") == OTHER_LINE
    assert read(f"{OLD}{garbage}has failed, removing it from the band") == UNREAD
