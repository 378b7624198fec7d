"""EKS's updates: start an update of a node group's version, list updates, describe updates.

Shapes as in eks_addons.py. Not modelled: the checks of node groups that AWS makes first.
"""

from __future__ import annotations

from typing import Any

from tests.aws.world.eks_state import RUNNING, EksState, Update, now
from tests.aws.world.paging import page
from tests.aws.world.refused import invalid, refused

Params = dict[str, Any]


def update_nodegroup_version(eks: EksState, params: Params) -> dict[str, Any]:
    cluster, name = params["clusterName"], params["nodegroupName"]
    group = eks.nodegroup(cluster, name)
    if under_way := eks.running((cluster, name, None)):
        message = f"Cannot VersionUpdate because nodegroup {name} currently has update {under_way.id} in progress"
        raise refused("ResourceInUseException", message, clusterName=cluster, nodegroupName=name)
    template = _template(group, params)
    if template and eks.own_image(template):
        if params.get("version") or params.get("releaseVersion"):
            raise invalid("You cannot specify a version or a release with an AMI of your own.", clusterName=cluster)
        version, newest = group.version, group.release_version
    else:
        version = params.get("version") or eks.cluster(cluster).version
        newest = f"{version}.0-20261101"
    if _minor(version) > _minor(eks.cluster(cluster).version):
        message = f"Requested Nodegroup Kubernetes version {version} is newer than the cluster's"
        raise invalid(message, clusterName=cluster, nodegroupName=name)
    release = params.get("releaseVersion") or newest

    def succeed() -> None:
        group.version, group.release_version, group.status = version, release, "ACTIVE"
        group.launch_template = template or group.launch_template
        group.modified_at = now()

    def fail(errors: list[dict[str, Any]]) -> None:
        group.status = "ACTIVE"
        group.modified_at = now()
        group.health = {
            "issues": [
                {"code": e["errorCode"], "message": e["errorMessage"], "resourceIds": e["resourceIds"]} for e in errors
            ]
        }

    group.status = "UPDATING"
    told = [{"type": "Version", "value": version}, {"type": "ReleaseVersion", "value": release}]
    if template:
        told.append({"type": "LaunchTemplateName", "value": template["name"]})
        told.append({"type": "LaunchTemplateVersion", "value": template["version"]})
    return eks.begin(Update("VersionUpdate", cluster, told, succeed, fail, nodegroup=name))


def list_updates(eks: EksState, params: Params) -> dict[str, Any]:
    """Updates, newest first: of the node group, of the add-on, or else of the cluster itself."""
    about = _about(eks, params)
    return page([update.id for update in eks.updates if update.about == about], "updateIds", params)


def describe_update(eks: EksState, params: Params) -> dict[str, Any]:
    about = _about(eks, params)
    update = next((u for u in eks.updates if u.id == params["updateId"] and u.about == about), None)
    if update is None:
        message = f"No update found for updateID: {params['updateId']}"
        raise refused("ResourceNotFoundException", message, clusterName=params["name"])
    if update.status == RUNNING:
        update.asked += 1
        if eks.ends_when_asked and update.asked >= eks.ends_when_asked:
            eks.finish(update.id)
    return {"update": update.described()}


def list_nodegroups(eks: EksState, params: Params) -> dict[str, Any]:
    """Replaces moto's, which fails with a KeyError for a missing cluster and accepts any token."""
    return page(sorted(eks.cluster(params["clusterName"]).nodegroups), "nodegroups", params)


def _about(eks: EksState, params: Params) -> tuple[str, str | None, str | None]:
    name, group, addon = params["name"], params.get("nodegroupName"), params.get("addonName")
    if group and addon:
        raise invalid("Only one of nodegroupName and addonName can be specified", clusterName=name)
    eks.cluster(name)
    if group:
        eks.nodegroup(name, group)
    if addon and not any(update.addon == addon for update in eks.updates):
        eks.addon(name, addon)
    return name, group, addon


def _template(group: Any, params: Params) -> dict[str, str] | None:
    """The template in the requested version; AWS accepts none for a group without a template, and only its own for the
    others."""
    asked = params.get("launchTemplate")
    if not asked:
        return None
    names = {"clusterName": params["clusterName"], "nodegroupName": params["nodegroupName"]}
    if not group.launch_template:
        raise invalid("You cannot specify a launch template: the node group was created without one.", **names)
    if any(key in asked and asked[key] != group.launch_template.get(key) for key in ("id", "name")):
        raise invalid("You cannot change the launch template ID or name of a node group.", **names)
    return {**group.launch_template, "version": asked.get("version", "$Default")}


def _minor(version: str) -> int:
    return int(version.split(".")[1])
