"""A fix to choose, as ``-o json`` and ``-o yaml`` print it."""

from __future__ import annotations

from typing import Literal

from kubectl_eksdoc.imds_probe.fixes import fix
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.render.result import Count, Printed, Text, Texts
from kubectl_eksdoc.render.text import counted


def reach(blast: fix.BlastRadius) -> str:
    """``replaces 3 nodes, evicts 12 pods``."""
    found = []
    if blast.nodes:
        found.append(f"replaces {counted(blast.nodes, 'node')}")
    if blast.pods:
        found.append(f"{'evicts' if blast.nodes else 'restarts'} {counted(blast.pods, 'pod')}")
    if blast.instances:
        found.append(f"changes {counted(blast.instances, 'instance')}")
    return ", ".join(found) or "moves nothing"


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
