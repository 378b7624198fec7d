"""A file that says in which order nodes go."""

from __future__ import annotations

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.documents import read_text

MOST_BYTES = 4 << 20
"""Names of more nodes than any cluster has."""

_WANTED = "Give a file in UTF-8 with one node a line, such as -o name prints."


def read_order(path: str) -> tuple[str, ...]:
    """The nodes named in the file `path`, one a line, each once; ``#`` begins a comment, ``node/`` may stand before.

    Raises:
        UsageError: the file cannot be read, is no text, or names no node.
    """
    text = read_text(path, "--order-file", MOST_BYTES, _WANTED)
    lines = (line.partition("#")[0].strip().removeprefix("node/") for line in text.splitlines())
    names = tuple(dict.fromkeys(line for line in lines if line))
    if not names:
        raise UsageError(f"--order-file {path} names no node", _WANTED)
    strange = next((name for name in names if not name.isprintable() or any(c.isspace() for c in name)), "")
    if strange:
        raise UsageError(f"--order-file {path}: {strange[:80]!r} is no name of a node", "Write one node a line.")
    return names
