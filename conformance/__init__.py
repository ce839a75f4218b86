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
    from fencepost.conformance.run.certificate_run import run_certificate
    from fencepost.conformance.run.replay import replay_trace
    from fencepost.conformance.runtime.unavailable import TargetUnavailableError
    from fencepost.conformance.search.programs.pytest_support import (
        ViolationError,
        check_programs,
        machine_against,
    )
    from fencepost.conformance.serve.application_broker import ApplicationBroker
    from fencepost.conformance.targets.own_revision import load_revision
    from fencepost.conformance.targets.target import Target
    from fencepost.conformance.targets.target_registry import (
        TargetOptions,
        UnknownTargetError,
        find_target,
    )
    from fencepost.conformance.wire.provocation import Action, Provocation
    from fencepost.properties.judging.outcome import CaseResult, Outcome
    from fencepost.properties.judging.report import Certificate
    from fencepost.traces.report.report_writer import write_report

__all__ = [
    "Action",
    "ApplicationBroker",
    "CaseResult",
    "Certificate",
    "Outcome",
    "Provocation",
    "Target",
    "TargetOptions",
    "TargetUnavailableError",
    "UnknownTargetError",
    "ViolationError",
    "check_programs",
    "find_target",
    "load_revision",
    "machine_against",
    "replay_trace",
    "run_certificate",
    "write_report",
]

__getattr__, __dir__ = lazy(__name__)
