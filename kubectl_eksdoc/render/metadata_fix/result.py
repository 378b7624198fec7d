"""A fix as ``--apply -o json`` prints it; and one to choose, in a probe."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from kubectl_eksdoc.drain.run.stages import Stage
from kubectl_eksdoc.imds_probe.fixes import fix
from kubectl_eksdoc.imds_probe.run import Became, Done
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.render.command_result import CommandResult, metadata
from kubectl_eksdoc.render.metadata_fix import FixView, table
from kubectl_eksdoc.render.result import Count, Meta, Positive, Printed, Text, Texts


class _Blast(Printed):
    """Nodes that are replaced, pods that are evicted or restarted, instances that are changed as they run."""

    nodes: Count
    pods: Count
    instances: Count
    how: Text


class FixChoice(Printed):
    """One way to fix it. commands and wayBack are whole lines for a POSIX shell."""

    name: Literal[
        "instance-options",
        "controller-flags",
        "restart-pods",
        "own-role",
        "node-class",
        "template-version",
        "replace-nodes",
        "new-group",
    ]
    when: When
    does: Text
    by_this_tool: bool
    """imds-probe --apply --fix NAME carries it out."""
    commands: Texts
    way_back: Texts
    blast: _Blast
    lasts: Text
    cautions: Texts

    @classmethod
    def of(cls, facts: fix.Fix) -> FixChoice:
        return cls.filled(facts, by_this_tool=facts.act is not None, way_back=facts.back)


class _Part(Printed):
    """A part of the fix, or a node, as it is now."""

    what: Text
    became: Became
    why: Text | None


class _Error(Printed):
    code: str
    message: str


class _Outcome(Printed):
    whole: bool
    seconds: Count
    left: Text | None
    """Why nothing more was done though something is left."""
    parts: tuple[_Part, ...]
    template_version: Positive | None
    update: Text | None
    """EKS's own id of the node group's update."""
    stage: Stage | None
    errors: tuple[_Error, ...]
    nodes: tuple[_Part, ...]
    """The nodes of the group afterwards."""
    proofs: tuple[_Part, ...]
    """What pods on the nodes find; empty where none was asked."""

    @classmethod
    def of(cls, facts: Done) -> _Outcome:
        return cls.filled(facts, seconds=round(facts.seconds), template_version=facts.number or None)


class FixResult(CommandResult):
    """A fix of the instance metadata service that is to be carried out, or was: kubectl eksdoc imds-probe --apply --fix
    NAME -o json."""

    kind: Literal["ImdsFix"]
    recognised: Text | None
    run: Text | None
    journal: Text | None
    undoes: Text | None
    """The id of the fix that this one reverts."""
    fix: Literal["instance-options", "node-class", "template-version"]
    verdict: Text
    nodes: Texts
    """Those that are changed or replaced."""
    forbidden: Text | None
    """Why it is not begun."""
    tried: Texts
    """What a dry run said."""
    way_back: Texts
    fixes: tuple[FixChoice, ...]
    outcome: _Outcome | None
    """null where nothing was asked for."""
    findings: Annotated[tuple[Any, ...], Meta(max_length=0)]

    @classmethod
    def of(cls, facts: FixView) -> FixResult:
        return cls.filled(
            facts,
            metadata=metadata(facts.cluster, facts),
            fix=facts.name,
            verdict=table.verdict(facts),
            nodes=facts.act.nodes,
            way_back=facts.back,
            outcome=facts.done,
            findings=(),
        )
