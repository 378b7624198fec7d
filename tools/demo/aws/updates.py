"""EKS's update history of the cluster, its add-ons and its node groups.

It has the first incident: an update of vpc-cni was refused for a conflict, then repeated with OVERWRITE. And the last
update of node group blue has failed: a PodDisruptionBudget has kept a pod on blue-6 longer than EKS waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tools.demo.aws.addons import installed
from tools.demo.aws.clusters import PLATFORM, UPGRADED
from tools.demo.aws.names import VERSION, Params, at
from tools.demo.aws.pools import NEWEST, Estate
from tools.demo.meta import Json, uid
from tools.demo.world import CLUSTER

# The format of EKS: amazon-vpc-cni-k8s issue 2607.
_CONFLICT = (
    "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts: "
    'DaemonSet.apps aws-node - .spec.template.spec.initContainers[name="aws-vpc-cni-init"]'
    '.env[name="DISABLE_TCP_EARLY_DEMUX"].value'
)


@dataclass(frozen=True, slots=True)
class Update:
    """One update of `what`: "addon/vpc-cni", "nodegroup/blue", or the cluster itself; `conflict` is the reason of its
    failure, `stuck` the nodes whose pods it could not evict."""

    what: str
    kind: str
    minutes: int
    params: tuple[tuple[str, str], ...]
    conflict: str = ""
    stuck: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return uid("Update", self.what, str(self.minutes))


_CLUSTER = "cluster"
_RELEASE = (("Version", NEWEST[0].version), ("ReleaseVersion", NEWEST[0].release))

# The message of EKS: containers-roadmap issue 1282.
_NOT_EVICTED = "Reached max retries while trying to evict pods from nodes in node group {}"


def _of_addon(name: str, how: str, minutes: int = 0, conflict: str = "") -> Update:
    """To the installed version: at its last change, or before that without success."""
    held = installed(name)
    params = [("AddonVersion", held.version), ("ResolveConflicts", how)]
    if held.values:
        params.append(("ConfigurationValues", held.values))
    return Update(f"addon/{name}", "AddonUpdate", minutes or held.changed, tuple(params), conflict)


UPDATES = (
    Update(_CLUSTER, "VersionUpdate", UPGRADED, (("Version", VERSION), ("PlatformVersion", PLATFORM))),
    Update("nodegroup/blue", "VersionUpdate", 1_420, _RELEASE, stuck=("blue-6",)),
    Update("nodegroup/blue", "ConfigUpdate", 59_990, (("MaxSize", "12"),)),
    _of_addon("aws-ebs-csi-driver", "OVERWRITE"),
    _of_addon("coredns", "NONE"),
    _of_addon("kube-proxy", "NONE"),
    _of_addon("vpc-cni", "OVERWRITE"),
    _of_addon("vpc-cni", "NONE", minutes=49_060, conflict=_CONFLICT),
)


def list_updates(estate: Estate, params: Params) -> Json:
    """The ids of the updates of the cluster, or of the add-on or node group that the request names."""
    what = _what(params)
    return {"updateIds": [each.id for each in UPDATES if each.what == what]}


def describe_update(estate: Estate, params: Params) -> Json:
    """One of these updates."""
    what, ident = _what(params), params["updateId"]
    return {"update": next(_an_update(each) for each in UPDATES if (each.what, each.id) == (what, ident))}


def _what(params: Params) -> str:
    if name := params.get("addonName"):
        return f"addon/{name}"
    if name := params.get("nodegroupName"):
        return f"nodegroup/{name}"
    return _CLUSTER


def _an_update(each: Update) -> Json:
    errors: list[dict[str, Any]] = []
    if each.conflict:
        errors.append({"errorCode": "ConfigurationConflict", "errorMessage": each.conflict, "resourceIds": [CLUSTER]})
    if each.stuck:
        said = _NOT_EVICTED.format(each.what.partition("/")[2])
        errors.append({"errorCode": "PodEvictionFailure", "errorMessage": said, "resourceIds": list(each.stuck)})
    return {
        "id": each.id,
        "status": "Failed" if errors else "Successful",
        "type": each.kind,
        "params": [{"type": kind, "value": value} for kind, value in each.params],
        "createdAt": at(each.minutes),
        "errors": errors,
    }
