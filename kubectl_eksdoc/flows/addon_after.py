"""What an add-on's update has changed: its revisions, AWS's side, the live objects and who uses them, put together."""

from __future__ import annotations

import json
from collections.abc import Callable

from kubectl_eksdoc.addon_diff.aftermath.facts import Aftermath, PastFacts
from kubectl_eksdoc.addon_diff.aftermath.looking import look_back
from kubectl_eksdoc.flows.addon import JudgeBy, addon_facts, judge_of
from kubectl_eksdoc.flows.ports import Histories, Objects
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, at, named
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.addons import AddonPast, AddonSide
from kubectl_eksdoc.model.aws.clusters import EksCluster
from kubectl_eksdoc.model.cluster import Cluster

ChartOf = Callable[[str, str], "Doc | Unknown"]

HISTORIES = tuple(kinds.HISTORY_OF.values())
"""In what of the cluster earlier pod templates are kept."""

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def look_back_on(
    cluster: Cluster,
    eks: EksCluster,
    past: AddonPast,
    objects: Objects,
    histories: Histories,
    chart: ChartOf,
    judge: JudgeBy,
) -> Aftermath:
    """`chart`: by add-on and version, what its chart sets; `judge`: as `flows.addon.plan_addon`.

    Raises:
        ClusterError: the cluster cannot be talked to.
    """
    side = AddonSide(past.addon, past.now, past.now, past.values, True, (past.now.version,))
    now = addon_facts(cluster, eks, side, objects)
    wanted = {(of.kind, of.namespace) for of in map(named, now.objects) if of.kind in kinds.HISTORY_OF}
    kept: dict[str, tuple[Doc, ...] | Unknown] = {}
    for kind, namespace in sorted(wanted):
        found, before = histories.listed(kinds.HISTORY_OF[kind], namespace), kept.get(kind, ())
        kept[kind] = (
            found if isinstance(found, Unknown) else before if isinstance(before, Unknown) else (*before, *found)
        )
    applied = {named(live): said for live in now.objects if (said := _applied(live)) is not None}
    facts = PastFacts(now, past.update, past.history, kept, cluster.pods, applied)
    return look_back(facts, lambda version: chart(past.addon.name, version), judge_of(past.now, judge))


def _applied(live: Doc) -> Doc | None:
    """None where nothing was applied by kubectl, or what is noted of it is none."""
    text = at(live, "metadata", "annotations", _APPLIED)
    try:
        said = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None
