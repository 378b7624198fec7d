"""A file that says in which order nodes go."""

from __future__ import annotations

from pathlib import Path

from kubectl_eksdoc.errors import UsageError

MOST_BYTES = 4 << 20
"""Names of more nodes than any cluster has."""

_WANTED = "Give a file in UTF-8 with one node a line, such as -o name prints."


def read_order(path: str) -> tuple[str, ...]:
    """The nodes named in the file `path`, one a line, each once; ``#`` begins a comment, ``node/`` may stand before.

    Raises:
        UsageError: the file cannot be read, is no text, or names no node.
    """
    lines = (line.partition("#")[0].strip().removeprefix("node/") for line in _text(path).splitlines())
    names = tuple(dict.fromkeys(line for line in lines if line))
    if not names:
        raise UsageError(f"--order-file {path} names no node", _WANTED)
    strange = next((name for name in names if not name.isprintable() or any(c.isspace() for c in name)), "")
    if strange:
        raise UsageError(f"--order-file {path}: {strange[:80]!r} is no name of a node", "Write one node a line.")
    return names


def _text(path: str) -> str:
    if path == "-":
        raise UsageError("--order-file reads a file, not standard input", _WANTED)
    try:
        with Path(path).open("rb") as file:
            read = file.read(MOST_BYTES + 1)
        if len(read) > MOST_BYTES:
            raise UsageError(f"--order-file {path} is larger than {MOST_BYTES >> 20} MiB", _WANTED)
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"--order-file {path} is no text in UTF-8", _WANTED) from error
    except (OSError, ValueError) as error:  # ValueError: a path that no system takes
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"--order-file {path} cannot be read: {why}", _WANTED) from error
