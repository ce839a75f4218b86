"""The words of the code: a docstring says what is done, and a name is a noun or a verb.

`ROOMS_DONE` only grows.  A room that joins it leaves the list of D401 in `pyproject.toml`.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.banned_words import NAMES, OPENERS, WHOLE_NAMES, wrong_phrases

ROOT = Path(__file__).resolve().parent.parent

# A folder with all below it, or a module; one a line, sorted.
ROOMS_DONE: tuple[str, ...] = (
    "benchmarks",
    "conformance/advise",
    "conformance/cases",
    "conformance/cli",
    "conformance/clients",
    "conformance/run",
    "conformance/runtime",
    "conformance/search",
    "conformance/serve",
    "conformance/simulate",
    "conformance/site",
    "conformance/targets",
    "conformance/wire",
    "model",
    "properties",
    "tools",
    "traces/audit",
    "traces/files",
    "traces/forms/__init__.py",
    "traces/forms/formats.py",
    "traces/forms/itf.py",
    "traces/forms/mermaid.py",
    "traces/forms/pytest_form.py",
    "traces/logs",
    "traces/operations",
    "traces/pages",
    "traces/pipeline",
    "traces/report",
)

PUBLISHED: dict[tuple[str, str], str] = {
    ("conformance/advise/advice_document.py", "given"): "a field of advice.json",
    (
        "conformance/search/programs/program_runs.py",
        "_FailureFoundError",
    ): "its text seeds a search",
    ("conformance/search/programs/program_runs.py", "doings"): "its text seeds a search",
    ("conformance/search/programs/pytest_support.py", "doings"): "an argument in users' tests",
    ("conformance/search/fuzz/earlier_run.py", "not_seen"): "a field of fuzz.json",
    ("conformance/search/fuzz/earlier_run.py", "seen"): "a field of fuzz.json",
    (
        "conformance/search/findings/tracked_bugs.py",
        "seen",
    ): "a field of fuzz.json and nightly.json",
    ("model/classic/vocabulary.py", "Given"): "a value of a column, as rules write it",
    ("model/classic/vocabulary.py", "GIVEN"): "a value of a column, as rules write it",
    ("model/table/shared_features.py", "GIVEN"): "a value of a column, as rules write it",
    ("traces/audit/audit_results.py", "found"): "a field of audit-1",
    ("traces/audit/server_log_audit.py", "not_shown"): "a field of server-log-audit-1",
    ("traces/operations/operator_rows.py", "told"): "a field of operator-report-1",
    ("traces/operations/operator_rows.py", "told_ms"): "a field of operator-report-1",
}
"""(file, name or docstring) → the reason why it stays: an id, a field or text that others read."""

_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def published_lines(tree: ast.Module, file: str) -> set[int]:
    """Return the lines of names and docstrings of cases: parts of their ids, and their sentences.

    Certificates, lists of known failures and pages have both.
    """
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and file.startswith("conformance/cases/")
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "case"
        for line in (node.lineno, node.body[0].lineno)
    }


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring, and of each string below an assignment."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for before, statement in (
            zip([None, *body], body, strict=False) if (isinstance(body, list)) else ()
        ):
            documented = isinstance(before, ast.Assign | ast.AnnAssign) or (
                before is None and isinstance(node, ast.Module | Definition)
            )
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))) if documented:
                    yield statement.lineno, text


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of each definition: classes, functions, parameters, variables, fields."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


def wrong_opener(text: str) -> str | None:
    """Return how a docstring opens and what to write instead, or None."""
    first = text.strip()
    for opener, better in OPENERS.items():
        if re.match(rf"{opener}\b", first, re.IGNORECASE):
            return f"docstring opens with {opener!r}: write {better}"
    return None


def wrong_name(name: str, file: str = "") -> str | None:
    """Return which word of a name is banned and what to write instead, or None."""
    bare = name.strip("_").lower()
    if (file, name) in PUBLISHED or "NOT_FOUND" in name:  # Kafka's errors bear that
        return None
    if bare in WHOLE_NAMES:
        return f"name {name!r}: write {WHOLE_NAMES[bare]}"
    for part in _PARTS.findall(name):
        if part.lower() in NAMES:
            return f"name {name!r} has {part.lower()!r}: write {NAMES[part.lower()]}"
    return None


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments, cheaply: a `#` in a string counts, too, and no idiom belongs there."""
    for number, line in enumerate(source.splitlines(), 1):
        _, mark, comment = line.partition("# ")
        if mark:
            yield number, comment


