"""Tell what a log shows of a group, what it doesn't, and what the advice would have saved in it."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.conformance.advise.advice import Advice
from fencepost.conformance.advise.from_logs import A_DAY_S, LogFacts
from fencepost.conformance.advise.known_facts import SESSIONS_S
from fencepost.model.history.words import plural

FEW_RESTARTS = 20
"""So few tell nothing of what one in twenty takes."""


def log_words(advice: Advice, log: LogFacts) -> Iterator[str]:
    """The sentences."""
    rebalances = plural(len(log.rebalances), "rebalance")
    yield f"The log shows {log.lasted_s:,.0f} s of group {log.group}, with {rebalances}."
    if log.restarts_s:
        middle = log.restarts_s[len(log.restarts_s) // 2]
        yield (
            f"{plural(len(log.restarts_s), 'restart')} with a rebalance took "
            f"{_short(log.restarts_s[0])} to {_short(log.restarts_s[-1])}, half of them up to "
            f"{_short(middle)}."
        )
    if log.shared:
        yield (
            f"Several processes take {', '.join(log.shared)} from each other, which fencepost "
            "audit tells: mend that first, it may look like restarts."
        )
    if log.restarts_s and (log.lasted_s < A_DAY_S or len(log.restarts_s) < FEW_RESTARTS):
        yield (
            "That is little to go by: how long restarts take at worst it doesn't show. Give "
            "--restart-s and --restart-p95-s, or logs of a week."
        )
    yield from _setting_words(advice, log)
    if log.free:
        yield (
            f"{plural(log.free, 'restart')} of static members caused no rebalance; how long they "
            "took the audit doesn't tell, and --restart-s can."
        )
    best = advice.advised
    avoided = log.avoided(best.form, best.session_s)
    stopped_s = sum(row["duration_ms"] or 0 for row in avoided) / 1000
    yield (
        f"What is advised would have avoided {len(avoided)} of the {rebalances}"
        f"{f', which took {stopped_s:.1f} s' if avoided else ''}."
    )
    if log.left_out:
        yield "The log has more rows than an audit keeps; only those are counted."


def _setting_words(advice: Advice, log: LogFacts) -> Iterator[str]:
    """What the log shows of the session, and of how long a process is silent."""
    if log.session_s is not None:
        if log.session_s != advice.asked.session_s:
            yield (
                f"session.timeout.ms is {1000 * log.session_s:.0f} in the log; what "
                "--session-timeout-ms says is compared with."
            )
        elif log.session_s < SESSIONS_S[0]:
            yield (
                f"session.timeout.ms is {1000 * log.session_s:.0f} there, which these brokers "
                f"allow: by default they allow nothing below {1000 * SESSIONS_S[0]:.0f} "
                "(group.min.session.timeout.ms), and nothing below is advised or simulated."
            )
    if "pause_s" not in log.facts:
        yield (
            "No process was silent for nearly a session in the log and lived: how long one may be "
            "silent it doesn't show (--longest-pause-s)."
        )


def _short(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{round(seconds * 1000)} ms"
