"""Performs the steps of a scenario on a deployment, one after the other or side by side.

A step is a generator that yields how many ms pass until it goes on.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Generator, Iterable, Sequence

from fencepost.conformance.simulate.deployment import Deployment, Host, HostProcess
from fencepost.conformance.simulate.deployment_scenario import ScenarioError
from fencepost.conformance.simulate.deployment_steps import (
    BounceStep,
    CrashLoopStep,
    CrashStep,
    DuplicateStep,
    FailoverStep,
    MoveReplicasStep,
    RemoveStep,
    ReplaceStep,
    ScaleStep,
    Step,
    WaitStep,
)
from fencepost.conformance.simulate.durations import Duration, draw_ms
from fencepost.conformance.simulate.member_settings import METADATA_MS

Script = Generator[int, None, None]
_CHECK_MS = 100
"""How often a health check looks."""
_HEARS_MS = 3000


class Performer:
    """Runs scripts on a deployment's clock."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._due: list[tuple[int, int, Script, bool]] = []
        self._order = itertools.count()
        self._awaited = 0

    def add(self, script: Script, in_ms: int = 0, *, is_awaited: bool = True) -> None:
        """Let a script begin after so long.  Unless it `is_awaited`, all may end before."""
        at_ms = self._deployment.now_ms + in_ms
        self._awaited += is_awaited
        heapq.heappush(self._due, (at_ms, next(self._order), script, is_awaited))

    @property
    def next_ms(self) -> int | None:
        """When something is due next; None: all scripts have ended that are awaited."""
        return self._due[0][0] if self._awaited else None

    def go_on(self) -> None:
        """Do what is due next."""
        deployment = self._deployment
        _, _, script, is_awaited = heapq.heappop(self._due)
        for host in deployment.note_failures():
            if host.is_awaited:
                again = _start_later(deployment, host)
                self.add(again, deployment.pause_ms(host), is_awaited=False)
        wait_ms = next(script, None)
        self._awaited -= is_awaited
        if wait_ms is not None:
            self.add(script, wait_ms, is_awaited=is_awaited)

    def run(self, run_for: Callable[[int], object]) -> None:
        """Do all; `run_for` lets so many ms pass."""
        while (next_ms := self.next_ms) is not None:
            run_for(next_ms - self._deployment.now_ms)
            self.go_on()


def all_steps(deployment: Deployment, steps: Iterable[Step]) -> Script:
    """The steps that follow each other, and then the wait until all is well."""
    for step in steps:
        yield from perform(deployment, step)


def until(deployment: Deployment, check: Callable[[], bool], limit_s: float) -> Script:
    """Wait until something is so, or for so long."""
    end = deployment.now_ms + round(limit_s * 1000)
    while not check() and deployment.now_ms < end:
        yield _CHECK_MS


def perform(deployment: Deployment, step: Step) -> Script:
    """A step's script."""
    match step:
        case BounceStep():
            yield from _bounce(deployment, step)
        case CrashStep():
            hosts = _chosen(deployment, step.who, step.count)
            for host in hosts:
                _kill_all(deployment, host)
            if step.restart:
                yield from _start_again(deployment, hosts)
        case CrashLoopStep():
            hosts = _chosen(deployment, step.who, step.count)
            for number in range(step.times):
                for host in hosts:
                    _kill_all(deployment, host)
                yield from _start_again(deployment, hosts)
                yield _drawn(deployment, step.alive_s, f"alive/{number}")
        case ScaleStep():
            yield from _scale(deployment, step)
        case ReplaceStep():
            yield from _replace(deployment, step)
        case DuplicateStep():
            yield from _duplicate(deployment, step)
        case FailoverStep():
            yield from _fail_over(deployment, step)
        case RemoveStep():
            for host in _chosen(deployment, step.who, step.count):
                for process in host.running:
                    deployment.remove(process.instances)
        case MoveReplicasStep():
            deployment.move_replicas()
            yield METADATA_MS + _HEARS_MS  # the leader knows, and has begun what follows
        case WaitStep():
            if step.s is None:
                yield from until(deployment, deployment.is_balanced, deployment.scenario.settle_s)
            else:
                yield _drawn(deployment, step.s, "wait")


def _chosen(deployment: Deployment, who: Sequence[str], count: int) -> list[Host]:
    """The hosts that are named, or the last ones.  Raises ScenarioError for a name of none."""
    for name in who:
        if name not in deployment.hosts:
            raise ScenarioError(
                f"no host is called {name!r}; there is {', '.join(list(deployment.hosts)[:12])}"
            )
    running = [host for host in deployment.hosts.values() if host.running]
    return [deployment.hosts[name] for name in who] or running[-count:]


def _drawn(deployment: Deployment, duration: Duration, of: str) -> int:
    return draw_ms(duration, f"{deployment.seed}/{deployment.now_ms}/{of}")


