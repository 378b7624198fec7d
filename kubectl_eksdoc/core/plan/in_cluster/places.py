"""On which nodes a pod must not run that empties nodes, and whether any is left for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.nodes import COMPUTE_TYPE, GROUP_LABELS, HOSTNAME, Node

_OS = "kubernetes.io/os"
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Avoided:
    """`hosts`: by the label `HOSTNAME`, and by their names those `bare` of it. `groups`: names of node groups by the
    label that carries them: those of which every node goes, for what joins such a group may go soon, too."""

    hosts: tuple[str, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    bare: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.hosts) + len(self.bare)


def avoided(targets: Iterable[Node], nodes: Sequence[Node]) -> Avoided:
    """`nodes`: all of the cluster. A group of which some nodes stay is not avoided: there may be no other."""
    going = tuple(targets)
    names = {node.name for node in going}
    staying = [node for node in nodes if node.name not in names]
    groups = []
    for label in GROUP_LABELS:
        left = {node.labels.get(label) for node in staying}
        gone = sorted({node.labels[label] for node in going if label in node.labels} - left - {""})
        groups += [(label, tuple(gone))] if gone else []
    hosts = {node.labels[HOSTNAME] for node in going if HOSTNAME in node.labels}
    bare = {node.name for node in going if HOSTNAME not in node.labels}
    return Avoided(tuple(sorted(hosts)), tuple(groups), tuple(sorted(bare)))


def affinity(what: Avoided) -> Doc:
    """Linux, no Fargate, and no target: required, whatever the scheduler would like better. Out of the groups only
    where there is another place: new nodes of a cluster's only pool join it, and nothing else would ever come."""
    keeps: list[tuple[str, str, tuple[str, ...]]] = [("In", _OS, ("linux",)), ("NotIn", COMPUTE_TYPE, ("fargate",))]
    keeps += [("NotIn", HOSTNAME, what.hosts)] if what.hosts else []
    # NotIn holds where the label is missing, and a field's requirement takes one value only (pkg/apis/core/validation).
    fields = [_asked("NotIn", "metadata.name", (name,)) for name in what.bare]
    term = {"matchExpressions": [_asked(*each) for each in keeps], **({"matchFields": fields} if fields else {})}
    found: Doc = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    if what.groups:
        liked = {"matchExpressions": [_asked("NotIn", label, names) for label, names in what.groups]}
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [{"weight": 100, "preference": liked}]
    return {"nodeAffinity": found}


def _asked(operator: str, key: str, values: Sequence[str]) -> Doc:
    return {"key": key, "operator": operator, "values": list(values)}


def rooms(nodes: Iterable[Node], what: Avoided) -> int:
    """So many nodes are there now on which it may run: ready, not cordoned, without a taint that keeps it away."""
    return sum(_may_run(node, what) for node in nodes)


def _may_run(node: Node, what: Avoided) -> bool:
    fits = node.labels.get(_OS) == "linux" and node.labels.get(COMPUTE_TYPE) != "fargate"
    kept = any(taint.effect in _KEEPS_AWAY for taint in node.taints)
    goes = node.labels.get(HOSTNAME) in what.hosts or node.name in what.bare
    return fits and node.ready == "True" and not (node.unschedulable or kept or goes)
