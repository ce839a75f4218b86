"""Report to GitHub what certify and fuzz came to: annotations, a summary, outputs.

`action.yml` runs it with the exit codes and the folder of the reports in its environment.  An entry
of a list of known failures that is out of date is annotated in its line; a failure that no list has
is annotated where the list begins.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

VERDICTS = {0: "holds", 1: "violated", 2: "unknown"}
LEVELS = ("MAY", "SHOULD", "MUST")
MOST = 10
"""Annotations that GitHub shows of a step, of each kind."""


class Annotation(NamedTuple):
    """A message at a line of a file, or without a place."""

    kind: str
    title: str
    text: str
    file: str = ""
    line: int = 0

    def command(self) -> str:
        """Return it as a command of GitHub's log."""
        place = f"file={quoted(self.file)},line={self.line}," if self.file else ""
        return f"::{self.kind} {place}title={quoted(self.title)}::{escaped(self.text)}"


def escaped(text: str) -> str:
    """Return text that a command of the log may end with."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def quoted(text: str) -> str:
    """Return text that a property of a command may have."""
    return escaped(text).replace(":", "%3A").replace(",", "%2C")


def document(path: Path) -> dict[str, Any] | None:
    """Read a report, or return None where the command wrote none."""
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def places(lists: list[Path], case: str) -> Iterator[tuple[str, int]]:
    """Find the lines that name a case."""
    for path in lists:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if '"case"' in line and json.dumps(case) in line:
                yield str(path), number


def beginning(lists: list[Path]) -> tuple[str, int]:
    """Find the line where the entries of the first list begin."""
    for path in lists:
        lines = path.read_text("utf-8").splitlines()
        return str(path), next((n for n, line in enumerate(lines, 1) if '"entries"' in line), 1)
    return "", 0


def of_certificate(certificate: dict[str, Any], lists: list[Path]) -> Iterator[Annotation]:
    """Annotate cases that failed, or stayed unknown; those below the level are warnings."""
    lowest = LEVELS.index(certificate["level"])
    for case in certificate["cases"]:
        kind = "error" if LEVELS.index(case["level"]) >= lowest else "warning"
        text = f"{case['id']}: {case['message']}"
        match case["outcome"]:
            case "fail":
                yield Annotation(kind, f"{case['level']} violated", text, *beginning(lists))
            case "stale-known-failure":
                found = list(places(lists, case["id"])) or [("", 0)]
                for place in found:
                    yield Annotation(kind, "known failure out of date", text, *place)
            case "unknown":
                yield Annotation("warning", "unknown", text)


def of_fuzz(report: dict[str, Any]) -> Iterator[Annotation]:
    """Annotate findings."""
    for kind, name in (("error", "findings"), ("warning", "flaky"), ("warning", "unconfirmed")):
        for finding in report.get(name, ()):
            text = finding.get("message") or finding.get("shape") or str(finding)
            yield Annotation(kind, f"fuzz: {finding.get('rule', name)}", text)


def of_error(command: str, code: int) -> Annotation:
    """Annotate a command that could not run."""
    return Annotation("error", "fencepost", f"{command} ended with exit code {code}; see its log")


def worst(codes: list[int]) -> int:
    """Return the exit code that decides: an error, else 1 before 2 before 0."""
    return max(codes, key=lambda code: (code > max(VERDICTS), code == 1, code))


def summary(
    verdict: str, certificate: dict[str, Any] | None, notes: list[Annotation]
) -> Iterator[str]:
    """Write the summary of the job in Markdown: verdict, counts, what is wrong."""
    yield f"### fencepost: {verdict}\n"
    if certificate:
        yield f"{certificate['summary']}\n"
        counts = certificate["counts"]
        outcomes = [name for name in counts["MUST"] if any(row[name] for row in counts.values())]
        if outcomes:
            yield f"| level | {' | '.join(outcomes)} |"
            yield f"|---|{'---|' * len(outcomes)}"
            for level in reversed(LEVELS):
                yield f"| {level} | {' | '.join(str(counts[level][name]) for name in outcomes)} |"
            yield ""
    for note in notes:
        yield f"- **{note.title}**: {' '.join(note.text.split())}"


def main(variables: dict[str, str]) -> None:
    """Print annotations; write the summary and the outputs."""
    folder = Path(variables["REPORT"])
    lists = [Path(line) for line in variables["KNOWN_FAILURES"].splitlines() if line.strip()]
    lists = [path for path in lists if path.is_file()]
    codes = {
        name: int(variables[f"{name.upper()}_CODE"])
        for name in ("certify", "fuzz")
        if variables.get(f"{name.upper()}_CODE")
    }
    certificate = document(folder / "certificate" / "certificate.json")
    notes = list(of_certificate(certificate, lists)) if certificate else []
    for name in ("fuzz.json", "fuzz-client.json"):
        if report := document(folder / "fuzz" / name):
            notes += of_fuzz(report)
    notes += [of_error(name, code) for name, code in codes.items() if code not in VERDICTS]
    for kind in ("error", "warning"):
        for note in [note for note in notes if note.kind == kind][:MOST]:
            sys.stdout.write(f"{note.command()}\n")
    code = worst([*codes.values()])
    verdict = VERDICTS.get(code, "error")
    outputs = {
        "verdict": verdict,
        "exit-code": str(code),
        "report": str(folder),
        "junit": str(folder / "certificate" / "junit.xml"),
    }
    with Path(variables["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in outputs.items())
    with Path(variables["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in summary(verdict, certificate, notes))


if __name__ == "__main__":
    main(dict(os.environ))
