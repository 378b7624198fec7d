"""What CoreDNS is called where EKS or kubeadm installs it: its Deployment, ConfigMap, container and add-on alike."""

from __future__ import annotations

from kubectl_eksdoc.core.model.selectors import Labels

SYSTEM, NAME, SERVICE = "kube-system", "coredns", "kube-dns"
LABEL = ("k8s-app", "kube-dns")
"""By it the service selects its pods."""
SELECTOR = "=".join(LABEL)
COREFILE = "Corefile"
"""The key of its ConfigMap."""


def is_coredns(namespace: str, labels: Labels) -> bool:
    """Whether a pod is one of those that the service sends to."""
    key, value = LABEL
    return namespace == SYSTEM and labels.get(key) == value
