"""User-named files, opened with a time limit for named pipes."""

from __future__ import annotations

import errno
import os
import stat
from typing import IO

PIPE_TIMEOUT_S = 5.0
"""How long to wait for a process that writes to a named pipe."""


def open_file(path: str, buffering: int = -1) -> IO[bytes]:
    """The file at `path`, opened to read bytes.

    Raises:
        OSError, ValueError: as `open`; also where it is a named pipe that no process opens to write, for which `open`
            waits without end.
    """
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb", buffering=buffering)
    import threading
    from concurrent.futures import Future
    from concurrent.futures import TimeoutError as NotYet

    future: Future[IO[bytes]] = Future()

    def wait() -> None:
        try:
            future.set_result(open(path, "rb", buffering=buffering))  # noqa: SIM115 (the caller closes it)
        except BaseException as error:  # raised in the calling thread
            future.set_exception(error)

    threading.Thread(target=wait, daemon=True).start()
    try:
        return future.result(PIPE_TIMEOUT_S)
    except NotYet as error:
        raise OSError(errno.EAGAIN, "it is a named pipe, and no process writes to it") from error
