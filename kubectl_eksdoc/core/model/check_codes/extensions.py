"""Codes about what extends the API: webhooks, servers of other groups, custom resources."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

_HOOKS = (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS, kinds.NAMESPACES)
_BACKENDS = (kinds.SERVICES, kinds.ENDPOINT_SLICES)

WEBHOOK_DOWN = Code(
    "webhook-down",
    "Webhooks behind which nobody answers",
    "The Service that the API server is to call is not there, or has no ready endpoint. With failurePolicy Fail every "
    "request of its rules is refused; with Ignore it is let through unseen.",
    (*_HOOKS, *_BACKENDS),
)
WEBHOOK_ALL = Code(
    "webhook-catches-all",
    "Webhooks that an upgrade cannot do without",
    "They fail closed, and are called for nodes, for leases, or for pods of kube-system. While nobody answers, new "
    "nodes cannot join and what the webhook itself needs cannot start.",
    (*_HOOKS, kinds.ENDPOINT_SLICES, kinds.NODES, kinds.PODS),
)
API_DOWN = Code(
    "apiservice-down",
    "Groups of the API whose server does not answer",
    "An APIService that is not Available: discovery is not complete, so namespaces cannot be deleted, and what reads "
    "the group, as autoscalers do metrics, goes without.",
    (kinds.API_SERVICES,),
)
CONVERSION = Code(
    "crd-conversion",
    "Custom resources that nobody converts",
    "The Service of a CustomResourceDefinition's conversion webhook is not there, or has no ready endpoint: objects "
    "that lie in another version than is asked for can be neither read nor written.",
    (kinds.DEFINITIONS, *_BACKENDS),
)
STORED = Code(
    "crd-stored-version",
    "Custom resources that lie in an old version",
    "status.storedVersions names a version that is not served any more, or is deprecated. A new release of the "
    "definition that leaves it out is refused until all objects are written anew.",
    (kinds.DEFINITIONS,),
)
