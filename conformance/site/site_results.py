"""Read certificates for the results site, in the order of its pages, and name causes.

Versions of one implementation that follow each other are a line: in it a bug comes and goes.
Kafka's two coordinators are two lines, and so is a cluster.

One cause has one name in all results of a family: the reason in a list of known failures, wherever
the same rule is broken by an answer of the same kind, also in a version without a list.  Where no
list has it, the rule and the answer are the name: not the sentence, which has the numbers of its
steps.

Certificates of client libraries make a matrix, and a page each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.conformance.clients.driver_programs import LIBRARIES
from fencepost.conformance.targets.brokers.kafka_version import (
    KafkaVersionError,
    parse_kafka_version,
)
from fencepost.model.history.words import plural
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.properties.judging.known_failures import UNEXPLAINED
from fencepost.properties.requirements.requirement import AREAS, Requirement
from fencepost.properties.requirements.requirements import in_area
from fencepost.traces.files.bounded import read_json
from fencepost.traces.files.text_files import file_inside
from fencepost.traces.report.certificate_data import (
    FAILED,
    OUTCOMES,
    CaseRow,
    CertificateFileError,
    CertificateView,
    Key,
    cause_key,
    cause_words,
    read_certificate,
    read_certificate_file,
)
from fencepost.traces.report.client_certificate import checked, is_client_certificate
from fencepost.traces.report.report_writer import ClientPage

_FILE = "certificate.json"
_KAFKA = "kafka:"


@dataclass(frozen=True, slots=True)
class Result:
    """A certificate in the site.

    `name`: the target, as `certify` takes it, and its version where others have the same target.
    `slug`: its name in addresses.  `family`: the implementation.  `line`: the versions of its line,
    and `label` its name there.  `folder`: the place of its traces.
    """

    name: str
    slug: str
    family: str
    line: str
    label: str
    view: CertificateView
    revision: Revision
    document: Mapping[str, Any]
    folder: Path
    cases: Mapping[str, CaseRow] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cases", {case.id: case for case in self.view.cases})

    @property
    def protocol(self) -> str:
        """The name of the protocol of its cases."""
        return self.revision.protocol.name

    def counts(self) -> Counter[str]:
        """Return the number of cases by outcome."""
        return Counter(case.outcome for case in self.view.cases)

    def tone(self) -> str:
        """Return its tone at a glance: `holds`, `known-failure`, `unknown` or `violated`.

        It only holds if none of its known failures breaks a MUST.
        """
        return "known-failure" if self.view.tone == "excused" else self.view.tone

    def summary(self) -> str:
        """Return a summary, e.g. `passes 278 of 299; 18 known failures`."""
        counts = self.counts()
        parts_ = [
            plural(counts[outcome], word)
            for outcome, word in (
                ("fail", "failure"),
                ("known-failure", "known failure"),
                ("stale-known-failure", "stale known failure"),
            )
            if counts[outcome]
        ]
        parts_ += [f"{counts['unknown']} unknown"] if counts["unknown"] else []
        return "; ".join([f"passes {counts['pass']} of {counts.total()}", *parts_])

    def badge(self) -> tuple[str, str]:
        """Return a badge's text, e.g. `holds; passes 65 of 377; 312 unsupported`, and its tone.

        The tone is `partly` where it holds, but some cases were not tested.
        """
        counts, tone = self.counts(), self.tone()
        verdict = [] if tone == "known-failure" else [self.view.verdict]
        rest = [f"{counts[word]} {word}" for word in ("unsupported", "skipped") if counts[word]]
        if not_selected := self.document.get("not_selected", 0):
            rest.append(f"{plural(not_selected, 'case')} not selected")
        text = "; ".join([*verdict, self.summary(), *rest])
        return text, "partly" if tone == "holds" and rest else tone


def read_results(paths: Sequence[Path]) -> list[Result]:
    """Read certificates: files, folders of `certify --report`, or folders of certificates.

    A target has one for each protocol and version.  Raises CertificateFileError.
    """
    held = [(path, read_certificate_file(path)) for path in files_of(paths)]
    revisions = [find_revision(document["revision"]) for _, document in held]
    whose = [(r.protocol.name, d["target"]) for r, (_, d) in zip(revisions, held, strict=True)]
    results = [
        _result(path, document, revision, shared=whose.count(of) > 1)
        for (path, document), revision, of in zip(held, revisions, whose, strict=True)
    ]
    places: dict[tuple[str, str], Path] = {}
    for (path, _), result in zip(held, results, strict=True):
        place = result.protocol, result.slug
        if place in places:
            raise CertificateFileError(
                f"{path}: {places[place]} is a certificate of {result.view.target} "
                f"{result.view.made}, too; give one of them"
            )
        places[place] = path
    return sorted(results, key=_order)


def files_of(paths: Iterable[Path]) -> Iterable[Path]:
    """Yield the certificates: files, those in folders of reports, or in folders.

    Raises CertificateFileError.
    """
    for path in paths:
        if not path.is_dir():
            yield path
        elif (path / _FILE).is_file():
            yield path / _FILE
        elif inner := sorted(path.glob("*.json")):
            yield from inner
        else:
            raise CertificateFileError(
                f"{path}: holds no {_FILE} and no other JSON file; name a folder of "
                "`fencepost certify --report`, or of certificates"
            )


def _result(path: Path, document: Mapping[str, Any], revision: Revision, *, shared: bool) -> Result:
    """Read a result.  `shared`: other certificates are of the same target, in another version."""
    target, version = document["target"], document["version"]
    family, line, label = _place(document)
    name = f"{target} {version}" if shared else target
    return Result(
        name=name,
        slug=slug(name),
        family=family,
        line=line,
        label=label,
        view=read_certificate(document, revision),
        revision=revision,
        document=document,
        folder=path.parent,
    )


def _place(document: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the family of a certificate, its line, and its name there."""
    target, made = document["target"], document["implementation"] or document["target"]
    if target.startswith(_KAFKA):
        try:
            kafka = parse_kafka_version(target.removeprefix(_KAFKA))
        except KafkaVersionError:  # a later release than this fencepost knows
            return made, made, target
        coordinator = "new" if kafka.has_new_coordinator else "old"
        nodes = f", {kafka.nodes} nodes" if kafka.nodes > 1 else ""
        return made, f"{coordinator} coordinator{nodes}", kafka.release
    return made, made, document["version"] or target


