"""How sure something is that was not observed: what a document says, or what is concluded."""

from __future__ import annotations

from enum import Enum


class Confidence(str, Enum):
    HIGH = "high"  # read in source code, an API's model or the maker's own page, and nothing contradicts it
    MEDIUM = "medium"  # one good source, sources that contradict each other, or concluded from code
    LOW = "low"  # third parties only
