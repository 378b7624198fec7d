"""Reports of probes, for every way in which one can end; in every format: `tests.drain.report.test_formats`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kubectl_eksdoc.imds_probe.probe_diagnosis import ProbeAnswers
from kubectl_eksdoc.imds_probe.probe_result import (
    ProbePlan,
    ProbeRun,
    ProbeSettings,
    manifests,
    plan_probe,
    probed_nodes,
)
from kubectl_eksdoc.imds_probe.report.probe import ActiveReport
from kubectl_eksdoc.in_cluster.roles import ManifestReport
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import FamilyAnswer, ImdsRequest, ProbeReport, ProbeStep
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner
from kubectl_eksdoc.report.text import Appearance
from tests.builders import a_cluster, a_node
from tests.report.golden import AnswerFormats
from tests.yaml_reader import yaml_documents

NODES = tuple(
    a_node(f"ip-10-0-1-{number}.eu-west-1.compute.internal", group=group)
    for number, group in enumerate(("blue", "blue", "green", "old", "closed", "policy", "full"))
)
FARGATE = a_node("fargate-ip-10-0-9-9", group="", labels={COMPUTE_TYPE: "fargate"})
GONE = a_node("ip-10-0-1-9.eu-west-1.compute.internal", group="red", ready="Unknown")
CLUSTER = a_cluster(nodes=[*NODES, FARGATE, GONE])


def _step(ask: ImdsRequest, code: int) -> ProbeStep:
    return ProbeStep(ask, 0, code, 0.3, 1.25)


def _seen(*codes: int, instance: str = "") -> FamilyAnswer:
    """0: the answer was lost, -1: no connection."""
    steps = []
    for ask, code in zip(ImdsRequest, codes, strict=False):
        lost = ProbeStep(ask, 28, 0, 0.3 if code == 0 else None, 3000.0)
        steps.append(_step(ask, code) if code > 0 else lost)
    return FamilyAnswer(tuple(steps), instance)


OFF = _seen(-1, -1)
REACHED = ProbeReport(_seen(401, 200, 200, instance="i-0123456789abcdef0"), OFF)
BY_GROUP: dict[str, tuple[ProbeAnswers, ProbeAnswers]] = {
    "blue": (REACHED, REACHED),
    "green": (ProbeReport(_seen(401, 0), OFF), REACHED),
    "old": (ProbeReport(_seen(200, 0), OFF), Unknown("the pod was refused: a webhook said no")),
    "closed": (ProbeReport(_seen(403, 403), OFF),) * 2,
    "policy": (ProbeReport(OFF, OFF), REACHED),
    "full": (Unknown("the node has no room for it (OutOfpods: Pod was rejected: Node didn't have enough)"),) * 2,
}


def _plan(level: str = "") -> ProbePlan:
    owners = (
        ProbeOwner("dead", "eksdoc-imds-probe-dead", "u", 1e5),
        ProbeOwner("beef", "eksdoc-imds-probe-beef", "v", 3.0),
    )
    return plan_probe(CLUSTER.nodes, level, owners, "cafe", ProbeSettings())


def _probed(plan: ProbePlan, left: tuple[str, ...] = (), not_removed: str = "") -> ProbeRun:
    heard = {}
    for pod in plan.pods:
        own, host = BY_GROUP[plan.group_of(pod.node).group]
        heard[pod.name] = own if pod.network.value == "own" else host
    return ProbeRun(probed_nodes(plan, heard), "eksdoc-imds-probe-cafe", left, not_removed)


def view(made: bool = True, level: str = "", **of: Any) -> ActiveReport:
    plan = _plan(level)
    refused = (
        {} if made else {plan.pods[0].name: ProbeFailure("to create pods, the server answered 403: a webhook said no")}
    )
    probed = _probed(plan, **of) if made else None
    return ActiveReport(CLUSTER, plan, probed, refused, options={"active": True}, tool_version="0.0.0")


ANSWERS = AnswerFormats(
    Path(__file__).parent / "golden",
    {
        "usual": view,
        "left": lambda: view(left=("eksdoc-imds-probe-cafe-0-own",)),
        "not removed": lambda: view(not_removed="the cluster refuses delete configmaps"),
        "before": lambda: view(False),
        "restricted": lambda: view(False, "restricted"),
        "baseline": lambda: view(level="baseline"),
    },
    {
        "table-120.txt": ("table", Appearance(120), "left"),
        "table-80.txt": ("table", Appearance(80)),
        "table-ascii.txt": ("table", Appearance(100, ascii=True), "not removed"),
        "wide.txt": ("wide", Appearance(120)),
        "probe.json": ("json", Appearance(120), "left"),
        "before-80.txt": ("table", Appearance(80), "before"),
        "before-restricted.txt": ("table", Appearance(120), "restricted"),
    },
    {f"no nodes.*.{answers}.{field}" for answers in ("pod", "host") for field in ("why", "v4", "v6")},
    whole=("kubectl ", "aws "),
)


def test_one_finding_for_each_group_and_for_what_cannot_be_probed() -> None:
    found = {each.subject.name: each for each in view().findings}
    assert set(found) == {"blue", "green", "old", "closed", "policy", "full", "red"}, "Fargate has nothing to ask"
    assert found["old"].remedy[0].command == "kubectl eksdoc imds-probe --nodegroup old"
    assert any(each.startswith("doubt: the node itself was not asked") for each in found["old"].evidence)


def test_nodes_that_answer_otherwise_than_their_group_are_named() -> None:
    plan = plan_probe(NODES[:2], "", (), "cafe", ProbeSettings(), is_every_node=True)
    heard: dict[str, ProbeAnswers] = {pod.name: REACHED for pod in plan.pods}
    heard[plan.pods[2].name] = ProbeReport(_seen(401, 0), OFF)
    made = ActiveReport(CLUSTER, plan, ProbeRun(probed_nodes(plan, heard), "owner"), options={})
    assert [(each.subject.kind, each.subject.name) for each in made.findings] == [
        ("Node", NODES[1].name),
        ("Node", NODES[0].name),
    ]


def test_what_kubectl_takes_is_the_same_in_both_forms() -> None:
    plan = _plan()
    objects = ManifestReport((), (), tuple(manifests(plan.probe, plan.pods, plan.settings)))
    docs = list(yaml_documents(objects.render("yaml", Appearance(80))))
    assert json.loads(objects.render("json", Appearance(80)))["items"] == docs
