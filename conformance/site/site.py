"""Write the results site: certificates of many targets as pages that need no server and no script.

`index.html` is the heat map of areas and targets, `rules.html` that of rules; each target, each
rule, each two targets and each trace has a page; `history.html` follows causes of failures over
versions; `badges/` has an SVG and a shields.io endpoint for each target.  Each protocol has such
pages of its own, all but the first in a folder; each page has a switch between them.  The same
certificates give the same bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

from fencepost.conformance.cases.case_registry import AREAS, area
from fencepost.conformance.site.comparison import (
    Cause,
    Comparison,
    causes,
    compare,
    excused,
    split_reason,
)
from fencepost.conformance.site.site_results import (
    PAGE,
    ClientResult,
    Reasons,
    Result,
    part_clients,
    parts,
    read_results,
    slug,
)
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.history.words import plural
from fencepost.properties.judging.report import Overall
from fencepost.traces.files.text_files import write_texts
from fencepost.traces.report.certificate_data import FAILED, OUTCOMES, SIGNS, CaseRow
from fencepost.traces.report.report_writer import TemplatePage, trace_page_texts

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
    """Return the answer of an endpoint.  Source: shields.io, "Endpoint Badge"."""
    document = {
        "schemaVersion": 1,
        "label": LABEL,
        "message": message,
        "color": _COLOURS[tone].removeprefix("#"),
        "isError": tone == "violated",
    }
    return json.dumps(document, indent=1) + "\n"


def svg(message: str, tone: str) -> str:
    """Return a flat badge, 20 px high, that loads nothing; its title repeats its text."""
    left, right = _width(LABEL), _width(message)
    width, title = left + right, escape(f"{LABEL}: {message}")
    texts = "".join(
        f'<text x="{middle / 2:g}" y="14" textLength="{wide - _MARGIN}">{escape(text)}</text>'
        for text, middle, wide in ((LABEL, left, left), (message, 2 * left + right, right))
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
    """Return the pixels of a text with its margins."""
    return round(len(text) * _CHARACTER) + _MARGIN


OTHERS = "others"
"""The area of rules that fit none, such as those of another suite."""

_STEPS = (0.0, 0.1, 0.25, 0.5)
_WORST = ("fail", "stale-known-failure", "unknown", "known-failure", "pass")


@dataclass(frozen=True, slots=True)
class Cell:
    """Some cases of a target.

    `tone`: the worst outcome, `unsupported` where nothing could be tested.  `heat`: from 0, nothing
    fails, to 4, more than half does.  `counts`: in words.
    """

    tone: str
    heat: int
    passed: int
    decided: int
    counts: str


def cell(cases: Iterable[CaseRow]) -> Cell | None:
    """Sum up cases; None where there are none."""
    counts = Counter(case.outcome for case in cases)
    if not counts:
        return None
    failed = sum(counts[outcome] for outcome in FAILED)
    passed = counts["pass"]
    decided = passed + failed
    share = failed / decided if decided else 0.0
    return Cell(
        tone=next((outcome for outcome in _WORST if counts[outcome]), "unsupported"),
        heat=sum(share > step for step in _STEPS),
        passed=passed,
        decided=decided,
        counts=", ".join(_words(counts)),
    )


def _words(counts: Counter[str]) -> list[str]:
    """Return the counts in words, e.g. `44 pass`, `4 known failures`."""
    plain = {"pass": "pass", "unsupported": "not applicable"}
    return [
        f"{counts[outcome]} {plain[outcome]}"
        if outcome in plain
        else plural(counts[outcome], "failure")
        if outcome == "fail"
        else plural(counts[outcome], outcome.replace("-", " "))
        if outcome in FAILED
        else f"{counts[outcome]} {outcome}"
        for outcome in OUTCOMES
        if counts[outcome]
    ]


def area_of(rule: str) -> str:
    """Return the area of a rule."""
    try:
        return area(rule)
    except KeyError:
        return OTHERS


def by_area(results: Sequence[Result]) -> dict[str, list[str]]:
    """Return each area that has a case, with its rules: in the order of their names."""
    rules = sorted({case.rule for result in results for case in result.view.cases})
    areas: dict[str, list[str]] = {name: [] for name in (*AREAS, OTHERS)}
    for rule in rules:
        areas[area_of(rule)].append(rule)
    return {name: inner for name, inner in areas.items() if inner}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a heat map: its name, the name of its anchor, and a cell for each target."""

    name: str
    anchor: str
    cells: Sequence[Cell | None]