def wrong_words(source: str, file: str) -> list[str]:
    """List what is wrong with the words of a module, with file, line, and the better word."""
    tree = ast.parse(source)
    published = published_lines(tree, file)
    wrong = []
    for line, text in docstrings(tree):
        if line in published:
            continue
        if (file, text) not in PUBLISHED and (message := wrong_opener(text)):
            wrong.append((line, message))
        wrong += [(line, message) for message in wrong_phrases(text)]
    for line, text in comments(source):
        wrong += [(line, message) for message in wrong_phrases(text)]
    wrong += [
        (line, message)
        for line, name in names(tree)
        if line not in published and (message := wrong_name(name, file))
    ]
    return [f"{file}:{line}: {message}" for line, message in sorted(set(wrong))]


def modules(room: str) -> list[Path]:
    path = ROOT / room
    return [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS_DONE)
def test_a_room_that_is_done_stays_so(room: str) -> None:
    files = modules(room)
    assert files, f"{room}: no such room"
    wrong = [
        line
        for path in files
        for line in wrong_words(path.read_text("utf-8"), str(path.relative_to(ROOT)))
    ]
    assert wrong == [], "\n".join(wrong)


def test_the_rooms_are_in_order() -> None:
    assert list(ROOMS_DONE) == sorted(set(ROOMS_DONE))


def test_the_imperative_mood_is_checked_in_each_room_that_is_done() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lint = project["tool"]["ruff"]["lint"]
    assert "D401" in lint["extend-select"]
    ignored = {
        pattern.removesuffix("/**")
        for pattern, rules in lint["per-file-ignores"].items()
        if "D401" in rules
    }
    assert ignored & set(ROOMS_DONE) == set()


@pytest.mark.parametrize(
    ("source", "line", "word", "better"),
    [
        ('"""What a plan is made of."""', 1, "What", "noun"),
        ('def f():\n    """Whether it holds."""', 2, "Whether", "True if"),
        ('async def f():\n    """How many there are."""', 2, "How", "Count"),
        ('class A:\n    """Who may join."""', 2, "Who", "Members"),
        ('class A:\n    x: int\n    """When it was sent."""', 3, "When", "Time of"),
        ('LIMIT = 3\n"""So many are tried."""', 2, "so many", "this many"),
        ('LIMIT = 3\n"""Why it is so low."""', 2, "Why", "Reason"),
        ('def f():\n    """The same, for two."""', 2, "The same", "Like"),
        (
            'def f():\n    """Return it.\n\n    It hangs\n    on x.\n    """',
            2,
            "hangs on",
            "depends",
        ),
        ("x = 1  # put down to the network", 1, "put down to", "attributed"),
        ("def told(): ...", 1, "told", "message"),
        ("class ErrorTold: ...", 1, "told", "message"),
        ("def f(found): ...", 1, "found", "result"),
        ("_SHOWN = 3", 1, "shown", "text"),
        ("LAST_SEEN = 3", 1, "seen", "observed"),
        ("x = [one for one in y]", 1, "one", "noun"),
        ("self._asked = 3", 1, "asked", "request"),
        ("with x as given: ...", 1, "given", "inputs"),
        ("class A:\n    deeds: int", 2, "deeds", "actions"),
        ("match x:\n    case [*wanted]: ...", 2, "wanted", "expected"),
        ("match x:\n    case A() as said: ...", 2, "said", "message"),
        ("if (cast := 3): ...", 1, "cast", "processes"),
    ],
)
def test_a_banned_word_is_reported_with_its_place_and_a_better_one(
    source: str, line: int, word: str, better: str
) -> None:
    [message] = wrong_words(source, "model/a.py")
    assert message.startswith(f"model/a.py:{line}: ")
    assert repr(word) in message
    assert better in message.partition(": write ")[2]


@pytest.mark.parametrize(
    "source",
    [
        '"""Return what a plan is made of."""',
        'def f():\n    """Find members whose session is over."""',
        'x = {"what": """Who?"""}',
        'def f():\n    return """What is sent."""',
        'if x:\n    """What no docstring is."""',
        "GROUP_ID_NOT_FOUND = 69",
        "from typing import cast\nx = cast(int, 3)",
        "x = y.found",
        "def one_line(): ...",
        "mid_given = 3",
        "x = 'told'",
        "foundation = 3",
    ],
)
def test_other_words_are_fine(source: str) -> None:
    assert wrong_words(source, "model/a.py") == []


def test_the_name_and_the_docstring_of_a_case_are_published() -> None:
    case = '@case("JOIN")\ndef group_that_is_told(s):\n    """Who may join."""\n    told = 3'
    [message] = wrong_words(case, "conformance/cases/a.py")
    assert message.startswith("conformance/cases/a.py:4: name 'told'")
    assert len(wrong_words(case, "conformance/run/a.py")) == 3
    assert len(wrong_words(case.replace('@case("JOIN")', "@cache"), "conformance/cases/a.py")) == 3
