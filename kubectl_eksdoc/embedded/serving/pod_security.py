"""The admission plugin PodSecurity: pods that their namespace's level forbids are not created.

Source: k8s.io/pod-security-admission admission/admission.go (EvaluatePod). Only the label ``enforce`` counts, in its
latest version; there are no exemptions, no warnings and no audit.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.rules.api import statuses
from kubectl_eksdoc.core.rules.api.statuses import Named
from kubectl_eksdoc.core.rules.pod_security import refusal
from kubectl_eksdoc.core.sim.cluster.registry import NAMESPACES
from kubectl_eksdoc.core.sim.cluster.store import Store

ENFORCED = "pod-security.kubernetes.io/enforce"

_PODS = Named("pods", "", "Pod")


def check(store: Store, namespace: str, name: str, spec: Doc) -> None:
    """
    Raises:
        Refusal: 403, the level of the namespace forbids such a pod.
    """
    held = store.get(NAMESPACES, ("", namespace))
    labels = (at(held.doc, "metadata", "labels") if held is not None else None) or {}
    if said := refusal(str(labels.get(ENFORCED, "")), spec):
        raise statuses.forbidden(_PODS, name, said)
