"""The additions for interruption are consistent with the demo, and the demo itself stays unchanged."""

from __future__ import annotations

import json
from typing import Any

from kubectl_eksdoc.embedded.demo.reader import NOW
from kubectl_eksdoc.embedded.loading import load_documents
from kubectl_eksdoc.model import kinds
from tools.demo import incidents, objects, world
from tools.demo.aws.demo_aws import DemoAws
from tools.demo.aws.roles import ROLE
from tools.demo.interruption.cluster import extend, logs

Json = dict[str, Any]


def held() -> tuple[dict[Any, list[Json]], list[Json]]:
    found, others = objects.objects(), list(incidents.others())
    extend(found, others)
    return found, others


def test_nothing_but_karpenter_differs() -> None:
    found, others = held()
    demo = objects.objects()
    assert found.keys() == demo.keys() and others == list(incidents.others())
    changed = {
        (
            resource.kind,
            each["metadata"]["name"].rsplit("-", 2)[0] if resource is kinds.PODS else each["metadata"]["name"],
        )
        for resource, several in found.items()
        for each, before in zip(several, demo[resource], strict=True)
        if each != before
    }
    assert changed == {("Deployment", "karpenter"), ("Pod", "karpenter")}
    assert objects.objects() == demo


def test_a_server_would_have_taken_it() -> None:
    found, others = held()
    definitions = [each for each in others if each["kind"] == "CustomResourceDefinition"]
    loaded = load_documents([*definitions, *(each for several in found.values() for each in several)], NOW)
    assert not loaded.malformed and not loaded.duplicates


def test_the_role_is_that_of_the_service_account_and_logs_are_of_its_pods() -> None:
    found, others = held()
    (account,) = (e for e in others if e["kind"] == "ServiceAccount" and e["metadata"]["name"] == "karpenter")
    arn = account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"]
    assert arn == DemoAws().ask("iam", "GetRole", {"RoleName": ROLE})["Role"]["Arn"]
    pods = {each["metadata"]["name"]: each for each in found[kinds.PODS]}
    for log, text in logs().items():
        assert log.container in {each["name"] for each in pods[log.pod]["spec"]["containers"]}
        assert all(isinstance(json.loads(line), dict) for line in text.splitlines())
    env = pods[next(iter(logs())).pod]["spec"]["containers"][0]["env"]
    assert {"name": "INTERRUPTION_QUEUE", "value": world.CLUSTER} in env
