"""What AWS tells of machines, many questions at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubectl_eksdoc.aws import ec2
from kubectl_eksdoc.aws import node_groups as eks
from kubectl_eksdoc.aws.asking import at_once
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import MachineKeys, MachinesTold


def machines_told(of: Believed, keys: MachineKeys) -> MachinesTold:
    """What is not answered is unknown, and takes nothing else with it.

    Raises:
        AwsError: nothing can be asked at all.
    """
    asked: dict[str, Callable[[], Any]] = {}
    if keys.instances:
        asked["instances"] = lambda: ec2.instances(of, keys.instances)
    if keys.node_groups:
        asked["node_groups"] = lambda: eks.node_groups(of, keys.node_groups)
    if keys.scaling_groups:
        asked["scaling_groups"] = lambda: ec2.scaling_groups(of, keys.scaling_groups)
    if keys.templates:
        asked["templates"] = lambda: ec2.template_versions(of, keys.templates)
    if keys.images:
        asked["images"] = lambda: ec2.images(of, keys.images)
    if keys.account:
        asked["account"] = lambda: ec2.account_defaults(of)
        asked["identities"] = lambda: _identities(of)
    return MachinesTold(**dict(at_once(asked, lambda name: asked[name]())))


def _identities(of: Believed) -> object:
    found = eks.pod_identities(of)
    return found if isinstance(found, Unknown) else frozenset(found)


def nothing_told(why: Unknown, keys: MachineKeys) -> MachinesTold:
    """Where AWS is not asked at all."""
    return MachinesTold(
        dict.fromkeys(keys.instances, why),
        dict.fromkeys(keys.node_groups, why),
        dict.fromkeys(keys.scaling_groups, why),
        dict.fromkeys(keys.templates, why),
        dict.fromkeys(keys.images, why),
        why,
        why,
    )
