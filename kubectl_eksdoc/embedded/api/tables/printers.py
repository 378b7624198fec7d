"""Which printer shows which resource; what has none of its own is shown by name and creation."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.embedded.api.resources import Served
from kubectl_eksdoc.embedded.api.tables import (
    access,
    autoscalers,
    cluster,
    custom,
    events,
    extensions,
    jobs,
    network,
    nodes,
    pods,
    storage,
    workloads,
)
from kubectl_eksdoc.embedded.api.tables.columns import CREATED_DESCRIPTION, NAME, Cells, Column, Printer
from kubectl_eksdoc.embedded.api.tables.fields import name, text


def _created(document: Doc, _: datetime) -> Cells:
    return [name(document), text(document, "metadata", "creationTimestamp")]


_CREATED_AT = Printer((NAME, Column("Created At", CREATED_DESCRIPTION, type="date")), _created)
"""The default of apiserver (registry/rest/table.go): roles and CustomResourceDefinitions have no other."""

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

_PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "componentstatuses"): cluster.COMPONENTS,
    ("", "configmaps"): cluster.CONFIG_MAPS,
    ("", "endpoints"): network.ENDPOINTS,
    ("", "events"): events.EVENTS,
    ("events.k8s.io", "events"): events.EVENTS,
    ("", "namespaces"): cluster.NAMESPACES,
    ("", "nodes"): nodes.NODES,
    ("", "persistentvolumeclaims"): storage.CLAIMS,
    ("", "persistentvolumes"): storage.VOLUMES,
    ("", "pods"): pods.PODS,
    ("", "replicationcontrollers"): workloads.REPLICATION_CONTROLLERS,
    ("", "resourcequotas"): cluster.QUOTAS,
    ("", "secrets"): cluster.SECRETS,
    ("", "serviceaccounts"): cluster.SERVICE_ACCOUNTS,
    ("", "services"): network.SERVICES,
    ("apps", "controllerrevisions"): workloads.CONTROLLER_REVISIONS,
    ("apps", "daemonsets"): workloads.DAEMON_SETS,
    ("apps", "deployments"): workloads.DEPLOYMENTS,
    ("apps", "replicasets"): workloads.REPLICA_SETS,
    ("apps", "statefulsets"): workloads.STATEFUL_SETS,
    ("autoscaling", "horizontalpodautoscalers"): autoscalers.AUTOSCALERS,
    ("batch", "cronjobs"): jobs.CRON_JOBS,
    ("batch", "jobs"): jobs.JOBS,
    ("coordination.k8s.io", "leases"): cluster.LEASES,
    ("discovery.k8s.io", "endpointslices"): network.ENDPOINT_SLICES,
    ("networking.k8s.io", "ingressclasses"): network.INGRESS_CLASSES,
    ("networking.k8s.io", "ingresses"): network.INGRESSES,
    ("networking.k8s.io", "networkpolicies"): network.NETWORK_POLICIES,
    ("node.k8s.io", "runtimeclasses"): cluster.RUNTIME_CLASSES,
    ("policy", "poddisruptionbudgets"): workloads.BUDGETS,
    (_RBAC, "clusterrolebindings"): access.BINDINGS,
    (_RBAC, "rolebindings"): access.BINDINGS,
    ("scheduling.k8s.io", "priorityclasses"): cluster.PRIORITY_CLASSES,
    ("storage.k8s.io", "csidrivers"): storage.CSI_DRIVERS,
    ("storage.k8s.io", "csinodes"): storage.CSI_NODES,
    ("storage.k8s.io", "storageclasses"): storage.STORAGE_CLASSES,
    ("storage.k8s.io", "volumeattachments"): storage.VOLUME_ATTACHMENTS,
    ("apiregistration.k8s.io", "apiservices"): extensions.API_SERVICES,
    (_ADMISSION, "mutatingadmissionpolicies"): extensions.MUTATING_POLICIES,
    (_ADMISSION, "mutatingadmissionpolicybindings"): extensions.POLICY_BINDINGS,
    (_ADMISSION, "mutatingwebhookconfigurations"): extensions.WEBHOOKS,
    (_ADMISSION, "validatingadmissionpolicies"): extensions.VALIDATING_POLICIES,
    (_ADMISSION, "validatingadmissionpolicybindings"): extensions.POLICY_BINDINGS,
    (_ADMISSION, "validatingwebhookconfigurations"): extensions.WEBHOOKS,
}


def printer_of(served: Served) -> Printer:
    """What shows the objects of this resource."""
    if served.custom:
        return custom.printer(served)
    return _PRINTERS.get((served.group, served.plural), _CREATED_AT)
