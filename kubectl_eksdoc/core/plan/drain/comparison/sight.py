"""What a plan could judge: that it does not have a finding of another plan means something only where it could look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model.baseline import Outline
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.earlier import FindingOutline
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.drain.outcome import TargetVerdict
from kubectl_eksdoc.core.plan.since.side import needs_of

_NEEDS = needs_of(Code.of_area("drain"))
_CLUSTER = "Cluster"
"""The kind of subject of a question that could not be answered for any object."""

_NODE = "Node"


@dataclass(frozen=True, slots=True)
class Sight:
    """`read` are the kinds that were known, `unanswered` the codes that stayed open for the whole cluster.

    `open_nodes` are the targets that could not be judged; `nodes` are those on which a code is about some pod.
    """

    read: frozenset[str]
    unanswered: frozenset[str]
    open_nodes: frozenset[str]
    nodes: Mapping[str, frozenset[str]]

    def lacks(self, finding: FindingOutline, other: Sight) -> bool:
        """True when this plan could not judge what the plan of `other`, which has `finding`, could."""
        subject = finding.subject
        if subject.kind == _CLUSTER and finding.status is Status.UNKNOWN:
            return False  # it is the open question itself
        needs = _NEEDS.get(finding.code, frozenset())
        on = {subject.name} if subject.kind == _NODE else other.nodes.get(finding.code, frozenset())
        return (
            finding.code in self.unanswered
            or bool((needs & other.read) - self.read)
            or bool(self.open_nodes & (on - other.open_nodes))
        )


def sight(plan: Outline, read: frozenset[str]) -> Sight:
    nodes: dict[str, set[str]] = {}
    for code, node in plan.stops:
        nodes.setdefault(code, set()).add(node)
    return Sight(
        read=read,
        unanswered=frozenset(
            f.code for f in plan.findings if f.status is Status.UNKNOWN and f.subject.kind == _CLUSTER
        ),
        open_nodes=frozenset(t.name for t in plan.targets if t.verdict == TargetVerdict.UNKNOWN.value),
        nodes={code: frozenset(names) for code, names in nodes.items()},
    )
