"""Render data to one HTML file that loads nothing.

The content security policy allows only the one style and the one script in the file, by their
hashes, and no request at all.  The same data is always the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

_ASSETS = files(__package__ or "") / "assets"
STYLES = ("base.css", "viewer.css", "lanes.css", "certificate.css", "audit.css", "nightly.css")
SCRIPTS = (
    "dom.js",
    "trace.js",
    "geometry.js",
    "lanes.js",
    "marks.js",
    "list.js",
    "rules.js",
    "detail.js",
    "forms.js",
    "viewer.js",
    "certificate.js",
    "times.js",
    "theme.js",
    "main.js",
)
SITE_STYLES = ("base.css", "certificate.css", "site.css")
SITE_SCRIPTS = ("site.js", "theme.js")


@dataclass(slots=True)
class Pool:
    """Things that occur often on a page, each stored once."""

    items: list[Any] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def place(self, item: Any) -> int:
        """Return the index of an item, which is added if it is new."""
        key = json.dumps(item, ensure_ascii=False)
        if key not in self._places:
            self._places[key] = len(self.items)
            self.items.append(item)
        return self._places[key]


_NAMED = re.compile(r"https://[^\s()]*[^\s().,;:]|\bKAFKA-\d+\b|\bKIP-345\b")
_ISSUE = "https://issues.apache.org/jira/browse/"
_ADDRESS = {
    "KIP-345": "https://cwiki.apache.org/confluence/display/KAFKA/KIP-345%3A+Introduce"
    "+static+membership+protocol+to+reduce+consumer+rebalances"
}


def page(template: str, title: str, data: Mapping[str, Any], **values: Any) -> str:
    """Render a page.  `data`: for the script; `values`: text for the template.

    Each of the data's traces is a script element of its own, so that it is read when it is opened.
    """
    traces = data.get("traces", ())
    data = {**data, "traces": [{"key": trace["key"]} for trace in traces]}
    embedded = {
        "data": Markup(_embedded(data)),  # noqa: S704  (no < is left in it)
        "trace_data": [Markup(_embedded(trace)) for trace in traces],  # noqa: S704
    }
    return _rendered(template, title, STYLES, SCRIPTS, **embedded, **values)


def site_page(template: str, title: str, **values: Any) -> str:
    """Render a page of a site: without a viewer of traces, with links to its neighbours."""
    return _rendered(template, title, SITE_STYLES, SITE_SCRIPTS, **values)


def plain_page(template: str, title: str, style: str, **values: Any) -> str:
    """Render a page that stands alone, without a viewer of traces.  `style`: its own."""
    return _rendered(
        template, title, ("base.css", "certificate.css", style), ("theme.js",), **values
    )


def explorer_page(title: str, data: Mapping[str, Any], **values: Any) -> str:
    """Render the page of an exploration.  `data`: for the script; `values`: for the template."""
    embedded = Markup(_embedded(data))  # noqa: S704  (no < is left in it)
    styles = ("base.css", "viewer.css", "explorer.css")
    scripts = ("dom.js", "explorer.js", "theme.js")
    return _rendered("explorer.html", title, styles, scripts, data=embedded, **values)


def _rendered(
    template: str, title: str, styles: tuple[str, ...], scripts: tuple[str, ...], **values: Any
) -> str:
    style, script = _joined(styles), _script(scripts)
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    text = (
        _templates()
        .get_template(template)
        .render(
            title=title,
            policy=policy,
            style=Markup(style),  # noqa: S704  (our own file)
            script=Markup(script),  # noqa: S704
            **values,
        )
    )
    return text.rstrip("\n") + "\n"


def linked(text: str) -> Markup:
    """Return text in which KIP-345, issues of Kafka and addresses are links."""
    parts = []
    end = 0
    for match in _NAMED.finditer(text):
        text_ = match[0]
        where = text_ if text_.startswith("https:") else _ADDRESS.get(text_, _ISSUE + text_)
        parts += [escape(text[end : match.start()])]
        parts += [Markup('<a href="{}" rel="noreferrer">{}</a>').format(where, text_)]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def _embedded(data: Mapping[str, Any]) -> str:
    """Return JSON that can't end an HTML element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _joined(names: tuple[str, ...]) -> str:
    return "\n" + "\n".join((_ASSETS / name).read_text("utf-8") for name in names)


@cache
def _script(names: tuple[str, ...]) -> str:
    return f'\n(() => {{\n"use strict";{_joined(names)}}})();\n'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("fencepost.traces.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["linked"] = linked
    return environment
