"""What is shown of the rights of commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.opt_ins import OptIn
from kubectl_eksdoc.core.plan.permissions.held import Held
from kubectl_eksdoc.core.plan.permissions.objects import Subject
from kubectl_eksdoc.core.plan.permissions.wanted import Wanted
from kubectl_eksdoc.core.rules.iam_resources import Place


@dataclass(frozen=True, slots=True)
class PermissionsView:
    """`name` of the role. `given`: the commands as they were named, none for all that read; `each`: every command that
    there is, where none was named. `doubts`: what an action may need besides, in sentences. `more`: the words by which
    the same is printed again; `offered`: opt-ins that are not granted, and that the commands can use. `cautions`: what
    other rights allow besides, in sentences."""

    name: str
    wanted: Wanted
    given: tuple[str, ...]
    subjects: tuple[Subject, ...]
    place: Place
    each: tuple[Wanted, ...]
    tool_version: str
    doubts: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    offered: tuple[OptIn, ...] = ()
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckView:
    """`options` as they were given."""

    held: tuple[Held, ...]
    cluster: Cluster
    options: Mapping[str, object]
    tool_version: str
