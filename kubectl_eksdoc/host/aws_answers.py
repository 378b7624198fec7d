"""What AWS answered when a snapshot was made: a file in it, beside the lists of objects."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.host.archive import BOUNDS, BadArchive, Bounds, parts

STEM = "aws-answers"
"""The name of the file, without ``.json``."""

LARGEST = 256 << 20


def aws_answers(path: str, bounds: Bounds = BOUNDS) -> bytes | None:
    """None where there are none; standard input is read once, by whoever reads the cluster.

    Raises:
        SnapshotError: it cannot be opened or read.
    """
    if path == "-":
        return None
    try:
        for part in parts(path, bounds):
            if part.stem == STEM:
                return _whole(part.chunks())
    except (BadArchive, OSError) as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {error}", "Make or copy it again.") from error
    return None


def _whole(chunks: Iterator[bytes]) -> bytes:
    read = bytearray()
    for chunk in chunks:
        read += chunk
        if len(read) > LARGEST:
            raise BadArchive(f"the answers of AWS in it are larger than {LARGEST >> 20} MiB")
    return bytes(read)
