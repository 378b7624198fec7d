"""The labels of objects that we make or print: by them they are found again (kubernetes.io, recommended labels)."""

from __future__ import annotations

NAME, INSTANCE, VERSION = "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version"
COMPONENT, MANAGED_BY = "app.kubernetes.io/component", "app.kubernetes.io/managed-by"
OF_NAMESPACE = "eksdoc.io/namespace"
"""In which what they belong to runs: some are in no namespace, or in another one."""
PROGRAM = "kubectl-eksdoc"
MANAGER = "eksdoc"
