"""What the screens are given when a run is shown again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.core.run.recording import Recording


@dataclass(frozen=True, slots=True)
class Again:
    """A run that is shown again: `path` is the file in which it was written down."""

    recording: Recording
    path: str
    ascii: bool = False
    plain: bool = False
    light: bool = False
