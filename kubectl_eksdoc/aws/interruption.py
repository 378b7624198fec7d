"""What AWS tells of how interruptions reach the cluster, many questions at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from kubectl_eksdoc.aws import queues, role_policies, rules
from kubectl_eksdoc.aws.asking import Json, at_once, known, name_of, text
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.queues import InterruptionKeys, InterruptionTold, Notice


def interruption_told(of: Believed, keys: InterruptionKeys) -> InterruptionTold:
    """What is not answered is unknown, and takes nothing else with it.

    Raises:
        AwsError: nothing can be asked at all.
    """
    asked: dict[str, Callable[[], Any]] = {}
    if keys.queue:
        asked["queue"] = lambda: queues.queue(of, keys.queue)
    if keys.rules:
        asked["rules"] = lambda: rules.rules(of)
    if keys.targets:
        asked["targets"] = lambda: rules.targets(of, keys.targets)
    if keys.key:
        asked["key"] = lambda: queues.key(of, keys.key)
    if (account := keys.account) is not None:
        asked["identity"] = lambda: role_policies.identity(of, *account)
    if keys.role:
        asked["policies"] = lambda: role_policies.role_policies(of, keys.role)
    if (wanted := keys.figures) is not None:
        asked["figures"] = lambda: rules.figures(of, wanted)
    if keys.instances:
        asked["notices"] = lambda: notices(of, keys.instances)
    return InterruptionTold(**dict(at_once(asked, lambda name: asked[name]())))


def nothing_told(why: Unknown, keys: InterruptionKeys) -> InterruptionTold:
    """Where AWS is not asked at all."""
    wanted = {each.name for each in fields(InterruptionTold)} - {"targets"}
    return InterruptionTold(**dict.fromkeys(wanted, why), targets=dict.fromkeys(keys.targets, why))


_MARKED = ("marked-for-termination", "marked-for-stop", "marked-for-hibernation")
"""Status codes of a Spot request whose instance has its notice (EC2's user guide, Spot request status codes)."""


def notices(of: Believed, instances: Sequence[str]) -> Mapping[str, Notice] | Unknown:
    """Those of `instances` that EC2 is about to take back. It is asked for all that are marked: seldom any is."""
    wanted = set(instances)
    filters = [{"Name": "status-code", "Values": list(_MARKED)}]

    def made(said: Json) -> dict[str, Notice]:
        found = (_notice(each) for each in said["SpotInstanceRequests"] if text(each, "InstanceId") in wanted)
        return {each.instance: each for each in found if each.code in _MARKED}

    return known(of.aws, questions.SPOT_REQUESTS, {"Filters": filters}, made)


def _notice(said: Json) -> Notice:
    status = said.get("Status") or {}
    return Notice(name_of(said, "InstanceId"), text(status, "Code"), status.get("UpdateTime"))
