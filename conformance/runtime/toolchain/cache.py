"""The user's cache of programs and jars for brokers: made once, then used offline.

Nobody sees half of an entry: a folder is made under another name, beside a lock, and renamed when
it is complete.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import platformdirs
from filelock import AsyncFileLock, Timeout

from fencepost.conformance.runtime.unavailable import TargetUnavailableError

VARIABLE = "FENCEPOST_CACHE"
_LOCK_S = 900.0


def cache_folder() -> Path:
    """The user's cache folder, or what the environment variable FENCEPOST_CACHE names."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("fencepost")


async def cached(kind: str, version: str, make: Callable[[Path], Awaitable[None]]) -> Path:
    """The folder of this kind and version; `make` fills it when it isn't there yet.

    Raises TargetUnavailableError, and what `make` raises.
    """
    folder = cache_folder() / kind / version
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        async with AsyncFileLock(folder.with_name(f".{version}.lock"), timeout=_LOCK_S):
            if not folder.is_dir():
                await _made(folder, make)
    except Timeout as error:
        raise TargetUnavailableError(
            f"{folder} is being made by another process, for {_LOCK_S:g} s by now: "
            f"if there is none, remove {error.lock_file}"
        ) from error
    except OSError as error:
        raise TargetUnavailableError(
            f"{folder} can't be written ({error}): name another folder in {VARIABLE}"
        ) from error
    return folder


async def _made(folder: Path, make: Callable[[Path], Awaitable[None]]) -> None:
    half = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        await make(half)
        os.rename(half, folder)  # noqa: PTH104  (atomic and at once)
    finally:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(half)
