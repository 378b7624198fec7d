"""What the documents of this tool are called: who writes them and who reads a saved one must agree."""

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
