"""What may follow each flag and each command, where its parser does not say so itself: one table of each.

A flag that is in none of them, and that is neither a switch nor one of given words, fails a test until somebody
decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.names import NameKind


class OwnNames(Enum):
    """What is known without asking a cluster."""

    FILES = "files"
    CONTEXTS = "contexts of the kubeconfig"
    CLUSTERS = "clusters of the kubeconfig"
    USERS = "users of the kubeconfig"
    EKS_CLUSTERS = "EKS clusters that the kubeconfig names"
    REGIONS = "AWS regions that the kubeconfig names"
    PROFILES = "AWS profiles"
    FORMATS = "output formats of the command"
    FAULTS = "faults"
    FIXES = "fixes of the metadata service"
    MINORS = "minor versions of Kubernetes"
    VERSIONS = "minor versions of Kubernetes, as v1.33"
    ADDONS = "add-ons of EKS"
    ADDON_UPDATES = "updates of add-ons that were begun on this machine"
    METADATA_FIXES = "fixes that were begun on this machine"
    DNS_CHANGES = "changes of CoreDNS that were begun on this machine"
    CHANGES = "changes that were begun on this machine"
    CHANGE_VERBS = "what can be done with them"
    COMMANDS = "words of commands that have rights"


@frozen
class CompletedName:
    """A name of `of`, written with `before` in front of it. `after` goes on behind it, so no space does; `listed`: more
    may follow behind a comma. `where`: the flag that says in which namespace they are, "" for --namespace."""

    of: NameKind | OwnNames
    before: str = ""
    after: str = ""
    listed: bool = False
    where: str = ""


@frozen
class OpenWords:
    """One of these, which more may follow directly."""

    words: Mapping[str, str]


@frozen
class NoOffer:
    """Nothing is offered, and why."""

    why: str


_FILE = CompletedName(OwnNames.FILES)
_SECRET = NoOffer("it is not for completion")
_IDENTITY = NoOffer("users and groups are no objects that could be listed")
_WRITTEN = NoOffer("it is written, not chosen")
_JOURNAL = "--journal-namespace"

Follows = CompletedName | OpenWords | NoOffer

FLAGS: Mapping[str, Follows] = {
    # of every command
    "--context": CompletedName(OwnNames.CONTEXTS),
    "--cluster": CompletedName(OwnNames.CLUSTERS),
    "--user": CompletedName(OwnNames.USERS),
    "--server": _WRITTEN,
    "--token": _SECRET,
    "--as": _IDENTITY,
    "--as-group": _IDENTITY,
    "--as-uid": _IDENTITY,
    "--tls-server-name": _WRITTEN,
    "--namespace": CompletedName(NameKind.NAMESPACES),
    "--region": CompletedName(OwnNames.REGIONS),
    "--cluster-name": CompletedName(OwnNames.EKS_CLUSTERS),
    "--profile": CompletedName(OwnNames.PROFILES),
    "--output": CompletedName(OwnNames.FORMATS),
    "--fleet": CompletedName(OwnNames.CONTEXTS, listed=True),
    # which nodes and pods
    "--nodegroup": CompletedName(NameKind.NODE_GROUPS),
    "--older-than": CompletedName(OwnNames.VERSIONS),
    "--from": CompletedName(OwnNames.MINORS),
    "--target": CompletedName(OwnNames.MINORS),
    "--selector": _WRITTEN,
    "--pod-selector": _WRITTEN,
    "--pin": CompletedName(NameKind.NODES, after="="),
    "--delete-past-budget": CompletedName(NameKind.PODS_ANYWHERE),
    "--assume-budget": CompletedName(NameKind.BUDGETS, after="="),
    "--max-unavailable": OpenWords({"zone=": "of the nodes of each zone", "nodegroup=": "of those of each node group"}),
    # runs, and what was begun
    "--journal-namespace": CompletedName(NameKind.NAMESPACES),
    "--probe-namespace": CompletedName(NameKind.NAMESPACES),
    "--karpenter-namespace": CompletedName(NameKind.NAMESPACES),
    "--run-id": CompletedName(NameKind.RUNS, where=_JOURNAL),
    "--update": NoOffer("ids of updates are in AWS alone"),
    "addon-diff --resume": CompletedName(OwnNames.ADDON_UPDATES),
    "imds-probe --resume": CompletedName(OwnNames.METADATA_FIXES),
    "imds-probe --undo": CompletedName(OwnNames.METADATA_FIXES),
    "coredns-lameduck --resume": CompletedName(OwnNames.DNS_CHANGES),
    # one of some words, of which the parser knows nothing
    "--fault": CompletedName(OwnNames.FAULTS),
    "--fix": CompletedName(OwnNames.FIXES),
    "--to": OpenWords({"latest": "the newest version for this cluster"}),
    "--coredns-version": NoOffer("written by hand, as 1.13.1"),
    "--set": OpenWords({"lameduck=": "how long a CoreDNS that ends still answers"}),
    "--evidence": OpenWords(
        {
            "cloudwatch": "requests without a token, of 14 days",
            "cloudtrail": "events with the role of nodes, of 90 days",
            "iam": "when the role of nodes was used last",
        }
    ),
    "--intent": OpenWords({"hops=1": "hop limit 1", "hops=1,tokens=required": "hop limit 1, and IMDSv2 only"}),
    "--assume": OpenWords(
        {"hops=1,tokens=required": "hop limit 1, and IMDSv2 only", "ami=AL2023": "an AL2023 AMI instead of AL2"}
    ),
    # what nobody can know before
    **dict.fromkeys(
        (
            "--hook-before-wave",
            "--hook-after-wave",
            "--image",
            "--role-arn",
            "--schedule",
            "--time-zone",
            "--job-name",
            "--stack-name",
            "--kubeconfig-secret",
        ),
        _WRITTEN,
    ),
    "--bind": _IDENTITY,
    "--account": NoOffer("accounts are in AWS alone"),
    "--accept-reset": NoOffer("EKS names these fields when it refuses the update"),
    "--queue": NoOffer("names of queues are in AWS alone"),
}
"""By the long name, of every command that has the flag, or by command and name, of that one."""

BY_METAVAR: Mapping[str, Follows] = {
    **dict.fromkeys(("FILE", "FILE|FOLDER", "FOLDER", "PATH", "MANIFESTS", "COREFILE", "TEXT|FILE"), _FILE),
    **dict.fromkeys(("N", "PCT", "SECONDS", "MIN:MAX"), NoOffer("a number")),
    **dict.fromkeys(("TIME", "WHEN"), NoOffer("a time")),
}
"""Of flags that are not in `FLAGS`, by what help calls their value."""

_RUN = (CompletedName(NameKind.RUNS, where=_JOURNAL),)
_NODES = (CompletedName(NameKind.NODES), CompletedName(NameKind.NODES, before="node/"))
_MANY = 1 << 20


@frozen
class NamedWords:
    """What words without a flag name, and how many there may be."""

    takes: tuple[CompletedName, ...]
    most: int = 1


NAMES: Mapping[str, NamedWords] = {
    "drain plan": NamedWords(_NODES, _MANY),
    "drain run": NamedWords(_NODES, _MANY),
    "drain rehearse": NamedWords(_NODES, _MANY),
    "rehearse": NamedWords(_NODES, _MANY),
    "drain status --attach": NamedWords(_NODES, _MANY),
    "drain status": NamedWords(_RUN),
    "drain pause": NamedWords(_RUN),
    "drain abort": NamedWords(_RUN),
    "drain resume": NamedWords(_RUN),
    "drain rollback": NamedWords(_RUN),
    "addon-diff": NamedWords((CompletedName(OwnNames.ADDONS),)),
    "imds-probe": NamedWords(
        (CompletedName(NameKind.PODS, before="pod/"), CompletedName(NameKind.NODES, before="node/")), _MANY
    ),
    "snapshot": NamedWords((_FILE,)),
    "changes": NamedWords((CompletedName(OwnNames.CHANGE_VERBS), CompletedName(OwnNames.CHANGES)), 2),
    "permissions": NamedWords((CompletedName(OwnNames.COMMANDS),), _MANY),
}
"""By command; a flag behind it stands for the command with that flag, and comes first. Others name nothing."""

_RUNS = "render.run.report.RunReport"
_FLEET = "render.fleet.FleetReport"
_ADDON_UPDATE = "render.addon_update.UpdateReport"
_ADDON_AFTER = "render.addon.after.AfterReport"
_DNS_CHANGE = "render.dns_change.report.DnsChangeReport"

FORMATS: Mapping[str, str] = {
    "drain plan": "render.drain.report.DrainReport",
    "drain run": _RUNS,
    "drain resume": _RUNS,
    "drain rollback": _RUNS,
    "drain status --attach": "render.run.status.OthersReport",
    "drain status": "render.run.status.StatusReport",
    "drain rehearse": "render.rehearsal.RehearsalReport",
    "rehearse": "render.rehearsal.RehearsalReport",
    "check --fleet": _FLEET,
    "check": "render.check.report.CheckReport",
    "addon-diff --fleet": _FLEET,
    "addon-diff --apply": _ADDON_UPDATE,
    "addon-diff --resume": _ADDON_UPDATE,
    "addon-diff --after": _ADDON_AFTER,
    "addon-diff --update": _ADDON_AFTER,
    "addon-diff --tf-plan": "render.addon.report.TerraformReport",
    "addon-diff": "render.addon.report.AddonReport",
    "imds-probe --fleet": _FLEET,
    "imds-probe --apply": "render.metadata_fix.FixReport",
    "imds-probe --active": "render.metadata_probe.ActiveReport",
    "imds-probe": "render.metadata.report.ImdsReport",
    "coredns-lameduck --measure": "render.dns_measure.report.MeasureReport",
    "coredns-lameduck --set": _DNS_CHANGE,
    "coredns-lameduck --place": _DNS_CHANGE,
    "coredns-lameduck --autoscale": _DNS_CHANGE,
    "coredns-lameduck --resume": _DNS_CHANGE,
    "coredns-lameduck": "render.dns.LameduckReport",
    "interruption": "render.interruption.report.InterruptionReport",
    "changes": "render.changes.ChangesReport",
    "snapshot": "render.snapshot.SnapshotReport",
    "permissions --check": "render.permissions.HeldReport",
    "permissions": "render.permissions.PermissionsReport",
}
"""Where the formats of each stand, by command; a flag behind it: as in `NAMES`. Others have none."""
