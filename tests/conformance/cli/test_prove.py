"""The command that proves: what it prints, and how it ends."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import replace
from functools import partial

import pytest
from click.testing import CliRunner, Result

from fencepost.conformance.cli import prove as cli_prove
from fencepost.conformance.cli.cli import main
from fencepost.model.classic.effects import Do
from fencepost.model.revision import DropRule, Revision, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.revisions import find
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.logic.classic_signature import HOLDS
from fencepost.properties.logic.logic import Engine
from fencepost.properties.proofs.abstract_effects import EFFECTS

pytest.importorskip("z3")

from fencepost.properties.proofs import counterexamples, proofs
from fencepost.properties.proofs.abstract_steps import paths
from fencepost.properties.proofs.classic_theory import CLASSIC_THEORY
from fencepost.properties.proofs.proof_results import Proof
from fencepost.properties.proofs.theory import Effects, Path
from fencepost.traces.files.bounded import pip_install

STRICT = ("--property", "seats-stay")
CHANGES_INSTANCE = "CG-JOIN-CHANGE-INSTANCE"
SOME = ("JOIN-MEMBER-COMPLETING-CHANGED", "JOIN-STATIC-EMPTY-STABLE-SELECTION")


@pytest.fixture(autouse=True)
def one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command proves two rules, and hardly looks for runs: enough to see what it prints."""

    def prove(revision: Revision, names: tuple[str, ...]) -> Proof:
        forgetful = EFFECTS[Do.REPLACE_HOLDER].without(HOLDS.name)
        return proofs.prove(
            revision,
            names,
            rules=["JOIN-STATIC-EMPTY-STABLE", "JOIN-FOLLOWER-STABLE-CHANGED", CHANGES_INSTANCE],
            overrides={Do.REPLACE_HOLDER: forgetful} if revision.name == "forgetful" else {},
        )

    monkeypatch.setattr(cli_prove, "_proof", prove)
    monkeypatch.setattr(counterexamples, "reach", partial(counterexamples.reach, max_states=100))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli_prove.prove_command, arguments, standalone_mode=False)


def test_what_is_proved_is_counted_by_property() -> None:
    result = run(*STRICT)
    assert result.return_value == 0
    assert "seats-stay" in result.stdout
    assert result.stdout.startswith(
        "kafka-4: every obligation is proved\n\n"
        "2 obligations, 2 proved, 0 fail as expected, 0 failed\n"
    )


def test_what_is_wholly_proved_is_a_line_and_no_table() -> None:
    result = run()
    assert "all proved in" in result.stdout
    assert "seats-stay" not in result.stdout
    assert len(result.stdout.splitlines()) < 20


def test_an_expected_violation_is_shown_and_is_no_failure() -> None:
    result = run()
    assert result.return_value == 0
    assert "Expected violations" in result.stdout
    assert (
        "  rebalance-has-a-cause, by JOIN-FOLLOWER-STABLE-CHANGED: a static member" in result.stdout
    )
    assert "then: " not in result.stdout
    asked = run("--property", "rebalance-has-a-cause")
    assert "then: JoinGroup with member id" in asked.stdout
    assert "by the same rules" not in asked.stdout


def test_expected_steps_that_are_not_shown_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    draft = find("comment-table-2")
    proof = proofs.prove(draft, ["seats-stay"], rules=["JOIN-UPGRADE-PREPARING"])
    monkeypatch.setattr(cli_prove, "_proof", lambda *_: proof)
    asked = run("--revision", draft.name, *STRICT)
    assert len(proof.expected) == 2
    assert asked.stdout.count("before: ") == 1
    assert "  1 more step by the same rules (--json)\n" in asked.stdout


