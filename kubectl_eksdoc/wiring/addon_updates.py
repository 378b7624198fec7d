"""What carries an add-on's update out: EKS, the cluster's pods, targets of load balancers, and a journal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.asked import Unknown

if TYPE_CHECKING:
    from kubectl_eksdoc.aws.believing import Believed
    from kubectl_eksdoc.flows.ports import AddonEks
    from kubectl_eksdoc.host.journals import UpdateJournalFile
    from kubectl_eksdoc.model.aws.targets import TargetGroup
    from kubectl_eksdoc.model.pods import Pod
    from kubectl_eksdoc.session.ports import ClusterReader
    from kubectl_eksdoc.wiring.runs import Keeping


def eks_of(aws: Believed, name: str) -> AddonEks:
    from kubectl_eksdoc.aws.addon_updates import AddonUpdates

    return AddonUpdates(aws, name)


def group_of(aws: Believed) -> Callable[[str], TargetGroup | Unknown]:
    """The targets of a group, by its ARN."""
    from kubectl_eksdoc.aws.target_health import target_group

    return lambda arn: target_group(aws, arn)


@dataclass(frozen=True, slots=True)
class PodsNow:
    """All pods, each time it is asked; what forbids to list them is why they are unknown."""

    reader: Callable[[], ClusterReader]

    def __call__(self) -> tuple[Pod, ...] | Unknown:
        """Raises ClusterError: the cluster cannot be talked to."""
        cluster = self.reader().read((kinds.PODS,))
        read = cluster.read_of(kinds.PODS)
        return cluster.pods if read.known else Unknown(read.detail, "list pods")


def journal_of(keeping: Keeping) -> UpdateJournalFile:
    """Of the update that `keeping` names.

    Raises:
        LocalJournalError: there is no folder for it.
    """
    from kubectl_eksdoc.host.journals import UpdateJournalFile, updates_folder

    return UpdateJournalFile(updates_folder(keeping.environ, keeping.home), keeping.run)


def folder_of(keeping: Keeping) -> Path:
    """Raises LocalJournalError: there is none."""
    from kubectl_eksdoc.host.journals import updates_folder

    return updates_folder(keeping.environ, keeping.home)