def _kill_all(deployment: Deployment, host: Host) -> None:
    for process in list(host.running):
        deployment.kill(host, process)


def _start_later(deployment: Deployment, host: Host) -> Script:
    yield from _start_again(deployment, [host], beside=True)


def _start_again(deployment: Deployment, hosts: Iterable[Host], *, beside: bool = False) -> Script:
    """Start each host's next process when it is ready; all are made ready side by side.

    Where another step has started one meanwhile, that is enough, unless it shall run `beside` it.
    """
    begun_ms = deployment.now_ms
    ready = sorted(
        ((deployment.restart_ms(host), host.name, host) for host in hosts), key=lambda r: r[:2]
    )
    for restart_ms, _, host in ready:
        yield begun_ms + restart_ms - deployment.now_ms
        if beside or not host.running:
            deployment.start(host)


# Steps of more than a few lines.


def _bounce(deployment: Deployment, step: BounceStep) -> Script:
    running = [host for host in deployment.hosts.values() if host.running][: step.at_most]
    for first in range(0, len(running), step.at_a_time):
        wave = running[first : first + step.at_a_time]
        failed = len(deployment.failures)
        old = [(host, process) for host in wave for process in host.running]
        for host in wave:
            host.settings = step.set.over(host.settings)
        if step.overlap_s is None:
            _stop(deployment, old)
        yield from _start_again(deployment, wave, beside=step.overlap_s is not None)
        if step.overlap_s is not None:
            yield _drawn(deployment, step.overlap_s, "overlap")
            _stop(deployment, old)
        if step.health == "balanced":
            yield _CHECK_MS
            yield from until(deployment, lambda: _is_decided(deployment, running), step.limit_s)
            if not (deployment.is_balanced() and all(host.running for host in running)):
                deployment.halted.append(_why_halted(deployment, wave, failed, step))
                return
        yield _drawn(deployment, step.pause_s, "pause")


def _stop(deployment: Deployment, processes: Iterable[tuple[Host, HostProcess]]) -> None:
    for host, process in processes:
        if process in host.running:
            deployment.stop(host, process)


def _is_decided(deployment: Deployment, hosts: Iterable[Host]) -> bool:
    """Whether all is well, or a process is gone for good."""
    if not all(host.running for host in hosts):
        return not deployment.scenario.restart_failed
    return deployment.is_balanced()


def _why_halted(deployment: Deployment, wave: Iterable[Host], failed: int, step: BounceStep) -> str:
    where = f"the rollout stopped at {', '.join(host.name for host in wave)}"
    for failure in deployment.failures[failed:]:
        return f"{where}: {failure.member} was told {failure.code} ({failure.where})"
    return f"{where}: the group was not balanced within {step.limit_s:g} s"


def _scale(deployment: Deployment, step: ScaleStep) -> Script:
    running = [host for host in deployment.hosts.values() if host.running]
    if step.to > len(running):
        last = running[-1].settings if running else deployment.scenario.settings
        for host in deployment.add_hosts(step.to - len(running), step.set.over(last)):
            deployment.start(host)
        return
    for host in running[step.to :]:
        for process in list(host.running):
            deployment.stop(host, process)
            if step.remove:
                deployment.remove(process.instances)
    yield 0


def _replace(deployment: Deployment, step: ReplaceStep) -> Script:
    hosts = _chosen(deployment, step.who, step.count)
    died_ms = deployment.now_ms
    instances = [i for host in hosts for process in host.running for i in process.instances]
    for host in hosts:
        _kill_all(deployment, host)
    new = [deployment.add_hosts(1, host.settings)[0] for host in hosts]
    remove_ms = _drawn(deployment, step.remove_after_s, "remove") if step.remove else None
    for restart_ms, host in sorted(
        ((deployment.restart_ms(host), host) for host in new), key=lambda row: row[0]
    ):
        if remove_ms is not None and remove_ms <= restart_ms:
            yield died_ms + remove_ms - deployment.now_ms
            deployment.remove(instances)
            remove_ms = None
        yield died_ms + restart_ms - deployment.now_ms
        deployment.start(host)
    if remove_ms is not None:
        yield died_ms + remove_ms - deployment.now_ms
        deployment.remove(instances)


def _duplicate(deployment: Deployment, step: DuplicateStep) -> Script:
    hosts = _chosen(deployment, step.who, step.count)
    for host in hosts:
        deployment.start(host)
    if step.for_s is None:
        return
    second = [(host, host.running[-1]) for host in hosts]
    yield _drawn(deployment, step.for_s, "duplicate")
    _stop(deployment, second)


def _fail_over(deployment: Deployment, step: FailoverStep) -> Script:
    deployment.take_down()
    yield _drawn(deployment, step.down_s, "down")
    deployment.bring_back()
