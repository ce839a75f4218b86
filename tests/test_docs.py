"""The documents tell the truth: commands and programs shown in them run, and print what is shown.

A line `$ command` in a fenced block ```console or ```sh is run by the shell, in a folder that holds
a copy of docs/ and examples/ and that the blocks of one document share, in their order.  What
follows it, up to the next command, is what it prints: a line `...` stands for any lines, and `...`
within a line for any text.  Nothing shown means that anything may be printed.  A command must
succeed, unless the next one is `$ echo $?` and shows another exit code.

Words behind the language mark the block: `needs=java` as in `@pytest.mark.needs("java")`, and
`stays` for commands that only end when ended, of which just the subcommand is checked.

A block ```python run is a program.  It is run in the same folder, must exit with 0, and prints what
a block ```text that follows it at once shows, with `...` as above.

A block of any language with `title="a/file"` shows the whole of that file.
"""

from __future__ import annotations

import configparser
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile, pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = Path(sys.executable).parent  # where `fencepost` is installed
SECONDS = 300
SLOW = frozenset(
    {
        "docs/brokers/certify.md",
        "docs/brokers/fuzz.md",
        "docs/brokers/traces.md",
        "docs/brokers/tutorial.md",
        "docs/clients/certify-client.md",
        "docs/clients/fuzz-client.md",
        "docs/contributors/mutants.md",
        "docs/contributors/speed.md",
        "docs/deployments/simulate.md",
        "docs/designers/experiments.md",
        "docs/designers/own-revision.md",
        "docs/designers/pr-23542.md",
        "docs/designers/proofs.md",
        "docs/designers/properties.md",
        "docs/operators/many-logs.md",
    }
)
"""Documents whose commands take long; the blocks of a document are run together."""
FolderOf = Callable[[str], Path]

# Not run, and why.  `make`, `tox` and `.ci/run` would run these tests again, so only the target is
# looked up; the rest changes the reader's machine, needs a network, or follows what does.
NOT_RUN = frozenset(
    {"make", "tox", ".ci/run", "pip", "pipx", "uv", "python3", "git", "cd", "pre-commit", "docker"}
)
JOINTS = frozenset({"&&", "||", "|", ";", "&"})


@dataclass(frozen=True, slots=True)
class Command:
    """A command and, unless nothing is shown, the lines that it prints."""

    line: int
    text: str
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """The commands of one fenced block, and the words behind its language."""

    document: str
    words: frozenset[str]
    commands: tuple[Command, ...]

    @property
    def needs(self) -> list[str]:
        return [word.removeprefix("needs=") for word in self.words if word.startswith("needs=")]


def commands(lines: list[str], start: int) -> tuple[Command, ...]:
    """The commands among the lines of a block whose first line has the number `start`."""
    found: list[Command] = []
    number = 0
    while number < len(lines):
        first = number
        text = lines[number]
        number += 1
        if not text.startswith("$ "):
            continue
        while text.endswith("\\") and number < len(lines):
            text = text[:-1] + lines[number].removeprefix("> ").lstrip()
            number += 1
        after = number
        while number < len(lines) and not lines[number].startswith("$ "):
            number += 1
        shown = "\n".join(lines[after:number]).strip("\n")
        found.append(Command(start + first, text[2:], tuple(shown.splitlines())))
    return tuple(found)


def blocks(text: str, document: str) -> list[Block]:
    """The blocks of a Markdown text that show commands."""
    found = []
    for fence in re.finditer(
        r"^(?P<indent> *)```(?:console|sh)\b(?P<words>[^\n`]*)\n(?P<body>.*?)^ *```",
        text,
        re.MULTILINE | re.DOTALL,
    ):
        body = [line.removeprefix(fence["indent"]) for line in fence["body"].splitlines()]
        shown = commands(body, text.count("\n", 0, fence.start("body")) + 1)
        if shown:
            found.append(Block(document, frozenset(fence["words"].split()), shown))
    return found


@dataclass(frozen=True, slots=True)
class Program:
    """A block of Python that is run, and the lines that it prints, unless nothing is shown."""

    document: str
    line: int
    text: str
    shown: tuple[str, ...]


def programs(text: str, document: str) -> list[Program]:
    """The blocks of a Markdown text that show a program to run."""
    fences = re.finditer(
        r"^```python run\n(?P<body>.*?)^```$(?:\n+```text\n(?P<shown>.*?)^```$)?",
        text,
        re.MULTILINE | re.DOTALL,
    )
    return [
        Program(
            document,
            text.count("\n", 0, fence.start("body")) + 1,
            fence["body"],
            tuple((fence["shown"] or "").splitlines()),
        )
        for fence in fences
    ]


