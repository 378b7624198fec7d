"""What a check asks of the world besides the lists of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kubectl_eksdoc.flows.addon import JudgeBy
from kubectl_eksdoc.flows.dns import MeasuredBefore
from kubectl_eksdoc.flows.interruption import Around as InterruptionAround
from kubectl_eksdoc.flows.metadata import Tell as TellMachines
from kubectl_eksdoc.model.api_usage import ApiTold
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws.addons import AddonSide
from kubectl_eksdoc.model.aws.clusters import EksCluster
from kubectl_eksdoc.model.aws.upgrades import UpgradeTold
from kubectl_eksdoc.model.changes import ChangesTold
from kubectl_eksdoc.model.check_needs import Wanted


@dataclass(frozen=True, slots=True)
class CheckAround:
    """`addon`: of one that is installed, to a version (None: the one that it has), Absent where EKS does not manage it.
    `values_judged`: what of an add-on's values its schema does not allow. `interruption` has the single objects and
    the look into pods, too. `past`: what tells of changes. `measured`: as of `flows.dns.dns_facts`."""

    eks: EksCluster | Unknown
    tell: Callable[[Wanted], UpgradeTold]
    api: Callable[[Wanted], ApiTold]
    addon: Callable[[str, str | None], AddonSide | Absent | Unknown]
    values_judged: JudgeBy
    machines: TellMachines
    interruption: InterruptionAround
    past: Callable[[], ChangesTold] = ChangesTold
    measured: MeasuredBefore = lambda uid, context: None
