"""Run the last ten minor releases of each client library; compare with the page of releases.

`tox -e clients`: an hour, most of it downloads and first builds, which stay in the cache.
"""

from __future__ import annotations

import pytest
from support.places import ROOT

from tools.docs.releases_page import TriedRelease, read_figures, try_release

pytestmark = pytest.mark.needs("java", "javac", "mvn", "go", "npm")
DOCS = ROOT / "docs"


@pytest.mark.parametrize("kept", read_figures(DOCS), ids=lambda release: release.client)
async def test_a_release_runs_as_it_did(kept: TriedRelease) -> None:
    tried = await try_release(kept.client)
    print(tried)  # noqa: T201
    again = "make it anew: python -m tools.docs.releases_page docs " + kept.client
    assert bool(tried.problem) == bool(kept.problem), tried.problem
    assert tried.lacks == kept.lacks, again
    assert tried.outcomes == kept.outcomes, again
