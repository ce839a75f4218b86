"""Draw how far from the best each sticky assignor is: a bar of shares for each, as an SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from tools.assignors.assignor_figures import GAPS

_COLOURS = ("#2a9d76", "#f2c14e", "#e08a1e", "#c4601d", "#3b7dd8", "#b3231b")
_INK = "#7a7a85"
_LEFT, _BAR, _RIGHT = 290, 400, 70
_ROW, _HEAD, _LEGEND = 22, 20, 46
_WIDTH = _LEFT + _BAR + _RIGHT
_LEGEND_STEP = _WIDTH // 3


def gap_plot(rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw the rows of `quality`, grouped by the kind of group.

    It loads nothing, and has the same bytes for the same figures.
    """
    kinds = list(dict.fromkeys(row["groups"] for row in rows))
    parts: list[str] = []
    top = 0
    for kind in kinds:
        parts.append(_text(0, top + 15, kind, weight="bold"))
        top += _HEAD
        for row in (row for row in rows if row["groups"] == kind):
            parts += _bar(top, row)
            top += _ROW
        top += _ROW // 2
    parts += _legend(top)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top + _LEGEND}" '
        f'role="img" font-family="sans-serif" font-size="12" fill="{_INK}">'
        "<title>How far from the best assignment each sticky assignor is</title>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _bar(top: int, row: Mapping[str, Any]) -> Iterator[str]:
    """A row: its name, a part for each gap that occurs, and the share that is not the best."""
    name = f"{row['assignor']}, {row['by']}"
    yield _text(12, top + 15, name)
    gaps: Mapping[str, int] = row["gaps"]
    total = sum(gaps.values())
    at = 0
    for gap, colour in zip(GAPS, _COLOURS, strict=True):
        left, width = (_BAR * part / total for part in (at, gaps[gap]))
        at += gaps[gap]
        if gaps[gap]:
            said = escape(f"{name}: {gap}, {gaps[gap]:,} of {total:,}")
            yield (
                f'<rect x="{_LEFT + left:.1f}" y="{top + 3}" width="{width:.1f}" '
                f'height="{_ROW - 6}" fill="{colour}"><title>{said}</title></rect>'
            )
    yield _text(_LEFT + _BAR + 8, top + 15, percent(total - gaps["best"], total))


def percent(part: int, whole: int) -> str:
    """A share, so that a small one is not 0."""
    share = 100 * part / whole
    return f"{share:.0f} %" if not part or share >= 10 else f"{share:.2g} %"


def _legend(top: int) -> Iterator[str]:
    for number, (gap, colour) in enumerate(zip(GAPS, _COLOURS, strict=True)):
        left, line = number % 3 * _LEGEND_STEP, top + number // 3 * 20 + 4
        yield f'<rect x="{left}" y="{line}" width="12" height="12" fill="{colour}"/>'
        yield _text(left + 18, line + 11, gap)


def _text(left: int, line: int, said: str, weight: str = "normal") -> str:
    return f'<text x="{left}" y="{line}" font-weight="{weight}">{escape(said)}</text>'
