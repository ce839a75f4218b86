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

from fencepost.conformance.certify.known_failures import STALE
from fencepost.conformance.certify.summary import FAILED, subject
from fencepost.conformance.execution.explain import explained
from fencepost.conformance.execution.outcome import CaseResult, Certificate, Outcome
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS
from fencepost.properties.mutants import catalogue

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(certificate: Certificate) -> str:
    """The document.  With a virtual clock it holds no times."""
    revision = catalogue.find_revision(certificate.revision)
    suites: dict[tuple[str, int], list[CaseResult]] = {}
    for result in certificate.results:
        key = area(result.case.id), LEVELS.index(result.level)
        suites.setdefault(key, []).append(result)
    root = ET.Element("testsuites", name=_clean(subject(certificate)))
    _count(root, certificate, certificate.results)
    real = certificate.clock == "real"
    if real:
        root.set("time", f"{certificate.seconds:.3f}")
    for (name, level), results in sorted(suites.items()):
        suite = ET.SubElement(root, "testsuite", name=f"{name} {LEVELS[level].value}")
        _count(suite, certificate, results)
        if real:
            suite.set("time", f"{sum(r.seconds for r in results):.3f}")
        for result in results:
            _case(suite, certificate, result, revision)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def area(case_id: str) -> str:
    """The area of the protocol that a case is about: the first word of its first rule."""
    return case_id.partition("/")[0].partition("-")[0]


def _tag(certificate: Certificate, result: CaseResult) -> str:
    """The element of a case; "" for one that passed."""
    match result.outcome:
        case Outcome.PASS:
            return ""
        case _ if not certificate.deciding(result):
            return "skipped"
        case Outcome.FAIL | Outcome.STALE_KNOWN_FAILURE:
            return "failure"
        case Outcome.UNKNOWN:
            return "error"
        case _:
            return "skipped"


def _count(element: ET.Element, certificate: Certificate, results: Sequence[CaseResult]) -> None:
    tags = [_tag(certificate, result) for result in results]
    element.set("tests", str(len(tags)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(tags.count(tag)))


def _case(
    suite: ET.Element, certificate: Certificate, result: CaseResult, revision: Revision
) -> None:
    name = _clean(result.case.id)
    case = ET.SubElement(suite, "testcase", classname=f"fencepost.{area(name)}", name=name)
    if certificate.clock == "real":
        case.set("time", f"{result.seconds:.3f}")
    outcome, message, tag = result.outcome, result.message, _tag(certificate, result)
    if not tag:
        return
    if outcome is Outcome.KNOWN_FAILURE:
        message = "; ".join([*result.notes[-1:], result.observed])
    message = "\n".join([message, *(n for n in result.notes if n.startswith(STALE))])
    is_told = outcome in FAILED or outcome is Outcome.UNKNOWN
    counted = message
    if is_told and tag == "skipped":
        level = certificate.level.value
        counted = f"{outcome.value} at {result.level.value}, not counted at --level {level.lower()}"
        counted += f": {message}"
    element = ET.SubElement(case, tag, message=_clean(counted))
    if tag != "skipped":
        element.set("type", outcome.value)
    if is_told:
        explanation = explained(result, revision)
        steps = explanation.steps if explanation is not None else ()
        element.text = _clean("\n".join([result.case.about, "", message, "", *steps]).strip("\n"))


def _clean(text: str) -> str:
    """The text with what XML 1.0 can't hold written as an escape."""
    return _NOT_XML.sub(lambda found: f"\\x{ord(found.group()):02x}", text)
