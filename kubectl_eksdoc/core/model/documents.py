"""What the documents of this tool are called: who writes them and who reads a saved one must agree."""

from __future__ import annotations

API_VERSION = "eksdoc.io/v1alpha1"
ADDON_AFTERMATH = "AddonAftermath"
ADDON_DIFF = "AddonDiff"
ADDON_UPDATE = "AddonUpdate"
COREDNS_LAMEDUCK = "CorednsLameduck"
DNS_CHANGE = "DnsChange"
DRAIN_PLAN = "DrainPlan"
DRAIN_REHEARSAL = "DrainRehearsal"
DRAIN_RUN = "DrainRun"
DRAIN_RUN_EVENT = "DrainRunEvent"
DRAIN_RUN_STATUS = "DrainRunStatus"
DRAIN_WATCH = "DrainWatch"
IMDS_ACTIVE_PROBE = "ImdsActiveProbe"
IMDS_FIX = "ImdsFix"
IMDS_PROBE = "ImdsProbe"
