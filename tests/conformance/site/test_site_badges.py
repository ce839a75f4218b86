"""Badges: an image that loads nothing, and the JSON that shields.io asks for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.kept import kept, write_kept

from fencepost.conformance.site.site import endpoint_json, svg
from fencepost.conformance.site.site_results import read_results

SAID = "passes 1 of 2; <1> known failure & more"


@pytest.mark.parametrize("tone", ["holds", "partly", "known-failure", "unknown", "violated"])
def test_both_say_the_same(tone: str) -> None:
    document = json.loads(endpoint_json(SAID, tone))
    assert document.keys() == {"schemaVersion", "label", "message", "color", "isError"}
    assert (document["schemaVersion"], document["message"]) == (1, SAID)
    assert document["isError"] is (tone == "violated")
    image = ET.fromstring(svg(SAID, tone))
    assert image[0].text == f"fencepost: {SAID}"
    assert f"#{document['color']}" in svg(SAID, tone)


def test_the_image_loads_nothing() -> None:
    text = svg(SAID, "holds").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|href|<script|<style", text)


def test_a_longer_message_is_a_wider_image() -> None:
    images = [ET.fromstring(svg(said, "holds")) for said in ("a", SAID)]
    assert int(images[0].attrib["width"]) < int(images[1].attrib["width"])


@pytest.mark.parametrize(
    ("cases", "verdict", "badge"),
    [
        ({"A/b": "pass"}, "holds", ("holds; passes 1 of 1", "holds")),
        (
            {"A/b": "pass", "A/c": "unsupported", "A/d": "unsupported"},
            "holds",
            ("holds; passes 1 of 3; 2 unsupported", "partly"),
        ),
        (
            {"A/b": "pass", "A/c": "it is late", "A/d": "unsupported"},
            "holds",
            ("passes 1 of 3; 1 known failure; 1 unsupported", "known-failure"),
        ),
        ({"A/b": "pass"}, "violated", ("violated; passes 1 of 1", "violated")),
        (
            {"A/b": "unknown", "A/c": "unsupported"},
            "unknown",
            ("unknown; passes 0 of 2; 1 unknown; 1 unsupported", "unknown"),
        ),
    ],
)
def test_it_says_the_verdict_and_how_much_was_tested(
    tmp_path: Path, cases: dict[str, str], verdict: str, badge: tuple[str, str]
) -> None:
    (result,) = read_results(write_kept(tmp_path, kept("a:1", cases, verdict=verdict)))
    assert result.badge() == badge


def test_a_choice_of_cases_is_not_green(tmp_path: Path) -> None:
    chosen = kept("a:1", {"A/b": "pass"}, not_selected=387)
    (result,) = read_results(write_kept(tmp_path, chosen))
    assert result.badge() == ("holds; passes 1 of 1; 387 cases not selected", "partly")
