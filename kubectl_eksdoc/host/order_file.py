"""A file that says in which order nodes go."""

from __future__ import annotations

from pathlib import Path

from kubectl_eksdoc.errors import UsageError

MOST_BYTES = 4 << 20
"""Names of more nodes than any cluster has."""


def read_order(path: str) -> tuple[str, ...]:
    """The nodes named in the file `path`, one a line, each once; ``#`` begins a comment, ``node/`` may stand before.

    Raises:
        UsageError: the file cannot be read, is no text, or names no node.
    """
    try:
        with Path(path).open("rb") as file:
            read = file.read(MOST_BYTES + 1)
        text = read.decode("utf-8")
    except OSError as error:
        why = error.strerror or error
        raise UsageError(f"--order-file {path} cannot be read: {why}", "Give a file with one node a line.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--order-file {path} is no text", "Give a file with one node a line.") from error
    if len(read) > MOST_BYTES:
        raise UsageError(f"--order-file {path} is larger than 4 MiB", "Give a file with one node a line.")
    lines = (line.partition("#")[0].strip().removeprefix("node/") for line in text.splitlines())
    names = tuple(dict.fromkeys(line for line in lines if line))
    if not names:
        raise UsageError(f"--order-file {path} names no node", "Give a file with one node a line.")
    spaced = next((name for name in names if any(c.isspace() for c in name)), "")
    if spaced:
        raise UsageError(f"--order-file {path}: {spaced[:80]!r} is no name of a node", "Write one node a line.")
    return names
