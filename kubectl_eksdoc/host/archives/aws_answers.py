"""What AWS answered when a snapshot was made: a file in it, beside the lists of objects."""

from __future__ import annotations

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.host.archives.archive import BOUNDS, BadArchive, Bounds, parts, whole

STEM = "aws-answers"
"""The name of the file, without ``.json``."""

_PATH = "Check the path and its permissions."


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
                return whole(part, "the answers of AWS in it are")
    except OSError as error:
        raise SnapshotError(f"cannot open the snapshot {path}: {error.strerror or error}", _PATH) from error
    except BadArchive as error:
        raise SnapshotError(f"cannot read the snapshot {path}: {error}", "Make or copy it again.") from error
    return None
