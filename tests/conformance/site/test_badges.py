"""Badges: an image that loads nothing, and the JSON that shields.io asks for."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest

from fencepost.conformance.site.badges import endpoint_json, svg

SAID = "passes 1 of 2; <1> known failure & more"


@pytest.mark.parametrize("tone", ["holds", "known-failure", "unknown", "violated"])
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
