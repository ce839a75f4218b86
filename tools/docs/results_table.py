"""Write the results of README.md: the newest kept certificate of each implementation.

`python -m tools.docs.results_table`, in a checkout, writes them anew between their two marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.properties.judging.outcome import Outcome
from tools.docs import certificates_page, clients_page
from tools.docs.marked_part import with_part

FILE = "README.md"
_BEGIN = "<!-- results: made by `python -m tools.docs.results_table` -->"
_END = "<!-- end of results -->"
_FAILED = (Outcome.FAIL, Outcome.KNOWN_FAILURE, Outcome.STALE_KNOWN_FAILURE)


def with_results(text: str, docs: Path) -> str:
    """Put the table between their marks in a text.  Raises ValueError without the marks."""
    return with_part(text, _BEGIN, _END, table(docs), FILE)


def table(docs: Path) -> str:
    """Make a table of brokers and client libraries."""
    brokers = certificates_page.read_all(docs / "certificates")
    clients = clients_page.read_all(docs / clients_page.FOLDER)
    consumer = certificates_page.read_all(docs / "certificates" / CONSUMER.name)
    passes = {
        f"{kept['target']}": f"{_counts(kept)[0]} of {sum(_counts(kept))}" for kept in consumer
    }
    lines = [
        "| kind | target | passes | fails | unknown | passes, consumer protocol |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| broker {row} {passes.get(target, '')} |" for target, row in rows(brokers)]
    lines += [f"| client {row} |" for _, row in rows(clients)]
    return "\n".join(lines)


def rows(certificates: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return each implementation in its newest version with its cells, the best first."""
    newest: dict[str, Mapping[str, Any]] = {}
    for certificate in certificates:
        name = str(certificate["target"]).partition(":")[0]
        if name not in newest or _number(certificate) > _number(newest[name]):
            newest[name] = certificate
    ranked = sorted(map(_row, newest.values()), key=lambda row: (-row[0], row[2]))
    return [(target, cells) for _, target, cells in ranked]


def _number(certificate: Mapping[str, Any]) -> tuple[tuple[int, ...], bool]:
    """Return the version for comparisons; of one version, the target without a suffix is newer."""
    version = str(certificate["target"]).partition(":")[2]
    plain = version.partition("+")[0].partition("*")[0]
    return tuple(int(part) for part in plain.split(".") if part), plain == version


def _row(certificate: Mapping[str, Any]) -> tuple[float, str, str]:
    passed, failed, unknown = _counts(certificate)
    total = passed + failed + unknown
    target = f"{certificate['target']}"
    cells = (f"`{target}`", f"{passed} of {total}", f"{failed}", f"{unknown}")
    return passed / total, target, f"| {' | '.join(cells)} |"


def _counts(certificate: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the numbers of cases that pass, fail and are undecided."""
    counts = Counter(Outcome(case["outcome"]) for case in certificate["cases"].values())
    failed = sum(counts[outcome] for outcome in _FAILED)
    return counts[Outcome.PASS], failed, counts[Outcome.UNKNOWN]


def main(root: Path) -> None:
    """Write the results in the README of a checkout anew."""
    path = root / FILE
    path.write_text(with_results(path.read_text("utf-8"), root / "docs"), encoding="utf-8")


if __name__ == "__main__":
    main(Path())
