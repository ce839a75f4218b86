"""The pages of deployments say what their results say."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from support.places import ROOT
from support.real_figures import FIGURES, case_result

from tools.deployments.arithmetic_agreement import read_agreement
from tools.deployments.deployment_promises import simulated_only
from tools.deployments.simulated_and_real import read_results, write_results
from tools.docs import deployments_page
from tools.docs.deployments_page import (
    AGREEMENT,
    CLAIMS_PAGE,
    DATA,
    REALITY_PAGE,
    claims_page,
    main,
    reality_page,
)

DOCS = ROOT / "docs"
AGAIN = "make it anew: python -m tools.docs.deployments_page docs"


def test_the_pages_are_what_is_made_now() -> None:
    results = read_results(DOCS / DATA)
    made = reality_page(results, read_agreement(DOCS / AGREEMENT))
    assert made == (DOCS / REALITY_PAGE).read_text("utf-8"), AGAIN
    simulated = simulated_only(results)
    assert claims_page(results, simulated) == (DOCS / CLAIMS_PAGE).read_text("utf-8"), AGAIN


def test_a_row_has_what_was_simulated_and_what_was() -> None:
    page = reality_page([case_result(FIGURES)])
    counts = "8 / 8 | 40 to 41 / 40 | 12 / 12 | not known / not known"
    times = "0.5 to 1.1 / 1.0 | not known / 9.0"
    assert f"| bounce-eager | 4.3.0 | java:4.3.0 | 1 | {counts} | {times} |" in page


def test_what_rebalances_took_longer_is_told() -> None:
    one = case_result(FIGURES)
    assert "--resume-s" not in reality_page([one])
    simulated = {**one.simulated, "unavailable_partition_s": (2.0, 2.0)}
    page = reality_page([msgspec.structs.replace(one, simulated=simulated)])
    assert (
        "took 0.07 to 0.07 s longer for each partition, in the median 0.07 s" in page
    )  # 7 s, 8 rebalances, 12 partitions


def test_what_was_not_performed_is_told() -> None:
    away = msgspec.structs.replace(FIGURES, downs_s=(44.6,))
    page = reality_page([case_result(FIGURES), case_result(away, away)])
    assert "the broker was away for 45 to 45 s instead of 5 s" in page
    assert "1 of these 2 were run once" in page
    missing, refused = page.partition("Not run yet:")[2].split("Can't be run:")
    assert "- bounce-eager on 4.3.0 by java:4.3.0\n" not in missing
    assert "- bounce-eager on 2.8.0 by java:4.3.0\n" in missing
    assert "- to-cooperative by confluent-kafka:2.16.1: librdkafka refuses" in refused
    assert "to-cooperative on 4.3.0 by confluent-kafka" not in missing
    assert "In `failover` the broker" not in reality_page([case_result(FIGURES)])


@pytest.mark.parametrize(("happened", "cell"), [({"rebalances": 9}, "**8 / 9**"), ({}, "8 / 8")])
def test_what_differs_is_bold(happened: dict[str, int], cell: str) -> None:
    page = reality_page([case_result(msgspec.structs.replace(FIGURES, **happened))])
    assert f"| java:4.3.0 | 1 | {cell} |" in page


def test_the_arithmetic_has_its_figures() -> None:
    made = read_agreement(DOCS / AGREEMENT)
    near = sum(each.is_near for each in made.drawn)
    first = msgspec.structs.replace(made.drawn[0], is_near=False)
    other = msgspec.structs.replace(made, drawn=[first, *made.drawn[1:]])
    assert made.drawn[0].is_near
    assert f"\n{near} of {len(made.drawn)} events" in reality_page([], made)
    assert f"\n{near - 1} of {len(made.drawn)} events" in reality_page([], other)


def test_a_claim_has_its_figures_and_what_became_of_it() -> None:
    many = msgspec.structs.replace(FIGURES, rebalances=24)
    holds = claims_page([case_result(many)])
    assert "| 2N = 24 | 8 | 24 | 1 | holds |" in holds
    assert "| 2N = 24 | 8 | 8 | 1 | not so |" in claims_page([case_result(FIGURES)])


def test_a_claim_that_was_not_run_is_simulated() -> None:
    unrun = {"bounce-eager": {"rebalances": (24.0, 24.0)}}
    assert "| 2N = 24 | 24 | not known | 0 | not run |" in claims_page([], unrun)
    assert "| 2N = 24 | not known | not known | 0 | not run |" in claims_page([])
    assert "| 2N = 24 | 8 | 8 | 1 | not so |" in claims_page([case_result(FIGURES)], unrun)


def test_pages_are_written_and_simulated_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployments_page, "simulated_only", lambda _: {})
    (tmp_path / DATA).parent.mkdir()
    wrong = msgspec.structs.replace(case_result(FIGURES), simulated={"rebalances": (1, 1)})
    write_results(tmp_path / DATA, [wrong])
    (tmp_path / AGREEMENT).write_bytes((DOCS / AGREEMENT).read_bytes())
    main(tmp_path)
    assert "| **1 / 8** |" in (tmp_path / REALITY_PAGE).read_text("utf-8")
    main(tmp_path, "simulate")
    assert "| 8 / 8 | 40 / 40 |" in (tmp_path / REALITY_PAGE).read_text("utf-8")
