"""What the documents of this tool are called: who writes them and who reads a saved one must agree.

The labels of objects that we make or print: by them they are found again (kubernetes.io, recommended labels).
"""

from __future__ import annotations

API_VERSION = "eksdoc.io/v1alpha1"
ADDON_DIFF = "AddonDiff"
DRAIN_PLAN = "DrainPlan"
DRAIN_RUN = "DrainRun"
DRAIN_RUN_EVENT = "DrainRunEvent"
DRAIN_RUN_STANDING = "DrainRunStanding"
FLEET = "Fleet"
IMDS_PROBE = "ImdsProbe"
UPGRADE_CHECK = "UpgradeCheck"


NAME, INSTANCE, VERSION = "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version"
COMPONENT, MANAGED_BY = "app.kubernetes.io/component", "app.kubernetes.io/managed-by"
OF_NAMESPACE = "eksdoc.io/namespace"
"""In which what they belong to runs: some are in no namespace, or in another one."""
PROGRAM = "kubectl-eksdoc"
MANAGER = "eksdoc"
