"""What replacements need while a drain goes on, and the pods that serve it.

Evicting the only backend of one of these stops replacements in the whole cluster: nothing can be created
(a webhook that fails closed), no node comes (the autoscaler), no volume attaches, no name resolves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.network import Webhook
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.model.selectors import Labels, from_parts
from kubectl_eksdoc.core.rules.upgrades.software import KNOWN

_CONTROLLERS = {
    label: each.replacements_need
    for each in KNOWN
    if each.replacements_need
    for _, label in (*each.labels, *each.controller_labels)
}
"""Value of one of `_NAME_LABELS` on a pod → what it is. Values as the projects' own charts set them."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label by which the API server names every namespace."""

_NAME_LABELS = ("app.kubernetes.io/name", "k8s-app", "app")


@dataclass(frozen=True, slots=True)
class Backends:
    """`pods` are those that serve `what` and are Ready; `why` says what stops without them."""

    what: str
    why: str
    pods: tuple[Pod, ...]


def guards_pod_creation(webhook: Webhook) -> bool:
    """True for a webhook that must answer before a pod can be created or evicted."""
    return webhook.fails_closed and any(
        ("*" in rule.operations or "CREATE" in rule.operations)
        and ("" in rule.groups or "*" in rule.groups)
        and any(r in ("*", "*/*", "pods", "pods/*", "pods/eviction", "*/eviction") for r in rule.resources)
        for rule in webhook.rules
    )


def calls(webhook: Webhook, pod: Pod, namespaces: Mapping[str, Labels] | None) -> bool:
    """Whether its selectors let it be called for a pod like `pod`.

    `namespaces` are labels by name; None, or a pod's namespace that is missing there, counts as selected.
    """
    if not webhook.object_selector.matches(pod.labels):
        return False
    labels = namespaces.get(pod.namespace) if namespaces is not None else None
    if labels is None:
        return True
    return webhook.namespace_selector.matches({NAMESPACE_NAME: pod.namespace, **labels})


def needed_backends(cluster: Cluster) -> tuple[Backends, ...]:
    """Everything replacements need that some ready pod of this cluster serves, sorted by name."""
    ready = [p for p in cluster.pods if p.ready and p.node and p.deletion_deadline is None]
    found = [*_controllers(ready), *_webhooks(cluster, ready)]
    return tuple(sorted((b for b in found if b.pods), key=lambda b: b.what))


def _controllers(ready: Iterable[Pod]) -> Iterable[Backends]:
    serving: dict[str, list[Pod]] = defaultdict(list)
    roles: dict[int, str] = {}  # replicas share their labels
    for pod in ready:
        role = roles.get(id(pod.labels))
        if role is None:
            known = (_CONTROLLERS.get(pod.labels.get(label, ""), "") for label in _NAME_LABELS)
            role = roles[id(pod.labels)] = next(filter(None, known), "")
        # A DaemonSet has one on every node: a drain takes none of them away.
        if role and not pod.of_daemon_set:
            serving[role].append(pod)
    for role, pods in serving.items():
        yield Backends(role, f"{role} is away until its replacement is Ready", tuple(pods))


def _webhooks(cluster: Cluster, ready: Iterable[Pod]) -> Iterable[Backends]:
    if not cluster.webhooks:
        return
    services = {s.key: s for s in cluster.services}
    endpoints = _ready_endpoints(cluster)
    by_namespace: dict[str, list[Pod]] = defaultdict(list)
    for pod in ready:
        by_namespace[pod.namespace].append(pod)
    unread = cluster.unread(kinds.NAMESPACES)
    namespaces = None if unread else {n.name: n.labels for n in cluster.namespaces}
    for webhook in cluster.webhooks:
        service = services.get(webhook.service_key)
        if service is None or not service.selector or not guards_pod_creation(webhook):
            continue
        if not any(calls(webhook, pod, namespaces) for pod in cluster.pods):
            continue
        serving = endpoints.get(service.key)
        selector = from_parts(service.selector)
        pods = tuple(
            p
            for p in by_namespace[service.namespace]
            if (selector.matches(p.labels) if serving is None else p.uid in serving)
        )
        yield Backends(
            f"webhook {webhook.name}",
            f"{webhook.configuration_kind} {webhook.configuration} fails closed: without it no pod it is called for "
            "can be created",
            pods,
        )


def _ready_endpoints(cluster: Cluster) -> dict[str, set[str]]:
    """UIDs of the pods the API server reaches by each Service; one without slices is told by its selector."""
    ready: dict[str, set[str]] = defaultdict(set)
    for piece in cluster.endpoint_slices:
        uids = ready[f"{piece.namespace}/{piece.service}"]
        uids.update(e.pod_uid for e in piece.endpoints if e.ready and e.pod_uid)
    return ready
