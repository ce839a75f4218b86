"""Write the page of an advice: figures first, then the curve of session timeouts as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fencepost.conformance.advise.advice_report import changes_of
from fencepost.traces.report.report_writer import PlainReport, TemplatePage, write_report

_WIDTH, _HEIGHT, _LEFT, _TOP = 900, 180, 60, 10
_PAGE_FIELDS = (
    "known",
    "settings",
    "words",
    "migration",
    "compared_with",
    "advised",
    "log",
    "assumed",
)
_MOST_S = 300
"""Longer sessions are in the table only, unless one of them is advised."""


def advice_page(document: Mapping[str, Any]) -> TemplatePage:
    """Make the page of the JSON of an advice."""
    advised, curve = document["advised"], document["curve"]
    most_ms = max(1000 * _MOST_S, advised["session_timeout_ms"])
    drawn = [point for point in curve if point["session_timeout_ms"] <= most_ms]
    times = [math.log(point["session_timeout_ms"]) for point in drawn]
    scale = (_WIDTH - _LEFT) / (times[-1] - times[0])
    xs = [round(_LEFT + (at - times[0]) * scale, 1) for at in times]
    parts = [100 * point["restarts_that_outlive_it"] for point in drawn]
    noticed = [point["detection_s"] for point in drawn]
    most_part, most_s = max(*parts, 1.0), math.ceil(max(noticed))
    places = [point["session_timeout_ms"] for point in drawn]
    both = [("advised", advised)] + (
        [(document["compared_with"], document["today"])] if changes_of(document) else []
    )
    return TemplatePage(
        "advice.html",
        "What to set",
        {
            **{name: document[name] for name in _PAGE_FIELDS},
            "verdict": document["verdict"].removesuffix("."),
            "forms": [*both[:1], *(("", row) for row in document["forms"][1:]), *both[1:]],
            "names": list(curve[0]["weekly_lost_partition_s"]),
            "curve": curve,
            "ticks": [(x, f"{ms / 1000:g} s") for x, ms in zip(xs, places, strict=True)],
            "exceeded": _points(xs, parts, most_part),
            "noticed": _points(xs, noticed, most_s),
            "most_part": most_part,
            "most_s": most_s,
            "advised_x": xs[places.index(advised["session_timeout_ms"])],
            "events": [(name, row) for name, setting in both for row in setting["events"]],
            "width": _WIDTH,
            "height": _HEIGHT,
            "left": _LEFT,
        },
        "simulation.css",
    )


def _points(xs: list[float], values: list[float], most: float) -> str:
    places = zip(xs, values, strict=True)
    return " ".join(f"{x},{round(_TOP + _HEIGHT * (1 - each / most), 1)}" for x, each in places)


def write_advice(document: dict[str, Any], folder: Path) -> None:
    """Write `advice.json` and `index.html`.  Raises ReportError where that can't be."""
    write_report(PlainReport("advice.json", document, advice_page(document)), folder)
