"""Test coordinators against the model: targets, certificates, and the command line.

The rooms, from the top down; a room imports from those below it only:

- `cli`: the command `fencepost`
- `testing`: pytest and Hypothesis support for whoever tests a coordinator
- `site`: the certificates of many targets as one static site
- `docs`: makers of generated pages
- `nightly`: all searches in one run, with one report
- `compare`: two targets, and the shortest plan on which they differ
- `kill_matrix`: which engine finds which mutant
- `deployments`: those of the simulator with real consumers on a real Kafka, and what was promised
- `clients`: client libraries under test: drivers, obligations, scenarios, judges, certificates
- `advise`: what to set for a group, from what is known of it or from its logs
- `simulator`: whole groups on a virtual clock, and what deployments cost them
- `serve`: the model as a broker, for a judge or for applications, or as a program on stdio
- `fuzz`: generated plans, with the model in the loop
- `log_audit`: reports of audited request logs
- `findings`: a violation that was found: confirmed, shrunk, added to the corpus
- `certify`: certificates, reports, known failures, replay
- `execution`: one plan run against a target, and judged
- `catalogue`: the cases, and the suites made from the model
- `targets`: what can be tested: brokers, programs, the model itself
- `plans`: what a case sends, in symbols
- `runtime`: signals, processes, downloads

The names below are the public API; everything else may change.  Each is imported when first used.

    from fencepost.conformance import run_certificate

    certificate = run_certificate("model:kafka-4", cases=["JOIN-STATIC-*"])
    assert certificate.exit_code() == 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model._door import lazy

if TYPE_CHECKING:
    from fencepost.conformance.certify.known_failures import KnownFailure, KnownFailuresError
    from fencepost.conformance.certify.replay import Replayed, rejudge, replay_trace
    from fencepost.conformance.certify.report import (
        ReportError,
        certificate_json,
        print_certificate,
        write_report,
    )
    from fencepost.conformance.certify.run import NoCaseError, run_certificate
    from fencepost.conformance.execution.outcome import CaseResult, Certificate, Outcome, Overall
    from fencepost.conformance.runtime.errors import TargetUnavailableError
    from fencepost.conformance.serve.application_broker import ApplicationBroker
    from fencepost.conformance.serve.provocation import Action, Provocation
    from fencepost.conformance.serve.recording_proxy import RecordedKafka
    from fencepost.conformance.targets.in_process import InProcessTarget, ModelCoordinator
    from fencepost.conformance.targets.own_revision import OwnRevisionError, load_revision
    from fencepost.conformance.targets.registry import (
        TargetOptions,
        UnknownTargetError,
        find_target,
    )
    from fencepost.conformance.targets.target import Hints, Provenance, Target
    from fencepost.conformance.testing.pytest_support import (
        ViolationError,
        check_programs,
        machine_against,
    )

__all__ = [
    "Action",
    "ApplicationBroker",
    "CaseResult",
    "Certificate",
    "Hints",
    "InProcessTarget",
    "KnownFailure",
    "KnownFailuresError",
    "ModelCoordinator",
    "NoCaseError",
    "Outcome",
    "Overall",
    "OwnRevisionError",
    "Provenance",
    "Provocation",
    "RecordedKafka",
    "Replayed",
    "ReportError",
    "Target",
    "TargetOptions",
    "TargetUnavailableError",
    "UnknownTargetError",
    "ViolationError",
    "certificate_json",
    "check_programs",
    "find_target",
    "load_revision",
    "machine_against",
    "print_certificate",
    "rejudge",
    "replay_trace",
    "run_certificate",
    "write_report",
]

__getattr__, __dir__ = lazy(__name__)
