"""Files that a user names, opened without waiting for ever."""

from __future__ import annotations

import errno
import os
import stat
from typing import IO

PIPE_S = 5.0
"""So long a named pipe is waited for to which no process writes."""


def opened(path: str, buffering: int = -1) -> IO[bytes]:
    """The file at `path`, to read.

    Raises:
        OSError, ValueError: as `open`; also where it is a named pipe that no process opens to write to it, for which
            `open` waits without end.
    """
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb", buffering=buffering)
    import threading
    from concurrent.futures import Future
    from concurrent.futures import TimeoutError as NotYet

    found: Future[IO[bytes]] = Future()

    def wait() -> None:
        try:
            found.set_result(open(path, "rb", buffering=buffering))  # noqa: SIM115 (who waits closes it)
        except BaseException as error:  # it belongs to who waits for it
            found.set_exception(error)

    threading.Thread(target=wait, daemon=True).start()
    try:
        return found.result(PIPE_S)
    except NotYet as error:
        raise OSError(errno.EAGAIN, "it is a named pipe, and no process writes to it") from error
