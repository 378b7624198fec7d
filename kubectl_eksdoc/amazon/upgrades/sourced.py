"""The answer "does it fit": what every table of upgrades speaks in."""

from __future__ import annotations

from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource
from kubectl_eksdoc.model.quantities import Version


class Fit(str, Enum):
    """Of one thing's version to another's."""

    FITS = "fits"
    TOO_OLD = "too old"
    TOO_NEW = "too new"
    UNTESTED = "untested"  # its makers test others, and do not say that this one fails
    ABSENT = "absent"  # and it has to be there
    UNKNOWN = "unknown"


@frozen
class SourcedVerdict:
    """`why` in a clause; `source` is None only where nothing is known."""

    fit: Fit
    why: str
    source: KnowledgeSource | None = None


def minor_of(version: Version) -> Version:
    """Without its patch."""
    return Version(version.major, version.minor)


def in_words(version: Version) -> str:
    """As EKS writes it, without the v: ``1.33``, ``1.33.1``."""
    return str(version)[1:]


def beyond(version: Version, read_to: Version, table: str) -> Unknown | None:
    """That a `table` says nothing of a Kubernetes version, as it ends before; None where it reaches so far."""
    if minor_of(version) > read_to:
        return Unknown(f"{table} ends with Kubernetes {in_words(read_to)}")
    return None
