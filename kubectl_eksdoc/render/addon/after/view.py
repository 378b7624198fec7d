"""What is shown of past updates of one or more add-ons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc import __version__
from kubectl_eksdoc.addon_diff.aftermath.facts import Aftermath
from kubectl_eksdoc.model.cluster import Cluster


@dataclass(frozen=True, slots=True)
class AfterView:
    """`found` by the names of the add-ons; `options` as they were given; `recognised`: how it is known that AWS
    describes the cluster that was read."""

    found: tuple[Aftermath, ...]
    cluster: Cluster
    options: Mapping[str, object]
    recognised: str = ""
    tool_version: str = __version__
