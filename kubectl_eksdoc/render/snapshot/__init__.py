"""What a snapshot holds, in every format.

Belongs here: what is shown of a snapshot that was taken, in which order and in which words.
Never here: what may be written down, and how the file is made.
"""

from __future__ import annotations

from kubectl_eksdoc.render.snapshot.formats import FORMATS
from kubectl_eksdoc.render.snapshot.view import SnapshotView

__all__ = ["FORMATS", "SnapshotView"]