def rows(names: dict[str, list[str]], results: Sequence[Result]) -> list[Row]:
    """Return a row for each name, over the cases about its rules."""
    table = []
    for name, rules in names.items():
        about = frozenset(rules)
        cells = [cell(c for c in result.view.cases if c.rule in about) for result in results]
        table.append(Row(name, slug(name.lower()), cells))
    return table


INDEX = "index.html"
_SUBJECTS = {
    "classic": "the classic group protocol",
    "consumer": "the consumer group protocol",
    "mixed": "groups with members of both protocols",
    "streams": "streams groups",
}
EVERYWHERE = (INDEX, "rules.html", "history.html", "compare.html")
"""The pages that each protocol has."""
_COMMON = {"signs": SIGNS, "outcomes": OUTCOMES, "slug": slug, "split_reason": split_reason}


@dataclass(frozen=True, slots=True)
class Section:
    """The pages of one protocol.

    `protocol`: its name.  `folder`: of its pages, "" or with a slash at its end.  `sections`: each
    protocol of the site and its folder, in order.  `clients`: those with a page in the site.
    """

    protocol: str
    folder: str
    sections: Mapping[str, str]
    clients: Sequence[ClientResult]

    def page(self, kind: str, name: str, title: str, **values: Any) -> tuple[str, str]:
        """Return a page and its name in this section.  `kind`: which template."""
        top = "../" * (self.folder + name).count("/")
        there = name if name in EVERYWHERE else INDEX
        switch = [
            (protocol, f"{top}{folder}{there}", protocol == self.protocol)
            for protocol, folder in self.sections.items()
        ]
        shared = {
            "top": top,
            "subject": _SUBJECTS[self.protocol],
            "switch": switch,
            "clients": self.clients,
        }
        return _page(kind, name, title, **shared, **values)


def sections_of(
    results: Sequence[Result], clients: Sequence[ClientResult]
) -> list[tuple[Section, list[Result]]]:
    """Return the protocols of results, the classic one first, each with its results."""
    names = sorted({result.protocol for result in results}, key=lambda n: (n != CLASSIC.name, n))
    folders = {name: f"{name}/" if number else "" for number, name in enumerate(names)}
    return [
        (Section(name, folder, folders, clients), [r for r in results if r.protocol == name])
        for name, folder in folders.items()
    ]


def write_site(certificates: Sequence[Path], folder: Path) -> list[Result | ClientResult]:
    """Write the site of these certificates into a folder; return them as it shows them.

    Raises CertificateFileError, TraceFileError, ReportError.
    """
    clients, others = part_clients(certificates)
    results = read_results(others)
    write_texts(dict(pages(results, clients)), folder, "--report")
    return [*results, *clients]


def counted(results: Iterable[Result | ClientResult]) -> str:
    """Count results by verdict, e.g. `5 holds, 1 violated`."""
    counts = Counter(result.document["verdict"] for result in results)
    return ", ".join(f"{counts[each.value]} {each.value}" for each in Overall if counts[each.value])


def pages(
    results: Sequence[Result], clients: Sequence[ClientResult] = ()
) -> Iterator[tuple[str, str]]:
    """Make the files of the site: each with its name, relative to the folder."""
    if clients:
        values = {"clients": clients, "parts": list(parts(clients))}
        names = (PAGE,) if results else (INDEX, PAGE)
        yield from (_page("clients", name, "Client libraries", **values) for name in names)
        yield from ((client.page, client.html()) for client in clients)
    for section, inner in sections_of(results, clients):
        for name, text in _coordinators(section, inner):
            yield section.folder + name, text


def _coordinators(section: Section, results: Sequence[Result]) -> Iterator[tuple[str, str]]:
    """Make the pages about the coordinators of a protocol."""
    traces = dict(_traces(results))
    links = {result.slug: _links(result, traces) for result in results}
    columns = {"results": results, "heads": _heads(results)}
    areas = by_area(results)
    compared = {(a.slug, b.slug): compare(a, b) for a, b in combinations(results, 2)}
    rules = {rule: about for about, inner in areas.items() for rule in inner}
    cases = len({case for result in results for case in result.cases})
    heat = rows(areas, results)
    values = {"heat": heat, "cases": cases, "verdicts": counted(results)}
    yield section.page("index", INDEX, "Results", **columns, **values)
    tables = {
        name: rows({rule: [rule] for rule in inner}, results) for name, inner in areas.items()
    }
    yield section.page("rules", "rules.html", "Rules and targets", **columns, parts=tables)
    families = [_family(name, list(f)) for name, f in groupby(results, key=lambda r: r.family)]
    yield section.page("history", "history.html", "Causes over versions", families=families)
    yield section.page("pairs", "compare.html", "Compare two targets", **columns, compared=compared)
    for result in results:
        yield from _of_target(section, result, results, links[result.slug])
    for rule, about in rules.items():
        yield _of_rule(section, rule, about, columns, links)
    for pair in compared.values():
        yield _of_pair(section, pair)
    for result in results:
        name = f"badges/{result.slug}"
        message, tone = result.badge()
        yield f"{name}.svg", svg(message, tone)
        yield f"{name}.json", endpoint_json(message, tone)
    yield from traces.values()


