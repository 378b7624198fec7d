"""An answer of a command that was saved earlier, reduced to what another one is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.findings import Severity, Status, Subject


@dataclass(frozen=True, slots=True)
class FindingOutline:
    code: str
    subject: Subject
    severity: Severity
    status: Status
    message: str


@dataclass(frozen=True, slots=True)
class SavedResult:
    """`file` is the path as given; `options` are JSON values by the names of the flags, as it was asked for.

    `read` are the kinds whose objects were known completely (``pods``, ``deployments.apps``). `codes` are those that
    were looked for, None where the document does not tell; `addons` the target versions of those that were looked at,
    by name. `way` is ``1.33 → 1.34``, "" where there is none. `uids` are those of its objects: no object of another
    cluster has one.
    """

    file: str
    identity: Identity
    source: Source
    observed_at: datetime
    tool_version: str
    options: Mapping[str, object] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    findings: tuple[FindingOutline, ...] = ()
    suppressed: tuple[FindingOutline, ...] = ()
    codes: frozenset[str] | None = None
    addons: Mapping[str, str] = field(default_factory=dict)
    way: str = ""
    uids: frozenset[str] = frozenset()
