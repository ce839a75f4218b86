"""Write a certificate as JUnit XML, for tools that know nothing of Kafka.

A violation is a failure, an undecided case is an error, and a case that is known, unsupported or
skipped is skipped, with the reason.  What is wrong or undecided below the level that decides the
verdict is skipped, too, with what was seen, so that failures and errors are there exactly if the
exit code says so.  A test suite is an area of the protocol at one level, such as `JOIN MUST`.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.table.table import LEVELS
from fencepost.properties.judging.explain import explained
from fencepost.properties.judging.known_failures import stale_note
from fencepost.properties.judging.outcome import NOT_LISTED, CaseResult, CheckResult, Outcome
from fencepost.properties.judging.report import Certificate, Report
from fencepost.properties.requirements.requirement import AREAS
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.report.client_certificate import ClientCertificate, ClientResult

_LONG = (*NOT_LISTED, Outcome.UNKNOWN)
"""Outcomes whose case has a text behind its message."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """A case as JUnit shows it.

    `suite`: its suite's name; `group`: of its class; `text`: behind the message, where it failed or
    is undecided; `seconds` None: nothing says how long it took; `aside`: why what it found doesn't
    count at the level that was asked for, "" if it counts.
    """

    suite: str
    group: str
    name: str
    outcome: Outcome
    message: str
    text: str = ""
    seconds: float | None = None
    aside: str = ""

    @property
    def tag(self) -> str:
        """The element of its outcome; "" for one that passed."""
        match self.outcome:
            case Outcome.PASS:
                return ""
            case Outcome.FAIL | Outcome.STALE_KNOWN_FAILURE if not self.aside:
                return "failure"
            case Outcome.UNKNOWN if not self.aside:
                return "error"
            case _:
                return "skipped"


def junit_xml(report: Certificate | ClientCertificate) -> str:
    """Write the document.  With a virtual clock it holds no times, nor has that of a client."""
    if isinstance(report, ClientCertificate):
        cases = [_client_case(report, result) for result in report.by_obligation()]
        cases.sort(key=lambda case: _client_order(case.suite))
        return junit_document(report.summary(), cases, None)
    revision = revisions.find(report.revision)
    real = report.clock == "real"
    results = sorted(report.results, key=lambda r: (area(r.case.id), LEVELS.index(r.level)))
    cases = [_case(report, result, revision, real=real) for result in results]
    return junit_document(report.summary(), cases, report.seconds if real else None)


def junit_document(name: str, cases: Sequence[JUnitCase], seconds: float | None) -> str:
    """Make the document of these cases, in suites in their order.

    `name`: the verdict on one line; `seconds`: of the whole.
    """
    root = ET.Element("testsuites", name=_clean(name))
    _count(root, cases)
    if seconds is not None:
        root.set("time", f"{seconds:.3f}")
    for title in dict.fromkeys(case.suite for case in cases):
        own = [case for case in cases if case.suite == title]
        suite = ET.SubElement(root, "testsuite", name=_clean(title))
        _count(suite, own)
        if seconds is not None:
            suite.set("time", f"{sum(case.seconds or 0.0 for case in own):.3f}")
        for case in own:
            _add(suite, case)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def area(case_id: str) -> str:
    """Return the area of the protocol that a case is about: the first word of its first rule."""
    return case_id.partition("/")[0].partition("-")[0]


def _count(element: ET.Element, cases: Sequence[JUnitCase]) -> None:
    tags = [case.tag for case in cases]
    element.set("tests", str(len(tags)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(tags.count(tag)))


def _case(
    certificate: Certificate, result: CaseResult, revision: Revision, *, real: bool
) -> JUnitCase:
    message, text = _message(result), ""
    if result.outcome in _LONG:
        explanation = explained(result, revision)
        steps = explanation.steps if explanation is not None else ()
        text = "\n".join([result.case.about, "", message, "", *steps]).strip("\n")
    of = area(result.case.id)
    return JUnitCase(
        suite=f"{of} {result.level.value}",
        group=of,
        name=result.case.id,
        outcome=result.outcome,
        message=message,
        text=text,
        seconds=result.seconds if real else None,
        aside=_aside(certificate, result),
    )


def _client_case(report: ClientCertificate, result: ClientResult) -> JUnitCase:
    of, message = REQUIREMENTS[result.obligation].area, _message(result)
    return JUnitCase(
        suite=f"{of} {result.level.value}",
        group=f"clients.{of}",
        name=result.case.id,
        outcome=result.outcome,
        message=message,
        text=_client_text(result) if result.outcome in _LONG else "",
        aside=_aside(report, result),
    )


def _client_text(result: ClientResult) -> str:
    """Return the sentence, what was seen, and what drivers wrote to stderr."""
    parts = [result.case.about, _message(result)]
    for process, lines in result.stderr.items():
        parts.append("\n".join([f"stderr of {process}:", *lines]))
    return "\n\n".join(parts)


def _client_order(suite: str) -> tuple[int, int]:
    of, _, level = suite.partition(" ")
    return list(AREAS).index(of), [level.value for level in LEVELS].index(level)


def _message(result: CheckResult) -> str:
    if result.outcome is Outcome.KNOWN_FAILURE:
        return "; ".join([*result.all_notes[-1:], result.observed])
    return "\n".join([result.message, *([stale_note(result.stale)] if result.stale else [])])


def _aside(report: Report[Any], result: CheckResult) -> str:
    """Say why a failure doesn't count at the report's level; "" if it counts."""
    if report.deciding(result) or result.outcome not in _LONG:
        return ""
    level = report.level.value
    outcome = f"{result.outcome.value} at {result.level.value}"
    return f"{outcome}, not counted at --level {level.lower()}"


def _add(suite: ET.Element, case: JUnitCase) -> None:
    name = _clean(case.name)
    element = ET.SubElement(suite, "testcase", classname=f"fencepost.{case.group}", name=name)
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    if not case.tag:
        return
    message = f"{case.aside}: {case.message}" if case.aside else case.message
    inner = ET.SubElement(element, case.tag, message=_clean(message))
    if case.tag != "skipped":
        inner.set("type", case.outcome.value)
    if case.text:
        inner.text = _clean(case.text)


def _clean(text: str) -> str:
    """Return the text with what XML 1.0 can't hold as escapes."""
    return _NOT_XML.sub(lambda match: f"\\x{ord(match.group()):02x}", text)