def pair_name(first: Result, second: Result) -> str:
    """Return the address of the comparison of two results, the earlier one first."""
    return f"compare/{first.slug}--{second.slug}.html"


def _page(kind: str, name: str, title: str, **values: Any) -> tuple[str, str]:
    """Return a page and its name.  `kind`: which template."""
    common = {"root": "../" * name.count("/"), "here": name, "pair_name": pair_name, **_COMMON}
    return name, TemplatePage(f"site_{kind}.html", title, {**common, **values}).html()


def _heads(results: Sequence[Result]) -> list[tuple[str, int]]:
    """Return the headings over the columns: lines of versions, and how many targets each has.

    The family is named at its first line.
    """
    heads, named = [], ""
    for (family, line), inner in groupby(results, key=lambda result: (result.family, result.line)):
        head = line if family in {line, named} else f"{family}, {line}"
        heads.append((head, len(list(inner))))
        named = family
    return heads


def _family(name: str, results: Sequence[Result]) -> dict[str, Any]:
    """Collect the values for an implementation's page of causes."""
    causes_ = causes(results) if len(results) > 1 else []
    free = excused(results) if len(results) > 1 else []
    return {
        "name": name,
        "results": results,
        "heads": _heads(results),
        "causes": causes_,
        "excused": free,
    }


def _of_target(
    section: Section, result: Result, results: Sequence[Result], links: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    reasons = Reasons([other for other in results if other.family == result.family])
    areas = [
        {
            "name": name,
            "anchor": slug(name),
            "cell": cell(case for case in result.view.cases if case.rule in rules),
            "passed": [c for c in result.view.cases if c.rule in rules and c.outcome == "pass"],
            "reasons": reasons.groups(c for c in result.view.cases if c.rule in rules),
        }
        for name, rules in by_area([result]).items()
    ]
    others = [other for other in results if other is not result]
    pairs = [(o, pair_name(*sorted((result, o), key=results.index))) for o in others]
    name = f"targets/{result.slug}.html"
    values = {"result": result, "areas": areas, "pairs": pairs, "links": links}
    yield section.page("target", name, result.name, **values)


def _of_rule(
    section: Section,
    rule: str,
    about: str,
    columns: Mapping[str, Any],
    links: Mapping[str, Mapping[str, str]],
) -> tuple[str, str]:
    results: Sequence[Result] = columns["results"]
    named = {c.id for result in results for c in result.view.cases if c.rule == rule}
    revisions = [result.revision for result in reversed(results)]
    stated = next((pair for r in revisions for pair in r.rules() if pair[1].id == rule), None)
    families = groupby(results, key=lambda result: result.family)
    causes_by_family: list[tuple[str, list[Cause]]] = [
        (name, causes(list(inner), rule)) for name, inner in families
    ]
    return section.page(
        "rule",
        f"rules/{slug(rule)}.html",
        rule,
        **columns,
        rule=rule,
        about=about,
        stated=stated,
        cases=sorted(named),
        families=[(name, inner) for name, inner in causes_by_family if inner],
        links=links,
    )


def _of_pair(section: Section, pair: Comparison) -> tuple[str, str]:
    title = f"{pair.first.name} and {pair.second.name}"
    rules = {case: row.rule for r in (pair.first, pair.second) for case, row in r.cases.items()}
    return section.page("pair", pair_name(pair.first, pair.second), title, pair=pair, rules=rules)


def _traces(results: Sequence[Result]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield the pages of traces, by target and by the name that the certificate has for each."""
    for result in results:
        for name, text in trace_page_texts(result.document, result.folder).items():
            place = f"traces/{result.slug}/{slug(Path(name).stem)}.html"
            yield (result.slug, name), (place, text)


def _links(result: Result, traces: Mapping[tuple[str, str], tuple[str, str]]) -> dict[str, str]:
    """Return the page of the trace of each case that has one, relative to the site."""
    return {
        case.id: traces[result.slug, case.trace][0]
        for case in result.view.cases
        if case.trace is not None and (result.slug, case.trace) in traces
    }
