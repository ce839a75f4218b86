"""Take the pictures of the documentation from pages that fencepost makes.

`python -m tools.docs.pictures docs` runs the commands of each picture, takes it with Chromium, and
writes `docs/assets/pictures/`: a WebP for each, and the digests of the pages.  A picture is up to
date while its page has the kept digest.  Names behind `docs` choose pictures.  It needs Playwright
and Chromium.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from fencepost.conformance.cli.cli import exit_code, fencepost
from fencepost.traces.files.bounded import own_version
from tools.docs.chromium import REMEDY, find_chromium, launch

FOLDER = "assets/pictures"
DIGESTS = "digests.json"
MOST_BYTES = 150_000
_SCALE = 1.5
_QUALITY = 80
_MARGIN = 12


@dataclass(frozen=True, slots=True)
class Picture:
    """A part of a page.

    `commands` write the page, in a folder with `docs` and `examples`.  The part: from the element
    `top` to the end of the element `bottom`, at most `height` pixels; the page has `width`.
    """

    name: str
    commands: tuple[str, ...]
    page: str
    bottom: str
    top: str = "body"
    width: int = 1000
    height: int = 900


_TARGETS = (
    *("kafka-2.3.0", "kafka-2.4.1", "kafka-2.8.0", "kafka-3.9.1+old", "kafka-4.4.0"),
    *("kfake", "nafka", "seaweedfs", "tansu"),
)
_CERTIFICATES = " ".join(f"docs/certificates/{name}.json" for name in _TARGETS)
_FORMS = "--members 4 --partitions 8 --compare eager,static+cooperative"
_TRACE = (
    "certify model:comment-table-1 --case */zombie-joins --report certificate",
    "view certificate/traces/JOIN-INSTANCE-FENCED__zombie-joins.json -o trace.html",
)
PICTURES = (
    Picture("trace", _TRACE, "trace.html", ".lanes", width=1040, height=1000),
    # The verdict alone, for narrow screens: the text of the wide picture is too small there.
    Picture("trace-narrow", _TRACE, "trace.html", "header.verdict", width=400),
    Picture(
        "certificate",
        ("view docs/certificates/kfake.json -o certificate.html",),
        "certificate.html",
        "[aria-labelledby=reasons-title]",
        width=1180,
        height=640,
    ),
    Picture(
        "timeline",
        ("audit examples/server-logs/server.log.gz --report audit",),
        "audit/index.html",
        ".times > .lane:nth-of-type(8)",
    ),
    Picture(
        "results",
        (f"site {_CERTIFICATES} --report results",),
        "results/index.html",
        "[aria-labelledby=map]",
    ),
    Picture(
        "simulation",
        (f"simulate rolling-bounce {_FORMS} --report simulation",),
        "simulation/index.html",
        "[aria-labelledby=timeline-2]",
        "[aria-labelledby=timeline-1]",
    ),
)


def page_of(picture: Picture, folder: Path) -> str:
    """Run the commands of a picture in a folder with `docs` and `examples`; return the page."""
    with chdir(folder):
        for command in picture.commands:
            printed = StringIO()
            with redirect_stdout(printed):
                code = exit_code(fencepost, command.split(), "fencepost")
            if code > 1:  # 1: the target of the page violates a rule
                raise RuntimeError(f"fencepost {command} exits with {code}: {printed.getvalue()}")
    return (folder / picture.page).read_text("utf-8")


def digest(page: str) -> str:
    """Return the digest of a page, in any release of fencepost."""
    return hashlib.sha256(page.replace(own_version(), "VERSION").encode()).hexdigest()


def read_digests(docs: Path) -> dict[str, str]:
    """Return the kept digests, by the names of pictures."""
    kept: dict[str, str] = json.loads((docs / FOLDER / DIGESTS).read_bytes())
    return kept


def furnish(folder: Path, root: Path) -> None:
    """Put what the commands read into a folder."""
    for name in ("docs", "examples"):
        (folder / name).symlink_to(root / name)


def take(browser_page: Page, picture: Picture, place: Path) -> bytes:
    """Take the picture from the page in a file, as WebP."""
    browser_page.set_viewport_size({"width": picture.width, "height": 900})
    browser_page.goto(place.as_uri())
    browser_page.wait_for_load_state("networkidle")
    first, last = (
        browser_page.locator(each).first.bounding_box() or {"y": 0, "height": 0}
        for each in (picture.top, picture.bottom)
    )
    top = max(0, first["y"] - _MARGIN)
    height = min(picture.height, last["y"] + last["height"] + _MARGIN - top)
    clip = {"x": 0, "y": top, "width": picture.width, "height": height, "scale": _SCALE}
    session = browser_page.context.new_cdp_session(browser_page)
    options: dict[str, Any] = {"format": "webp", "quality": _QUALITY, "captureBeyondViewport": True}
    taken = session.send("Page.captureScreenshot", {**options, "clip": clip})
    return base64.b64decode(taken["data"])


def take_all(pictures: Sequence[Picture], docs: Path) -> Mapping[str, str]:
    """Take pictures, and write them and their digests; return the digests."""
    chromium = find_chromium()
    if chromium is None:
        raise RuntimeError(f"no Chromium: {REMEDY}")
    (docs / FOLDER).mkdir(parents=True, exist_ok=True)
    digests = read_digests(docs) if (docs / FOLDER / DIGESTS).exists() else {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as ends:
        folder = Path(name)
        furnish(folder, docs.absolute().parent)
        digests |= {picture.name: digest(page_of(picture, folder)) for picture in pictures}
        # Last: its event loop runs until its end, and a command runs one of its own.
        driver = ends.enter_context(sync_playwright())
        browser = launch(driver, chromium)
        page = browser.new_page(color_scheme="light")
        for picture in pictures:
            taken = take(page, picture, folder / picture.page)
            (docs / FOLDER / f"{picture.name}.webp").write_bytes(taken)
            sys.stdout.write(f"{picture.name}: {len(taken):,} bytes\n")
        browser.close()
    text = json.dumps(digests, indent=1, sort_keys=True)
    (docs / FOLDER / DIGESTS).write_text(f"{text}\n", encoding="utf-8", newline="\n")
    return digests


def main(docs: Path, *names: str) -> None:
    """Take the pictures of these names, or all."""
    take_all([picture for picture in PICTURES if not names or picture.name in names], docs)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
