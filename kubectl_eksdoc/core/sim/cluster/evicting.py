"""The eviction subresource over the store: the rule is in `rules.eviction_requests`, here is what it reads and writes.

Source: pkg/registry/core/pod/storage/eviction.go, Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.api.statuses import Refusal, terminating
from kubectl_eksdoc.core.rules.eviction_requests import EvictionRequest, Stored, conflict, serve
from kubectl_eksdoc.core.rules.evictions import Answer, Why
from kubectl_eksdoc.core.sim.cluster.disruption_targets import evicted
from kubectl_eksdoc.core.sim.cluster.disruptions import with_status
from kubectl_eksdoc.core.sim.cluster.facts import Facts
from kubectl_eksdoc.core.sim.cluster.registry import NAMESPACES, PODS, DeleteOptions, Registry
from kubectl_eksdoc.core.sim.cluster.roster import BUDGETS, Roster


class Evictions:
    """Serves evictions in one cluster."""

    def __init__(self, registry: Registry, roster: Roster, facts: Facts) -> None:
        self._registry = registry
        self._roster = roster
        self._facts = facts

    def check_namespace(self, namespace: str, pod: str) -> None:
        """The first thing that is looked at, before policies and budgets.

        Raises:
            Refusal: 403, the namespace is being deleted.
        """
        held = self._registry.store.get(NAMESPACES, ("", namespace))
        if held is not None and held.leaving:
            raise terminating(self._registry.traits[PODS].named, pod, namespace)

    def evict(self, request: EvictionRequest, grace_s: int | None = None) -> Answer:
        """The endpoint's answer, after its effects.

        Raises:
            Refusal: admission refused it (a namespace that is being deleted).
        """
        self.check_namespace(request.namespace, request.url_name)
        within = _Within(self._registry, self._roster, self._facts, request.namespace, grace_s)
        return serve(request, within, self._registry.agenda.now)


class _Within:
    """One request's `EvictionStore`."""

    def __init__(self, registry: Registry, roster: Roster, facts: Facts, namespace: str, grace_s: int | None) -> None:
        self._registry = registry
        self._roster = roster
        self._facts = facts
        self._namespace = namespace
        self._grace_s = grace_s

    def get(self, name: str) -> Stored | None:
        item = self._registry.store.get(PODS, (self._namespace, name))
        return None if item is None else Stored(self._facts.pod(item), str(item.version))

    def guards(self, pod: Pod) -> Sequence[Budget]:
        return self._roster.guards(pod.namespace, pod.labels)

    def budget(self, name: str) -> Budget | None:
        return self._roster.budget((self._namespace, name))

    def write(self, budget: Budget) -> bool:
        item = self._registry.store.get(BUDGETS, (self._namespace, budget.name))
        if item is None:
            return False
        written = with_status(item.doc, budget, self._registry.agenda.now)
        self._registry.update(item, written, status=True)
        return True

    def delete(self, name: str, uid: str | None, resource_version: str | None, dry_run: bool) -> Answer | None:
        item = self._registry.store.get(PODS, (self._namespace, name))
        if item is None:
            return Answer(404, Why.REQUEST, "NotFound", f'pods "{name}" not found')
        refused = conflict(Stored(self._facts.pod(item), str(item.version)), uid, resource_version)
        if refused is not None:
            return refused
        if not dry_run:
            item = self._registry.update(item, evicted(item.doc, self._registry.now), status=True)
        try:
            self._registry.delete(item, DeleteOptions(self._grace_s, uid, dry_run=dry_run))
        except Refusal as refusal:
            said = refusal.status
            return Answer(said.code, Why.REQUEST, said.reason, said.message)
        return None
