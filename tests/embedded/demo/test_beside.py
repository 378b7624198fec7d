"""Answers of the demo besides its lists: objects, revisions and logs, by scene."""

from __future__ import annotations

from kubectl_eksdoc.embedded.demo.reader import DemoExtraReader, scene_responses
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import LogKey
from kubectl_eksdoc.objects.single import decode_raws

PLAIN, CHECK, INTERRUPTION = DemoExtraReader(""), DemoExtraReader("check"), DemoExtraReader("interruption")
KARPENTER = ObjectName("apps/v1", "Deployment", "kube-system", "karpenter")


def pods_of(name: str) -> list[str]:
    return [
        key.partition("/")[2]
        for key in scene_responses("objects", "")["v1 Pod"]
        if key.startswith(f"kube-system/{name}-")
    ]


def test_an_object_is_known_or_absent_or_its_kind_is_unknown() -> None:
    plain, there = PLAIN.read_object(KARPENTER), INTERRUPTION.read_object(KARPENTER)
    assert isinstance(plain, dict) and isinstance(there, dict)
    assert "INTERRUPTION_QUEUE" in str(there) and "INTERRUPTION_QUEUE" not in str(plain)
    none = ObjectName("apps/v1", "Deployment", "kube-system", "no")
    assert PLAIN.read_object(none) == Absent("the demo has no Deployment.apps no")
    elsewhere = ObjectName("apps/v1", "Deployment", "no", "no")
    assert PLAIN.read_object(elsewhere) == Unknown("the demo holds no Deployment of namespace no")
    wide = ObjectName("x.io/v1", "Thing", "", "no")
    assert PLAIN.read_object(wide) == Unknown("the demo holds no Thing")


def test_a_list_is_of_one_namespace_and_containers_are_those_of_the_pod() -> None:
    revisions = PLAIN.list_history(kinds.CONTROLLER_REVISIONS, "kube-system")
    assert isinstance(revisions, tuple) and len(revisions) > 4
    assert {each["metadata"]["namespace"] for each in revisions} == {"kube-system"}
    nowhere = PLAIN.list_history(kinds.CONTROLLER_REVISIONS, "no")
    assert nowhere == Unknown("the demo holds no ControllerRevision of namespace no")
    (first, _) = pods_of("karpenter")
    known, none = PLAIN.containers([f"kube-system/{first}", "shop/no"]).values()
    assert isinstance(known, tuple) and [each.name for each in known] == ["karpenter"]
    assert none == Absent("the demo has no pod shop/no")


def test_logs_are_of_a_scene() -> None:
    (leader, standby) = (LogKey("kube-system", pod, "karpenter") for pod in pods_of("karpenter"))
    assert PLAIN.logs([leader]) == {leader: Unknown(f"the demo holds no log of {leader.pod}")}
    for scene in (CHECK, INTERRUPTION):
        told = scene.logs([leader, standby])
        assert "QueueDoesNotExist" in str(told[leader]) and "leader lease" in str(told[standby])
    crashed = next(key for key in scene_responses("texts", "check")["previous log"] if "load-balancer" in key)
    now, before = (LogKey(*crashed.split("/"), previous) for previous in (False, True))
    told = CHECK.logs([now, before])
    assert "EC2Metadata" in str(told[before]) and isinstance(told[now], Unknown)


def test_objects_that_are_laid_out_for_readers_are_taken_without_margins() -> None:
    assert decode_raws(b'{\n "v1 Pod": {\n  "shop/a": {\n   "b": [1, "x  y"]\n  }\n }\n}') == {
        "v1 Pod": {"shop/a": b'{"b":[1,"x  y"]}'}
    }