def matches(shown: Iterable[str], printed: str) -> bool:
    pattern = "".join(
        "(?:.*\n)*"
        if line.strip() == "..."
        else re.escape(line.rstrip()).replace(r"\.\.\.", ".*") + " *\n"
        for line in shown
    )
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def program(text: str) -> list[str]:
    """The words of a command, from its program on: without the variables that are set for it."""
    words = shlex.split(text, comments=True)
    return list(dropwhile(lambda word: re.match(r"\w+=", word), words)) or [":"]


def unrunnable(words: list[str], root: Path) -> str | None:
    """What is wrong with a command that isn't run."""
    if JOINTS & set(words):
        return f"{words[0]} isn't run, and would hide the rest: show them as separate commands"
    return unknown_target(words, root)


def unknown_target(arguments: list[str], root: Path) -> str | None:
    """What `make` or `tox` is asked for and doesn't have."""
    match arguments:
        case ["make", *rest]:
            known = re.findall(r"^([a-z-]+):(?!=)", (root / "Makefile").read_text(), re.MULTILINE)
            asked = [word for word in rest if "=" not in word and not word.startswith("-")]
        case ["tox", *rest]:
            config = configparser.ConfigParser(interpolation=None)
            config.read(root / "tox.ini")
            known = re.split(r"[,\s]+", config["tox"]["env_list"])
            known += [name.partition(":")[2] for name in config.sections() if ":" in name]
            asked = [
                name
                for option, names in pairwise(rest)
                if option == "-e"
                for name in names.split(",")
            ]
        case _:
            return None
    missing = [word for word in asked if word not in known]
    return (
        f"{arguments[0]} has no {', '.join(missing)}; it has {', '.join(known)}"
        if missing
        else None
    )


def run(words: list[str], folder: Path) -> tuple[int, str]:
    """The exit code and the output of a command."""
    environment = os.environ | {
        "PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


def fault(block: Block, folder: Path, root: Path) -> str | None:
    """What the first command says or does that the document doesn't, or None."""
    code = 0
    for command, following in zip(block.commands, (*block.commands[1:], None), strict=True):
        where = f"{block.document}:{command.line}: $ {command.text}"
        words = program(command.text)
        if command.text == "echo $?":
            printed, code = f"{code}\n", 0
        elif words[0] in NOT_RUN:
            if wrong := unrunnable(words, root):
                return f"{where}\n{wrong}"
            continue
        else:
            text = f"fencepost {words[1]} --help" if "stays" in block.words else command.text
            code, printed = run(["/bin/sh", "-c", text], folder)
            if code and not (following and following.text == "echo $?"):
                return f"{where}\nexits with {code}, which isn't shown:\n{printed}"
            if "stays" in block.words:
                continue
        if wrong := difference(command.shown, printed):
            return f"{where}\n{wrong}"
    return None


def difference(shown: tuple[str, ...], printed: str) -> str | None:
    """How the lines shown differ from those printed, or None."""
    if not shown or matches(shown, printed):
        return None
    return "\n".join(
        difflib.unified_diff(shown, printed.splitlines(), "shown", "printed", lineterm="")
    )


def fault_of_program(program: Program, folder: Path) -> str | None:
    """What a program does that the document doesn't show, or None."""
    where = f"{program.document}:{program.line}"
    file = folder / f"shown_{program.line}.py"
    file.write_text(program.text, encoding="utf-8")
    code, printed = run([sys.executable, str(file)], folder)
    if code:
        return f"{where}\nexits with {code}:\n{printed}"
    wrong = difference(program.shown, printed)
    return wrong and f"{where}\n{wrong}"


def documents(root: Path) -> list[Path]:
    names = (
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "changes/*.md",
        "docs/**/*.md",
        "examples/*.md",
    )
    return [path for name in names for path in sorted(root.glob(name))]


DOCUMENTS = documents(ROOT)
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]


def shown_programs() -> list[Program]:
    return [
        program
        for path, name in zip(DOCUMENTS, NAMES, strict=True)
        for program in programs(path.read_text("utf-8"), name)
    ]