def test_a_violation_that_is_not_inherited_is_told_and_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the steps of two rules, which break it: the table has two hundred."""

    def some(revision: Revision, overrides: Effects) -> tuple[Path, ...]:
        return tuple(one for one in paths(revision, overrides) if one.rule.id in SOME)

    fewer = replace(CLASSIC_THEORY, paths=some)
    monkeypatch.setattr(proofs, "theory_of", lambda _: fewer)
    mended = derive(
        KAFKA_4, "mended", "", (DropRule("JoinGroup", "JOIN-FOLLOWER-STABLE-CHANGED", "x"),)
    )
    monkeypatch.setattr(cli_prove, "find_revision", lambda _: mended)
    monkeypatch.setattr(
        cli_prove,
        "_proof",
        lambda revision, names: proofs.prove(revision, names, with_traces=False),
    )
    result = run("--property", "rebalance-has-a-cause")
    assert result.return_value == 0
    assert "Proved here alone, not of what this is made from" in result.stdout
    (row,) = (
        line for line in result.stdout.splitlines() if line.startswith("rebalance-has-a-cause ")
    )
    (total,) = (line for line in result.stdout.splitlines() if " obligations, " in line)
    assert row.split()[-1] == "1"
    assert total.endswith(" 0 failed, 1 proved here alone")
    obligations, *parts = map(int, re.findall(r"\d+", total))
    assert obligations == sum(parts)
    said = "kafka-4 breaks it by JOIN-FOLLOWER-STABLE-CHANGED, which this revision does not have"
    assert f"  rebalance-has-a-cause: {said}" in result.stdout


def test_the_consumer_protocol_is_proved_and_what_a_release_breaks_is_a_step() -> None:
    kept = run("--revision", "consumer-4.4", "--property", "an-entry-names-its-member")
    broken = run("--revision", "consumer-4.3.1", "--property", "an-entry-names-its-member")

    assert kept.return_value == broken.return_value == 0
    assert kept.stdout.startswith("consumer-4.4: every obligation is proved\n")
    assert broken.stdout.startswith(
        "consumer-4.3.1: every obligation is proved, or fails as expected\n"
    )
    assert f"an-entry-names-its-member, by {CHANGES_INSTANCE}: fails" in broken.stdout
    assert "      then: a join of m1 with instance " in broken.stdout


def test_of_the_consumer_protocol_it_says_what_only_check_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    there = json.loads(run("--revision", "pr-23542", "--json").stdout)["only_elsewhere"]
    with pytest.raises(SystemExit) as ended:
        main(["prove", "--revision", "pr-23542", "--property", "a-target-is-complete"])

    assert ended.value.code == 64
    assert "a-target-is-complete is not checked by proof, but by exploration" in (
        capsys.readouterr().err
    )
    assert {"a-target-is-complete", "a-repeated-join-comes-through"} <= set(there["exploration"])
    assert not {"a-partition-has-one-owner", "one-client-per-id"} & set(there["exploration"])


def test_a_protocol_without_proofs_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["prove", "--revision", "streams-4.4"])

    assert ended.value.code == 64
    said = " ".join(capsys.readouterr().err.split())
    assert "`fencepost prove` knows the classic and the consumer protocol only" in said


def test_a_failure_is_shown_as_a_step_and_exits_1(monkeypatch: pytest.MonkeyPatch) -> None:
    twisted = replace(KAFKA_4, name="forgetful", ancestors=("kafka-4",))
    monkeypatch.setattr(cli_prove, "find_revision", lambda _: twisted)
    result = run("--property", "static-member-is-mapped")  # of all that fail, one is enough
    assert result.return_value == 1
    assert "static-member-is-mapped, by JOIN-STATIC-EMPTY-STABLE: fails" in result.stdout
    assert "before: Stable, generation 0; m1 carries A, leads; A is mapped to m1" in result.stdout


def test_a_step_of_which_nothing_is_said_exits_2(monkeypatch: pytest.MonkeyPatch) -> None:
    twisted = replace(
        KAFKA_4, name="twisted", ancestors=("kafka-4",), twists={Do.REPLACE_HOLDER: lambda own: own}
    )
    monkeypatch.setattr(cli_prove, "find_revision", lambda _: twisted)
    result = run()
    assert result.return_value == 2
    assert "Not covered" in result.stdout
    assert "REPLACE_HOLDER: performed otherwise" in result.stdout


def test_json_has_the_counts_and_whatever_is_notable() -> None:
    result = run("--json")
    body = json.loads(result.stdout)
    assert body["revision"] == "kafka-4"
    assert body["holds"] is True
    assert {one["result"] for one in body["notable"]} == {"fails, as expected"}


@pytest.mark.parametrize("arguments", [["--property", "nope"], ["--revision", "nope"]])
def test_an_unknown_name_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["prove", *arguments])
    assert ended.value.code == 64
    assert "nope" in capsys.readouterr().err


def test_a_property_that_is_no_formula_is_refused_with_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["prove", "--property", "the-replaced-is-fenced"])
    assert ended.value.code == 64
    said = capsys.readouterr().err
    assert "the-replaced-is-fenced is not checked by proof, but by exploration and hypo" in said
    assert PROPERTIES["the-replaced-is-fenced"].not_by[Engine.PROOF] in said


def test_it_ends_with_what_only_exploration_sees() -> None:
    told = run().stdout.splitlines()[-1]
    there = json.loads(run("--json").stdout)["only_elsewhere"]["exploration"]
    assert told.startswith("only `fencepost check kafka-4` sees answers, deadlines, bytes, ")
    assert f": {len(there)} more properties" in told
    assert {"one-client-per-id", "every-group-settles"} <= set(there)
    assert not {"stable-is-stored", "leader-is-member", "fenced-stays-fenced"} & set(there)


def test_a_property_of_endless_runs_is_refused_with_who_checks_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["prove", "--property", "every-group-settles"])
    assert ended.value.code == 64
    assert "endless runs, which `fencepost check` looks for" in capsys.readouterr().err


def test_a_name_is_printed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    named = replace(KAFKA_4, name="mine.py:NEW", ancestors=("kafka-4",))
    monkeypatch.setattr(cli_prove, "find_revision", lambda _: named)
    assert "mine.py:NEW: every obligation" in run(*STRICT).stdout


def test_without_z3_the_remedy_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        main(["prove"])
    assert ended.value.code == 69
    assert pip_install("prove") in capsys.readouterr().err
