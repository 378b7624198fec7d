"""What EKS says of an upgrade, as much as is wanted."""

from __future__ import annotations

from kubectl_eksdoc.aws import eks
from kubectl_eksdoc.aws.asking import at_once
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.addons import Addon, AddonVersions
from kubectl_eksdoc.core.model.aws.upgrades import NOT_ASKED, UpgradeTold
from kubectl_eksdoc.core.model.check_needs import Need, Wanted


def upgrade_told(of: Believed, wanted: Wanted) -> UpgradeTold:
    """
    Raises:
        AwsError: nothing can be asked.
    """
    needs = wanted.needs
    addons = eks.addons(of) if Need.ADDONS in needs else NOT_ASKED
    names = () if isinstance(addons, Unknown) else [each.name for each in addons if isinstance(each, Addon)]
    return UpgradeTold(
        versions=eks.cluster_versions(of) if Need.VERSIONS in needs else NOT_ASKED,
        addons=addons,
        addon_versions=dict(at_once(names, lambda name: _versions(of, name))),
    )


def nothing_told(why: Unknown) -> UpgradeTold:
    """Where AWS could not be believed."""
    return UpgradeTold(why, why)


def _versions(of: Believed, name: str) -> AddonVersions | Absent | Unknown:
    told = eks.addon_versions(of, name)
    if isinstance(told, tuple):
        return told[0] if told else Unknown(f"EKS lists no versions of {name}")
    return told
