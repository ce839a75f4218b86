"""A hook of MkDocs: each cell of a wide table names its column; a phone shows rows as blocks."""

import re
from html import escape
from typing import Any

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_HEADING = re.compile(r"<th[^>]*>(.*?)</th>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_WIDE = 4
"""Columns; narrower tables fit as they are."""


def on_page_content(html: str, **_: Any) -> str:
    """Return the page with `data-column` at the cells of its wide tables."""
    return _TABLE.sub(lambda table: _named(table[0]), html)


def _named(table: str) -> str:
    names = [_TAG.sub("", heading).strip() for heading in _HEADING.findall(table)]
    if len(names) < _WIDE:
        return table
    return _ROW.sub(lambda row: _named_cells(row[0], names), table)


def _named_cells(row: str, names: list[str]) -> str:
    cells = iter(names)
    return re.sub("<td", lambda _: f'<td data-column="{escape(next(cells, ""))}"', row)
