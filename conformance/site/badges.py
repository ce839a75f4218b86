"""Make badges: an SVG, and the JSON of which shields.io draws one (its endpoint)."""

from __future__ import annotations

import json
from html import escape

_COLOURS = {
    "holds": "#1a7f37",
    "partly": "#5f7117",
    "known-failure": "#8a5a00",
    "violated": "#b3231b",
    "unknown": "#57606a",
}
LABEL = "fencepost"
_CHARACTER = 6.4  # the mean width of a letter in 11 px Verdana
_MARGIN = 12


def endpoint_json(message: str, tone: str) -> str:
    """The answer of an endpoint.  Source: shields.io, "Endpoint Badge"."""
    document = {
        "schemaVersion": 1,
        "label": LABEL,
        "message": message,
        "color": _COLOURS[tone].removeprefix("#"),
        "isError": tone == "violated",
    }
    return json.dumps(document, indent=1) + "\n"


def svg(message: str, tone: str) -> str:
    """A flat badge, 20 px high, that loads nothing; its title says what it says."""
    left, right = _width(LABEL), _width(message)
    width, title = left + right, escape(f"{LABEL}: {message}")
    texts = "".join(
        f'<text x="{middle / 2:g}" y="14" textLength="{wide - _MARGIN}">{escape(said)}</text>'
        for said, middle, wide in ((LABEL, left, left), (message, 2 * left + right, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#3d4147"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[tone]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11">{texts}</g></svg>\n'
    )


def _width(text: str) -> int:
    """Pixels for a text with its margins."""
    return round(len(text) * _CHARACTER) + _MARGIN
