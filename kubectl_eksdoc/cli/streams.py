"""The streams of a process, any of which may be closed, full or gone."""

from __future__ import annotations

import os
from typing import TextIO

from kubectl_eksdoc.errors import UsageError


def say(stream: TextIO, text: str) -> None:
    """Write what is not the answer: where it cannot be shown, the answer is still worth having."""
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):  # ValueError: the stream is closed
        drop(stream)


def deliver(stream: TextIO, text: str) -> None:
    """Write the answer. A reader that leaves early (`| head`) has seen enough.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        drop(stream)
    except OSError as error:
        drop(stream)
        raise UsageError(f"cannot write the answer to stdout: {error.strerror or error}") from error


def drop(stream: TextIO) -> None:
    """Point a stream that cannot be written at nothing, or Python complains about it on its way out."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


def occupy_closed() -> None:
    """Open nothing in the place of each closed standard stream.

    Otherwise the next file or socket would get its number, and who writes to stderr would write into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