def parameters() -> list[object]:
    found: list[object] = []
    for path, name in zip(DOCUMENTS, NAMES, strict=True):
        for block in blocks(path.read_text("utf-8"), name):
            marks = [pytest.mark.needs(tool) for tool in block.needs]
            marks += [pytest.mark.slow] * (name in SLOW)
            found.append(pytest.param(block, marks=marks, id=f"{name}:{block.commands[0].line}"))
    return found


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> FolderOf:
    """The folder that the commands of a document run in; made when they are come to."""

    @cache
    def folder_of(document: str) -> Path:
        folder = tmp_path_factory.mktemp(Path(document).stem)
        for name in ("docs", "examples"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name)
        return folder

    return folder_of


@pytest.mark.skipif(
    not (COMMANDS / "fencepost").exists(), reason="needs the installed command: run tox, or install"
)
@pytest.mark.parametrize("block", parameters())
def test_what_is_shown_is_so(block: Block, folder_of: FolderOf) -> None:
    wrong = fault(block, folder_of(block.document), ROOT)
    assert wrong is None, wrong


@pytest.mark.parametrize(
    "program", shown_programs(), ids=lambda program: f"{program.document}:{program.line}"
)
def test_a_program_that_is_shown_runs(program: Program, folder_of: FolderOf) -> None:
    wrong = fault_of_program(program, folder_of(program.document))
    assert wrong is None, wrong


def dead_ends(path: Path) -> list[str]:
    """The links of a Markdown file that lead to no file; a site's build looks at the parts, too."""
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)", path.read_text("utf-8"))
    return [link for link in links if not (path.parent / link).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_links_lead_somewhere(path: Path) -> None:
    assert dead_ends(path) == []


def test_documents_whose_commands_take_long_show_some() -> None:
    shown = {
        block.document
        for path, name in zip(DOCUMENTS, NAMES, strict=True)
        for block in blocks(path.read_text("utf-8"), name)
    }
    assert shown >= SLOW


def test_a_link_to_nowhere_is_caught(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](page.md#x), [b](#y), [c](https://example.org), [d](docs/nonesuch.md#z)\n")
    assert dead_ends(page) == ["docs/nonesuch.md"]


MADE_LATER = frozenset({"traces/corpus/adopted/"})


def missing_places(text: str, root: Path) -> list[str]:
    """The paths and modules that a text names in backticks and that the checkout doesn't have."""
    paths = re.findall(
        r"`((?:model|properties|traces|conformance|benchmarks|tests)/[^`*=\s]*)`", text
    )
    modules = re.findall(r"\bfencepost((?:\.\w+){2,})", text)
    return [
        *(path for path in paths if path not in MADE_LATER and not (root / path).exists()),
        *(f"fencepost{name}" for name in modules if not is_there(name, root)),
    ]


def is_there(name: str, root: Path) -> bool:
    """Whether `.floor.room.module` is a room or a module, or a name that one of them holds."""
    *folders, last = name.strip(".").split(".")
    place = root.joinpath(*folders)
    if (place / last).is_dir() or (place / f"{last}.py").is_file():
        return True
    holds = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return holds.is_file() and re.search(rf"\b{last}\b", holds.read_text("utf-8")) is not None


@pytest.mark.parametrize("path", documents(ROOT), ids=lambda path: str(path.relative_to(ROOT)))
def test_places_that_are_named_are_there(path: Path) -> None:
    assert missing_places(path.read_text("utf-8"), ROOT) == []


def test_a_place_that_is_gone_is_caught() -> None:
    text = (
        "`model/classic/rules/join.py`, `model/gone.py`, fencepost.model.classic.rules.join, "
        "fencepost.gone.rules.x"
    )
    assert missing_places(text, ROOT) == ["model/gone.py", "fencepost.gone.rules.x"]


def shown_files(text: str) -> dict[str, str]:
    """What the blocks of a Markdown text say of files that they name in their titles."""
    fences = re.finditer(
        r'^```\w+ title="(?P<name>[^"\n]+)"\n(?P<body>.*?)^```', text, re.MULTILINE | re.DOTALL
    )
    return {fence["name"]: fence["body"] for fence in fences}


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES)
def test_a_file_that_is_shown_is_that_file(path: Path) -> None:
    shown = shown_files(path.read_text("utf-8"))
    assert shown == {name: (ROOT / name).read_text("utf-8") for name in shown}


def test_files_that_are_shown_are_found() -> None:
    text = 'Look:\n\n```yaml title="a/b.yml"\na: 1\n\nb: 2\n```\n\n```python\nno file\n```\n'
    assert shown_files(text) == {"a/b.yml": "a: 1\n\nb: 2\n"}
    assert len(shown_files((ROOT / "docs" / "brokers" / "certify.md").read_text("utf-8"))) == 3


def judge(tmp_path: Path, *lines: str, words: str = "") -> str | None:
    """The first fault of a document with one block, beside a small Makefile and tox.ini."""
    (tmp_path / "Makefile").write_text("PYTHON := x\nhello: there\n\techo hello\n")
    (tmp_path / "tox.ini").write_text("[tox]\nenv_list = lint, py311\n")
    text = "\n".join(["# A document", "", f"```console{words}", *lines, "```", "", "The end."])
    (block,) = blocks(text, "fake.md")
    return fault(block, tmp_path, tmp_path)


@pytest.mark.parametrize(
    "lines",
    [
        ("$ echo a; echo b", "a", "b"),
        ("$ printf 'a\\nb\\nc\\n'", "a", "...", "c"),
        ("$ printf 'a\\nc\\n'", "a", "...", "c"),
        ("$ echo 47 cases in 3 s", "47 cases in ... s"),
        ("$ echo anything",),
        ("$ echo a \\", "> b", "a b"),
        ("$ echo kept > file", "$ cat file", "kept", ""),
        ("$ A=3; echo $A", "3"),
        ("$ exit 3", "$ echo $?", "3"),
        ("$ make hello PYTHON=x", "$ tox -e lint,py311", "$ pip install fencepost"),
    ],
)
def test_a_true_document_passes(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert judge(tmp_path, *lines) is None


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("$ echo a", "b"), "-b\n+a"),
        (("$ echo a", "a", "b"), "-b"),
        (("$ printf 'a\\nb\\n'", "a"), "+b"),
        (("$ echo 47 fases", "47 cases"), "+47 fases"),
        (("$ true", "a"), "-a"),
        (("$ exit 3",), "exits with 3"),
        (("$ exit 3", "$ echo $?", "1"), "+3"),
        (("$ nonesuch --help",), "exits with 127"),
        (("$ make hello && false",), "show them as separate commands"),
        (("$ CI=true make bread",), "make has no bread"),
        (("$ make bread",), "make has no bread; it has hello"),
        (("$ tox -e lint,py27",), "tox has no py27"),
        (("", "$ echo a", "b"), "fake.md:5: $ echo a"),
    ],
)
def test_a_lying_document_is_caught(tmp_path: Path, lines: tuple[str, ...], reason: str) -> None:
    assert reason in (judge(tmp_path, *lines) or "")


