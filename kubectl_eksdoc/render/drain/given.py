"""What was asked for, by the names of the flags: for a document's metadata, and to say it again as a command line."""

from __future__ import annotations

from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.model import options


def as_given(targeting: Targeting, policy: DrainPolicy, baseline: str = "", order_file: str = "") -> dict[str, object]:
    """What was asked for, by the names of the flags; files by their paths."""
    asked: dict[str, object] = {
        "nodes": list(targeting.names),
        "selector": str(targeting.selector or ""),
        "nodegroup": list(targeting.nodegroups),
        "older-than": str(targeting.older_than or ""),
        "order-file": order_file,
        "since": baseline,
    }
    return {name: value for name, value in asked.items() if value} | options.given(policy)
