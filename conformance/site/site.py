"""Write the results site: certificates of many targets as pages that need no server and no script.

`index.html` is the heat map of areas and targets, `rules.html` that of rules; each target, each
rule, each two targets and each trace has a page; `history.html` follows causes of failures over
versions; `badges/` has an SVG and a shields.io endpoint for each target.  The same certificates
give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

from fencepost.conformance.site.badges import endpoint_json, svg
from fencepost.conformance.site.cause_history import Cause, causes, excused, split_reason
from fencepost.conformance.site.client_results import PAGE, ClientResult, part_clients, parts
from fencepost.conformance.site.comparison import Comparison, compare
from fencepost.conformance.site.heat import by_area, cell, rows
from fencepost.conformance.site.reasons import Reasons
from fencepost.conformance.site.site_results import Result, read_results, slug
from fencepost.traces.pages.html import site_page
from fencepost.traces.pages.trace_page import trace_page
from fencepost.traces.report.certificate_data import OUTCOMES, SIGNS
from fencepost.traces.report.report_folder import certificate_from_folder, write_texts

INDEX = "index.html"
_COMMON = {"signs": SIGNS, "outcomes": OUTCOMES, "slug": slug, "split_reason": split_reason}


def write_site(certificates: Sequence[Path], folder: Path) -> list[Result | ClientResult]:
    """Write the site of these certificates into a folder; return them as it shows them.

    Raises CertificateFileError, TraceFileError, ReportError.
    """
    clients, others = part_clients(certificates)
    results = read_results(others)
    write_texts(dict(pages(results, clients)), folder, "--report")
    return [*results, *clients]


def pages(
    results: Sequence[Result], clients: Sequence[ClientResult] = ()
) -> Iterator[tuple[str, str]]:
    """Make the files of the site: each with its name, relative to the folder."""
    if clients:
        shown = {"clients": clients, "parts": list(parts(clients))}
        names = (PAGE,) if results else (INDEX, PAGE)
        yield from (_page("clients", name, "Client libraries", **shown) for name in names)
        yield from ((one.page, one.html()) for one in clients)
    if results:
        yield from _coordinators(results, clients)


def _coordinators(
    results: Sequence[Result], clients: Sequence[ClientResult]
) -> Iterator[tuple[str, str]]:
    """Make the pages about coordinators."""
    traces = dict(_traces(results))
    links = {result.slug: _links(result, traces) for result in results}
    columns = {"results": results, "heads": _heads(results)}
    areas = by_area(results)
    compared = {(a.slug, b.slug): compare(a, b) for a, b in combinations(results, 2)}
    rules = {rule: about for about, inner in areas.items() for rule in inner}
    cases = len({case for result in results for case in result.cases})
    heat = rows(areas, results)
    yield _page("index", INDEX, "Results", **columns, heat=heat, cases=cases, clients=clients)
    tables = {
        name: rows({rule: [rule] for rule in inner}, results) for name, inner in areas.items()
    }
    yield _page("rules", "rules.html", "Rules and targets", **columns, parts=tables)
    families = [_family(name, list(f)) for name, f in groupby(results, key=lambda r: r.family)]
    yield _page("history", "history.html", "Causes over versions", families=families)
    yield _page("pairs", "compare.html", "Compare two targets", **columns, compared=compared)
    for result in results:
        yield from _of_target(result, results, links[result.slug])
    for rule, about in rules.items():
        yield _of_rule(rule, about, columns, links)
    for pair in compared.values():
        yield _of_pair(pair)
    for result in results:
        name = f"badges/{result.slug}"
        said, tone = result.badge()
        yield f"{name}.svg", svg(said, tone)
        yield f"{name}.json", endpoint_json(said, tone)
    yield from traces.values()


def pair_name(one: Result, other: Result) -> str:
    """The address of the comparison of two results, the earlier one first."""
    return f"compare/{one.slug}--{other.slug}.html"


def _page(kind: str, name: str, title: str, **values: Any) -> tuple[str, str]:
    """A page and its name.  `kind`: which template."""
    common = {"root": "../" * name.count("/"), "here": name, "pair_name": pair_name, **_COMMON}
    return name, site_page(f"site_{kind}.html", title, **common, **values)


def _heads(results: Sequence[Result]) -> list[tuple[str, int]]:
    """The headings over the columns: lines of versions, and how many targets each has.

    The family is named at its first line.
    """
    found, named = [], ""
    for (family, line), inner in groupby(results, key=lambda result: (result.family, result.line)):
        said = line if family in {line, named} else f"{family}, {line}"
        found.append((said, len(list(inner))))
        named = family
    return found


def _family(name: str, results: Sequence[Result]) -> dict[str, Any]:
    """What the page of causes shows of an implementation."""
    found = causes(results) if len(results) > 1 else []
    free = excused(results) if len(results) > 1 else []
    return {
        "name": name,
        "results": results,
        "heads": _heads(results),
        "causes": found,
        "excused": free,
    }


def _of_target(
    result: Result, results: Sequence[Result], links: Mapping[str, str]
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
    yield _page("target", name, result.name, result=result, areas=areas, pairs=pairs, links=links)


def _of_rule(
    rule: str,
    about: str,
    columns: Mapping[str, Any],
    links: Mapping[str, Mapping[str, str]],
) -> tuple[str, str]:
    results: Sequence[Result] = columns["results"]
    named = {c.id for result in results for c in result.view.cases if c.rule == rule}
    revisions = [result.revision for result in reversed(results)]
    told = next((pair for r in revisions for pair in r.rules() if pair[1].id == rule), None)
    families = groupby(results, key=lambda result: result.family)
    found: list[tuple[str, list[Cause]]] = [
        (name, causes(list(inner), rule)) for name, inner in families
    ]
    return _page(
        "rule",
        f"rules/{slug(rule)}.html",
        rule,
        **columns,
        rule=rule,
        about=about,
        told=told,
        cases=sorted(named),
        families=[(name, inner) for name, inner in found if inner],
        links=links,
    )


def _of_pair(pair: Comparison) -> tuple[str, str]:
    title = f"{pair.one.name} and {pair.other.name}"
    rules = {case: row.rule for r in (pair.one, pair.other) for case, row in r.cases.items()}
    return _page("pair", pair_name(pair.one, pair.other), title, pair=pair, rules=rules)


def _traces(results: Sequence[Result]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """The pages of traces, by target and by the name that the certificate has for each."""
    for result in results:
        for name, shown in certificate_from_folder(result.document, result.folder).items():
            place = f"traces/{result.slug}/{slug(Path(name).stem)}.html"
            yield (result.slug, name), (place, trace_page([shown]))


def _links(result: Result, traces: Mapping[tuple[str, str], tuple[str, str]]) -> dict[str, str]:
    """The page of the trace of each case that has one, relative to the site."""
    return {
        case.id: traces[result.slug, case.trace][0]
        for case in result.view.cases
        if case.trace is not None and (result.slug, case.trace) in traces
    }
