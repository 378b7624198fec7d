"""Codes about workloads that do not stand an upgrade well."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

BOUNCING = Code(
    "pods-bouncing",
    "Workloads whose pods are not Ready, or restart again and again",
    "While they are, budgets refuse evictions, and the update of a managed node group gives up on a node after 15 "
    "minutes; and afterwards nobody can tell whether the upgrade broke them. Pods without a node are not judged here, "
    "and those of Jobs only where something is wrong with them.",
    (kinds.PODS, kinds.REPLICA_SETS, kinds.JOBS),
)
NO_BUDGET = Code(
    "budget-missing",
    "Deployments and StatefulSets without a budget",
    "They have two replicas or more, and no PodDisruptionBudget keeps any of them while nodes are replaced.",
    (kinds.DEPLOYMENTS, kinds.STATEFUL_SETS, kinds.BUDGETS),
)
