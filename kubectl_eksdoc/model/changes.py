"""What has changed in a cluster and around it, as those tell it who keep a past: revisions, Events, updates of EKS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kubectl_eksdoc.model.asked import NOT_ASKED, Absent, Unknown
from kubectl_eksdoc.model.aws.addons import UpdateHistory
from kubectl_eksdoc.model.findings import Subject


@dataclass(frozen=True, slots=True)
class Revision:
    """A pod template that a workload was given: a ReplicaSet, or a ControllerRevision. `number`: "" where none is
    told."""

    of: Subject
    at: datetime
    number: str = ""


@dataclass(frozen=True, slots=True)
class ReportedEvent:
    """An Event of Kubernetes, of the last hour as a rule. `at`: the last time; `count`: how often."""

    at: datetime
    reason: str
    about: Subject
    message: str = ""
    warning: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class OtherChange:
    """Anything else that has a time: what AWS did to node groups, templates or the cluster."""

    at: datetime
    subject: Subject
    what: str
    source: str


@dataclass(frozen=True, slots=True)
class ReportedChanges:
    """Each answer, or why there is none. `revisions`: by the kind of what they are of (Deployment, DaemonSet);
    `addons`: updates by the name of the add-on; `others`: by what was asked, such as ``updates of node groups``."""

    revisions: Mapping[str, tuple[Revision, ...] | Unknown] = field(default_factory=dict)
    events: tuple[ReportedEvent, ...] | Unknown = NOT_ASKED
    addons: Mapping[str, UpdateHistory | Absent | Unknown] | Unknown = NOT_ASKED
    others: Mapping[str, tuple[OtherChange, ...] | Unknown] = field(default_factory=dict)
