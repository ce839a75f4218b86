"""The text of a page: the same each time, whole in itself, and its policy true."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from support.page.pages import TRACE, certificate, certificate_text, finding, finding_page

from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.worlds.scope import Scope
from fencepost.traces import pages as page_room
from fencepost.traces.pages.explorer_page import page_of_exploration
from fencepost.traces.pages.html import page
from fencepost.traces.report.certificate_page import certificate_page


class Parts(HTMLParser):
    """What a page loads, and its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.policy = ""
        self.code: dict[str, list[str]] = {"script": [], "style": []}
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "script" and found.get("type") == "application/json":
            tag = ""
        self._in = tag if tag in self.code else ""
        if tag == "meta" and found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"] or ""
        if tag != "a":
            self.loads += [v or "" for k, v in attrs if k in {"src", "href", "action", "data"}]
        self.loads += [f"{tag} {k}" for k, _ in attrs if k == "style" or k.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._in = "" if tag in self.code else self._in

    def handle_data(self, data: str) -> None:
        if self._in:
            self.code[self._in].append(data)


def hashed(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def explorer_text() -> str:
    return page_of_exploration(KAFKA_4, Scope(clients=1), PROPERTIES.values(), max_states=99).text


PAGES = {
    "trace": lambda: finding_page("parked-sync"),
    "certificate": certificate_text,
    "explorer": explorer_text,
}


@pytest.mark.parametrize("kind", PAGES)
def test_the_same_twice(kind: str) -> None:
    assert PAGES[kind]() == PAGES[kind]()


@pytest.mark.parametrize("kind", PAGES)
def test_nothing_is_loaded_and_the_policy_says_so(kind: str) -> None:
    parts = Parts(PAGES[kind]())
    assert parts.loads == ["data:,"]
    assert "default-src 'none'" in parts.policy
    (script,), (style,) = parts.code["script"], parts.code["style"]
    assert f"script-src {hashed(script)}" in parts.policy
    assert f"style-src {hashed(style)}" in parts.policy
    assert "unsafe" not in parts.policy


def test_a_page_that_loads_something_is_caught() -> None:
    parts = Parts('<img src="https://example.org/x.png"><p style="color: red" onclick="x()">')
    assert parts.loads == ["https://example.org/x.png", "p style", "p onclick"]


def test_data_cannot_end_its_element() -> None:
    evil = "</script><script>alert(1)</script>"
    text = page("trace.html", evil, {"traces": [], "say": evil}, traces=[])
    assert evil not in text
    assert text.count("</script>") == 2


def test_without_scripts_a_trace_is_read_as_text() -> None:
    text = finding_page("parked-sync")
    plain = re.sub(r"<[^>]+>", "", text[text.index("<main") : text.index("</main>")])
    words = re.sub(r"\s+", " ", plain)
    assert "should have been answered UNKNOWN_MEMBER_ID" in words
    assert "601 ms pass" in words
    assert "no answer ← wrong" in words
    assert 'id="step-6" class="wrong"' in text


@pytest.mark.parametrize(
    ("rule", "before"),
    [("HEARTBEAT-STABLE", False), ("JOIN-PHASE-WAIT", False), ("LEAVE-MEMBER", True)],
)
def test_a_case_that_failed_before_its_rule_says_so(rule: str, before: bool) -> None:
    document = certificate()
    document["cases"][0]["rules"] = [rule]
    text = certificate_page([document], [{TRACE: finding("restart-session")}])
    assert ("fail before its rule: HEARTBEAT-STABLE/restart-session" in text) is before
    assert ('<span class="soft">failed before its rule</span>' in text) is before


def test_several_traces_are_named_with_their_lengths() -> None:
    text = finding_page("parked-sync", "full-group")
    assert len(re.findall(r'<span class="count">\d+ steps</span>', text)) == 2


@pytest.mark.parametrize(
    ("folder", "what"),
    [("assets", "localStorage.setItem"), ("templates", "<head>"), ("templates", 'id="theme"')],
)
def test_the_switch_of_the_theme_and_the_head_stand_in_one_place(folder: str, what: str) -> None:
    found = [
        file.name for file in (files(page_room) / folder).iterdir() if what in file.read_text()
    ]
    assert len(found) == 1