def test_a_command_that_stays_must_exist(tmp_path: Path) -> None:
    assert "exits with" in (judge(tmp_path, "$ fencepost nonesuch", words=" stays") or "")


def test_words_behind_the_language_are_read() -> None:
    (block,) = blocks("  ```sh needs=java stays\n  $ fencepost start x\n  ```\n", "fake.md")
    assert (block.needs, block.commands) == (["java"], (Command(2, "fencepost start x", ()),))
    assert "stays" in block.words


PROGRAM = "# A\n\n```python run\nprint('a')\nprint(f'{1 + 1} steps')\n```\n\n"


@pytest.mark.parametrize("shown", ["```text\na\n... steps\n```\n", "That is all.\n"])
def test_a_program_that_prints_what_is_shown_passes(tmp_path: Path, shown: str) -> None:
    (program,) = programs(PROGRAM + shown, "fake.md")
    assert program.line == 4
    assert fault_of_program(program, tmp_path) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PROGRAM + "```text\na\n```\n", "fake.md:4\n--- shown"),
        ("```python run\nraise ValueError('no')\n```\n", "ValueError: no"),
    ],
)
def test_a_program_that_does_otherwise_is_caught(tmp_path: Path, text: str, reason: str) -> None:
    (program,) = programs(text, "fake.md")
    assert reason in (fault_of_program(program, tmp_path) or "")


def test_a_program_that_isnt_marked_is_not_run() -> None:
    text = '```python\n1 / 0\n```\n```python title="a.py"\n1 / 0\n```\n'
    assert programs(text, "fake.md") == []


def test_other_blocks_are_left_alone() -> None:
    text = "```python\n$ echo a\n```\n```console\nno command\n```\n```\n$ echo b\n```\n"
    assert blocks(text, "fake.md") == []
