"""On what the findings are, and the remedies that several of them share."""

from __future__ import annotations

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws.addons import AddonSide
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.model.coredns import NAME, SERVICE, SYSTEM
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.core.model.missing_rights import allow
from kubectl_eksdoc.core.model.versions import Version, parse

DEPLOYMENT = Subject("Deployment", NAME, SYSTEM)
CONFIG = Subject("ConfigMap", NAME, SYSTEM)
SERVED = Subject("Service", SERVICE, SYSTEM)
ADDON = Subject("Addon", NAME)

SET = ("kubectl", "eksdoc", "coredns-lameduck")
LOOK = shell(*SET)


def place_elsewhere(self_managed: bool) -> str:
    """Of a CoreDNS that EKS does not manage the Deployment is not changed: the commands for it are printed."""
    return shell(*SET, "--place", "on-demand", *(() if self_managed else ("--apply",)))


def set_to(seconds: int) -> str:
    return shell(*SET, "--set", f"lameduck={seconds}s", "--apply")


def scale_to(replicas: int) -> str:
    return shell("kubectl", "scale", f"deployment/{NAME}", "-n", SYSTEM, f"--replicas={replicas}")


_BY = Version(1, 11, 3)


def has_what_came_by_1_11(addon: AddonSide | Absent | Unknown) -> bool:
    """Whether the installed add-on is one of those that ask /ready, bring a budget, and take topologySpreadConstraints;
    False where it is not known. Builds of 1.9 and 1.10 got these one by one (EKS user guide, "Manage CoreDNS")."""
    version = parse(addon.addon.version) if isinstance(addon, AddonSide) else None
    return version is not None and not version.older_than(_BY)


_LOOK_AGAIN = (
    "Ask the live cluster, with --region, --cluster-name and --profile where AWS could not be asked; --debug shows "
    "what was asked."
)


def not_read(what: str, told: Absent | Unknown, of: Subject = DEPLOYMENT) -> Finding:
    """`what` is missing, so what follows from it is unknown."""
    why, missing = (told.why, told.missing) if isinstance(told, Unknown) else (told.said, "")
    remedy = allow(missing) if missing else Remedy(_LOOK_AGAIN)
    return Finding(
        codes.UNREAD,
        Severity.MEDIUM,
        Status.UNKNOWN,
        of,
        f"{what} is not known: {why}",
        remedy=(remedy,),
        missing=missing or what,
    )
