"""What was asked for, by the names of the flags: for a document's metadata, and to say it again as a command line."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.drain.policy import AUTO, DEFAULT_EFFORT, DrainPolicy, Targeting


def as_given(targeting: Targeting, policy: DrainPolicy, baseline: str = "", order_file: str = "") -> dict[str, object]:
    """What was asked for, by the names of the flags, for the document's metadata; the files by their paths."""
    lists: dict[str, object] = {
        "nodes": list(targeting.names),
        "selector": str(targeting.selector) if targeting.selector else "",
        "nodegroup": list(targeting.nodegroups),
        "older-than": str(targeting.older_than) if targeting.older_than else "",
        "pod-selector": str(policy.pod_selector) if policy.pod_selector else "",
        **_pace(policy, order_file),
        "surge-singles": policy.surge_singles,
        "wait-jobs": f"{policy.wait_jobs}s" if policy.wait_jobs else "",
        "no-cordon-skipped": not policy.cordon_skipped,
        "delete-past-budget": sorted(policy.delete_past_budget),
        "assume-budget": [f"{key}={count}" for key, count in policy.assume_budgets],
        "assume-fixed": sorted(policy.assume_fixed),
        "since": baseline,
    }
    return {name: value for name, value in lists.items() if value} | {
        "ignore-daemonsets": policy.ignore_daemonsets,
        "delete-emptydir-data": policy.delete_emptydir_data,
        "force": policy.force,
        "grace-period": -1 if policy.grace_seconds is None else policy.grace_seconds,
        "skip-wait-for-delete-timeout": policy.skip_deleting_after,
        "partial": policy.partial,
        "evict-protected": policy.evict_protected,
        "accept-unknown": sorted(policy.accept_unknown),
    }


def _pace(policy: DrainPolicy, order_file: str) -> dict[str, object]:
    """By the names of the flags; empty where one was not given. A surge of 0 is given, so it is a text."""
    at_once = policy.nodes_at_once.split(", ")
    return {
        "max-unavailable": at_once if len(at_once) > 1 else at_once[0],
        "surge": "" if policy.surge is None else str(policy.surge),
        "soft-budget": f"{policy.soft_budget}%" if policy.soft_budget else "",
        "max-evictions-per-second": policy.evictions_per_second,
        "order": policy.order if policy.order != AUTO else "",
        "order-file": order_file,
        "pin": [f"{node}={wave}" for node, wave in policy.pins],
        "effort": "" if policy.effort == DEFAULT_EFFORT else str(policy.effort),
    }
