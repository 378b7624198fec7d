"""The rights of drains: to plan them, to run them, and to look at runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.cli.rights.right import NOTHING_WITHOUT, Right
from kubectl_eksdoc.core.model import kinds, opt_ins
from kubectl_eksdoc.core.model.kinds import Resource

_LOST: Mapping[Resource, str] = {
    kinds.PRIORITY_CLASSES: "findings about preemption say priorities as numbers, without their classes",
    kinds.LEASES: "the holder of a leader election is not known, so it may go before its standbys",
    kinds.AUTOSCALERS: "advice to scale a workload says that it is not known whether an autoscaler would undo it",
    kinds.NODE_POOLS: "`--nodegroup` does not know a Karpenter NodePool that has no nodes at the moment",
    kinds.NAMESPACES: "`metadata.cluster.uid` is null",
}

DRAIN_PLAN = tuple(Right("list", r, r in NOTHING_WITHOUT, _LOST.get(r, "")) for r in kinds.ALL)

_STOPS = Right(
    "list", kinds.CONFIG_MAPS, lost="how long pods stop is known by runs from this machine alone", journal=True
)
PLAN = (*DRAIN_PLAN, _STOPS)
"""Those of a plan or a rehearsal of the live cluster."""

JOURNAL_READ = (
    Right("list", kinds.CONFIG_MAPS, True, journal=True),
    Right("get", kinds.LEASES, lost="it is not known whether somebody leads the run", journal=True),
)
ASK = (*JOURNAL_READ, Right("patch", kinds.CONFIG_MAPS, True, journal=True))
_JOURNAL = (
    Right("get", kinds.CONFIG_MAPS, True, journal=True),
    *ASK,
    *(Right(verb, kinds.LEASES, True, journal=True) for verb in ("create", "update")),
    Right("create", kinds.CONFIG_MAPS, True, journal=True),
)
# patched: cordons, the label for load balancers, and what keeps autoscalers away
_NODES = tuple(Right(verb, kinds.NODES, True) for verb in ("get", "list", "watch", "patch"))
_PODS = tuple(Right(verb, kinds.PODS, True) for verb in ("get", "list", "watch"))
_EVICT = (
    Right("create", kinds.PODS, True, subresource="eviction"),
    *(Right(verb, kinds.BUDGETS, True) for verb in ("list", "watch")),
)
_NOT_RESTARTED = "`--surge-singles` restarts nothing: the nodes of single replicas are left alone"
_NOT_DELETED = "`--delete-past-budget` deletes nothing: the nodes of those pods are left alone"
_RESTARTED = tuple(
    Right(verb, kinds.DEPLOYMENTS, lost=_NOT_RESTARTED, flag="--surge-singles", opt_in=opt_ins.PATCH_WORKLOADS)
    for verb in ("get", "patch")
)
_DELETED = (Right("delete", kinds.PODS, lost=_NOT_DELETED, flag="--delete-past-budget", opt_in=opt_ins.DELETE_PODS),)
_DETACHED = "a node is done without a look at the volumes of its pods: they may still be attached to it"
READ_FOR_RUNS = tuple(
    replace(right, lost=_DETACHED) if right.resource is kinds.VOLUME_ATTACHMENTS else right
    for right in DRAIN_PLAN
    if right.resource not in (kinds.NODES, kinds.PODS, kinds.BUDGETS)
)
WATCH = tuple(Right(v, r, True) for r in (kinds.NODES, kinds.PODS, kinds.BUDGETS) for v in ("list", "watch"))
RUN = (*_NODES, *_PODS, *_EVICT, *_JOURNAL, *_RESTARTED, *_DELETED, *READ_FOR_RUNS)
INSIDE = tuple(each for each in RUN if each not in _DELETED)
"""Those of a run that nobody watches over: it deletes no pod past its budget."""

ROLLBACK = (*_NODES, *_PODS, *(right for right in _EVICT if not right.subresource), *_JOURNAL)
STATUS = (*JOURNAL_READ, Right("list", kinds.NODES, lost="runs whose journal is gone are not found"))
ATTACHED = (*WATCH, *READ_FOR_RUNS)

_UNOFFERED = "names are not offered"
_OFFERED = (kinds.NODES, kinds.NODE_POOLS, kinds.NAMESPACES, kinds.PODS, kinds.BUDGETS)
NAMES = (
    *(Right("list", each, lost=_UNOFFERED) for each in _OFFERED),
    Right("list", kinds.CONFIG_MAPS, lost=_UNOFFERED, journal=True),
)
"""Asked for when somebody presses Tab; nothing else needs them."""
