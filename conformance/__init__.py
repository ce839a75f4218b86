"""Test coordinators against the model: targets, certificates, and the command line.

The names below are the public API; everything else may change.  Each is imported when first used.

    from fencepost.conformance import run_certificate

    certificate = run_certificate("model:kafka-4", cases=["JOIN-STATIC-*"])
    assert certificate.exit_code() == 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model._door import lazy

if TYPE_CHECKING:
    from fencepost.conformance.cases.clients.provocation import Action, Provocation
    from fencepost.conformance.run.certificate_run import NoCaseError, run_certificate
    from fencepost.conformance.run.replay import Replayed, rejudge, replay_trace
    from fencepost.conformance.runtime.unavailable import TargetUnavailableError
    from fencepost.conformance.search.programs.pytest_support import (
        ViolationError,
        check_programs,
        machine_against,
    )
    from fencepost.conformance.serve.application_broker import ApplicationBroker
    from fencepost.conformance.serve.recording_proxy import RecordedKafka
    from fencepost.conformance.targets.in_process import InProcessTarget, ModelCoordinator
    from fencepost.conformance.targets.own_revision import OwnRevisionError, load_revision
    from fencepost.conformance.targets.target import Hints, Target
    from fencepost.conformance.targets.target_registry import (
        TargetOptions,
        UnknownTargetError,
        find_target,
    )
    from fencepost.model.coordinator import Provenance
    from fencepost.properties.judging.outcome import CaseResult, Certificate, Outcome, Overall
    from fencepost.traces.report.known_failures import KnownFailure, KnownFailuresError
    from fencepost.traces.report.report_folder import (
        ReportError,
        certificate_json,
        print_certificate,
        write_report,
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
