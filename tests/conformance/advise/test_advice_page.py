"""The page of an advice: the table has every session, the picture those that are near."""

from __future__ import annotations

import json
from typing import Any

from support.in_this_process import invoke

from fencepost.conformance.advise.advice_page import advice_page


def document(*more: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke("advise", "--restart-s", "8", *more, "--json").out)
    return found


def test_the_table_has_every_session_and_the_picture_the_near_ones() -> None:
    found = advice_page(document("--warmup-s", "10")).html()
    assert found.count('<tr><th scope="row">1800 s</th>') == 1
    assert found.count(">1800 s</text>") == 0
    assert found.count("<polyline") == 2
    assert "advised" in found


def test_the_way_there_is_told_where_there_is_one() -> None:
    found = document("--warmup-s", "10")
    assert "How to get there" in advice_page(found).html()
    assert "How to get there" not in advice_page({**found, "migration": []}).html()


def test_the_table_has_todays_settings_where_only_the_heartbeat_interval_changes() -> None:
    today = ("--strategy", "cooperative", "--dynamic", "--longest-pause-s", "30")
    found = advice_page(document(*today)).html()
    assert "<h1>Set heartbeat interval 1 s: " in found
    rows = found.partition('aria-label="Forms"')[2].partition("</table>")[0]
    for name, interval in (("advised", "1 s"), ("today, session not known", "3 s")):
        row = rows.partition(f"dynamic+cooperative ({name})")[2].partition("</tr>")[0]
        assert f'45 s</td><td class="figure">{interval}</td>' in row


def test_what_is_told_is_escaped() -> None:
    found = document()
    assert "&lt;b&gt;" in advice_page({**found, "words": ["<b>"]}).html()
    assert "<b>" not in advice_page({**found, "words": ["<b>"]}).html()


def test_a_long_session_that_is_advised_is_drawn() -> None:
    found = document("--warmup-s", "30", "--longest-pause-s", "500")
    assert found["advised"]["session_timeout_ms"] == 600_000
    assert ">600 s</text>" in advice_page(found).html()
