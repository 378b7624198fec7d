"""Which rights a user has, as ``-o json`` and ``-o yaml`` print it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from kubectl_eksdoc.permissions import Held
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.permissions.report import HeldReport, verdict
from kubectl_eksdoc.render.result import Meta, Printed, Text, Texts, UnsetType

_STATES = {True: "held", False: "missing", None: "unknown"}
_SomeTexts = Annotated[Texts, Meta(min_length=1)]


class _Right(Printed):
    verb: Text
    group: str
    """Empty for the core group."""
    resource: Text
    """The plural; a path of the server, as /metrics, where it is no resource."""
    subresource: Text | None
    namespace: Text | None
    """null: everywhere."""
    required: bool
    state: Literal["held", "missing", "unknown"]
    without: _SomeTexts
    commands: _SomeTexts
    why: Text | UnsetType
    """Of what is unknown: why."""

    @classmethod
    def of(cls, facts: Held) -> _Right:
        permission = facts.needed.permission
        return cls.filled(
            permission,
            group=permission.resource.group,
            resource=permission.resource.plural,
            required=facts.needed.required,
            state=_STATES[facts.held],
            without=facts.needed.lost,
            commands=facts.needed.commands,
            why=facts.why,
        )


class PermissionResult(CommandResult):
    """Which rights of commands a user has: kubectl eksdoc permissions COMMAND --check -o json."""

    kind: Literal["PermissionCheck"]
    verdict: Text
    rights: tuple[_Right, ...]
    """Every right that the commands need, those first without which one ends with exit code 3."""
    missing: Texts
    """As RBAC names them: create pods/eviction."""
    findings: Annotated[tuple[Any, ...], Meta(max_length=0)]

    @classmethod
    def of(cls, facts: HeldReport) -> PermissionResult:
        return cls.filled(
            metadata=metadata(facts.cluster, facts),
            verdict=verdict(facts),
            rights=facts.held,
            missing=(each.needed.permission.said for each in facts.held if each.held is False),
            findings=(),
        )
