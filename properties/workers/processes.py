"""Worker processes, and their certain end.

Decides how long a worker may take to end once it is told to; then it is killed.
"""

from __future__ import annotations

from collections.abc import Iterable
from multiprocessing.process import BaseProcess

END_S = 2.0


def end_all(processes: Iterable[BaseProcess]) -> None:
    """End these, all at once, and wait until they are gone."""
    ending = list(processes)
    for process in ending:
        process.terminate()
    for process in ending:
        process.join(END_S)
        if process.exitcode is None:
            process.kill()
            process.join()
        process.close()
