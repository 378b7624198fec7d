"""What a cluster answered besides its lists: single objects, logs, counters, signs and its past, as they were told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.api_usage import KindTold, Release
from kubectl_eksdoc.core.model.asked import NOT_ASKED, Absent, Unknown
from kubectl_eksdoc.core.model.changes import ChangesTold
from kubectl_eksdoc.core.model.containers import LogOf
from kubectl_eksdoc.core.model.interruption import SpotEvent
from kubectl_eksdoc.core.model.named import Named


@dataclass(frozen=True, slots=True)
class ClusterAnswers:
    """`histories`: by the full name of a resource and a namespace; `metrics`: by pod (``namespace/name``) and port.
    What nobody asked is not in them."""

    objects: Mapping[Named, Doc | Absent | Unknown] = field(default_factory=dict)
    histories: Mapping[tuple[str, str], tuple[Doc, ...] | Unknown] = field(default_factory=dict)
    logs: Mapping[LogOf, str | Absent | Unknown] = field(default_factory=dict)
    metrics: Mapping[tuple[str, int], str | Absent | Unknown] = field(default_factory=dict)
    events: tuple[SpotEvent, ...] | Unknown = NOT_ASKED
    requested: tuple[str, ...] | Unknown = NOT_ASKED
    written: tuple[KindTold, ...] = ()
    releases: tuple[Release, ...] | Unknown = NOT_ASKED
    past: ChangesTold = ChangesTold()