def slug(text: str) -> str:
    """Return a name for addresses and files, such as `kafka-4.3.0` of `kafka:4.3.0`."""
    return re.sub(r"[^A-Za-z0-9.+_-]+", "-", text.replace("*", "x")).strip("-.")[:200]


def _order(result: Result) -> tuple[Any, ...]:
    """Return a sort key: Kafka by coordinator, nodes and version.

    The others by name and version.
    """
    numbers = [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.split(r"(\d+)", result.label)
    ]
    alone = "nodes" not in result.line
    is_old = result.line.startswith("old")
    is_kafka = result.view.target.startswith(_KAFKA)
    return not is_kafka, result.family, not alone, not is_old, result.line, numbers, result.slug


class Reasons:
    """The names of the causes in results of one family."""

    def __init__(self, results: Sequence[Result]) -> None:
        listed = [
            (case, why)
            for result in results
            for case in result.view.cases
            if (why := _listed(case)) is not None
        ]
        self._of_case = {(case.id, cause_key(case)): why for case, why in listed}
        named: dict[Key, set[str]] = {}
        for case, why in listed:
            named.setdefault(cause_key(case), set()).add(why)
        self._of_cause = {key: min(reasons) for key, reasons in named.items() if len(reasons) == 1}

    def of(self, case: CaseRow) -> str:
        """Return the reason why a case did not pass, with its address in a list."""
        if case.outcome not in FAILED or case.outcome == "stale-known-failure":
            return case.reason()
        key = cause_key(case)
        own = _listed(case) or self._of_case.get((case.id, key)) or self._of_cause.get(key)
        return own or cause_words(case)

    def groups(self, cases: Iterable[CaseRow]) -> list[tuple[str, str, list[CaseRow]]]:
        """Group the cases that did not pass by outcome and reason: those with most cases first."""
        groups: dict[tuple[str, str], list[CaseRow]] = {}
        for case in cases:
            if case.outcome != "pass":
                groups.setdefault((case.outcome, self.of(case)), []).append(case)
        order = sorted(groups.items(), key=lambda f: (OUTCOMES.index(f[0][0]), -len(f[1]), f[0][1]))
        return [(outcome, reason, inner) for (outcome, reason), inner in order]


def _listed(case: CaseRow) -> str | None:
    """Return the reason in a list; None where no list has it, or it is not written yet."""
    if case.outcome != "known-failure":
        return None
    why = case.reason()
    return None if why.startswith(UNEXPLAINED) else why


PAGE = "clients.html"


@dataclass(frozen=True, slots=True)
class ClientResult:
    """A client's certificate in the site; `folder`: the place of its traces."""

    document: Mapping[str, Any]
    folder: Path

    @property
    def name(self) -> str:
        """The client, as `certify-client` takes it."""
        return str(self.document["target"])

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"clients/{slug(self.name)}.html"

    def cases_of(self, obligation: Requirement) -> list[Mapping[str, Any]]:
        """Return the meaningful cases of an obligation: not those that it can't take part in."""
        own = [case for case in self.document["cases"] if case["rule"] == obligation.id]
        meaningful = [case for case in own if case["outcome"] != "unsupported"]
        return meaningful or own[:1]

    def html(self) -> str:
        """Return its page, with the traces that lie beside it."""
        names = [case["trace"] for case in self.document["cases"] if case["trace"] is not None]
        files = {name: file_inside(self.folder, name) for name in names}
        traces = {name: read_json(path) for name, path in files.items() if path is not None}
        return ClientPage(self.document, traces).html()


def part_clients(paths: Sequence[Path]) -> tuple[list[ClientResult], list[Path]]:
    """Separate the certificates of clients from the other files and folders of reports.

    Raises CertificateFileError, DocumentError.
    """
    clients: list[ClientResult] = []
    others: list[Path] = []
    for file in files_of(paths):
        document = read_json(file)
        if not is_client_certificate(document):
            others.append(file)
            continue
        client = ClientResult(checked(document, file), file.parent)
        if any(other.page == client.page for other in clients):
            raise CertificateFileError(
                f"{file}: there is another certificate of {client.name}; give one"
            )
        clients.append(client)
    return sorted(clients, key=_client_order), others


def _client_order(client: ClientResult) -> tuple[int, str]:
    kind = client.name.partition(":")[0]
    return list(LIBRARIES).index(kind) if kind in LIBRARIES else len(LIBRARIES), client.name


def parts(clients: Sequence[ClientResult]) -> Iterator[tuple[str, list[Requirement]]]:
    """Yield areas with their obligations, those that a certificate has."""
    judged = {case["rule"] for client in clients for case in client.document["cases"]}
    for area, title in AREAS.items():
        rows = [row for row in in_area(area) if row.id in judged]
        if rows:
            yield title, rows
