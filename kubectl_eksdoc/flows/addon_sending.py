"""What an add-on's update would send, judged: by live objects that are read once, however often they are looked at."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.facts import Asked
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.run.guards import Guard, refusals
from kubectl_eksdoc.addon_diff.run.sending import Sending, sending
from kubectl_eksdoc.addon_diff.run.way_back import WayBack, way_back
from kubectl_eksdoc.flows.addon import JudgeBy, plan_addon
from kubectl_eksdoc.flows.ports import Objects
from kubectl_eksdoc.model.api_objects import Doc, Named
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import AddonSide
from kubectl_eksdoc.model.aws.clusters import EksCluster
from kubectl_eksdoc.model.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Prepared:
    """`plan` is of what is sent, which is what was asked for or `sending.asked`; `guards`: why it must not be."""

    plan: AddonPlan
    sending: Sending
    guards: tuple[Guard, ...]
    back: WayBack | Unknown

    @property
    def same(self) -> tuple[object, ...]:
        """What must not be another one between the moment it was shown and the one it is sent."""
        facts, mode = self.plan.facts, self.plan.asked.mode
        fields = [(str(change.field), change.live, change.by_mode[mode]) for change in self.plan.changes]
        found = sorted((each.code.name, each.message) for each in self.plan.findings)
        addon = (facts.addon.version, facts.addon.status, facts.addon.configuration, facts.target.version)
        return addon, self.plan.asked, fields, found, [each.why for each in self.guards]


def prepared(
    cluster: Cluster,
    eks: EksCluster,
    side: AddonSide,
    objects: Objects,
    asked: Asked,
    as_asked: bool,
    judge: JudgeBy,
) -> Prepared:
    """`as_asked`: no values are sent that nobody gave.

    Raises:
        ClusterError: the cluster cannot be talked to.
    """
    seen = _SeenOnce(objects)
    first = plan_addon(cluster, eks, side, seen, asked, judge)
    what = sending(first, as_asked)
    plan = first if what.asked == asked else plan_addon(cluster, eks, side, seen, what.asked, judge)
    return Prepared(plan, what, refusals(plan, what.on_purpose), way_back(first))


class _SeenOnce:
    """An `Objects`. Mutable: what was read stays as it was."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._seen: dict[Named, Doc | Absent | Unknown] = {}

    def one(self, of: Named) -> Doc | Absent | Unknown:
        if of not in self._seen:
            self._seen[of] = self._objects.one(of)
        return self._seen[of]
