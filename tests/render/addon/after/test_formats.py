"""Past updates in every format: as they were read last, valid, and fit for a screen."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.addon_diff.aftermath.facts import UpdateReview
from kubectl_eksdoc.addon_diff.read import HISTORIES, NEEDS, look_back_on, past_of
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.kinds import Absent, Resource, Unknown
from kubectl_eksdoc.render.addon.after import AfterReport
from kubectl_eksdoc.render.text import Look
from kubectl_eksdoc.session.session import ClusterSession, Observed
from tests.broken import accepted
from tests.reading import yaml_of
from tests.sessions import AppliesNothing, of_the_demo

GOLDEN = Path(__file__).parent / "golden"
JUDGE = jsonschema.Draft202012Validator(schemas.load("AddonAftermath"))
DEMUX = "DISABLE_TCP_EARLY_DEMUX"


@cache
def world() -> ClusterSession:
    return of_the_demo(replace(NEEDS, histories=HISTORIES))


class SixMinutesEarlier(AppliesNothing):
    """The demo's cluster when nobody had set the field again: without that revision. Behaves as the two ports."""

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        doc = world().objects.one(of)
        if not isinstance(doc, dict) or of.kind != "DaemonSet":
            return doc
        text = json.dumps(doc)
        told: Doc = json.loads(text)
        meta, (init,) = told["metadata"], told["spec"]["template"]["spec"]["initContainers"]
        (entry,) = (each for each in init["env"] if each["name"] == DEMUX)
        entry["value"] = "false"
        eks, hand = meta["managedFields"]
        owned = eks["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:initContainers"]
        owned['k:{"name":"aws-vpc-cni-init"}']["f:env"][f'k:{{"name":"{DEMUX}"}}']["f:value"] = {}
        meta["managedFields"] = [eks]
        assert hand["manager"] == "kubectl-patch"
        return told

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        found = world().histories.listed(resource, namespace)
        assert not isinstance(found, Unknown)
        return tuple(doc for doc in found if doc.get("revision") != 4)


@cache
def found(name: str = "vpc-cni", at_night: bool = False) -> UpdateReview:
    demo, past = world(), past_of(world(), name, "")
    night = Observed(demo.cluster, demo.aws, SixMinutesEarlier())  # type: ignore[arg-type]
    return look_back_on(night if at_night else demo, past)


def view(*each: UpdateReview) -> AfterReport:
    return AfterReport(
        each,
        world().cluster,
        ("--context", "demo"),
        options={"addon": "vpc-cni", "after": True},
        recognised=world().recognised,
        tool_version="0.0.0",
    )


@pytest.mark.parametrize(
    ("file", "output", "look", "at_night"),
    [
        ("table-120.txt", "table", Look(120), False),
        ("table-80.txt", "table", Look(80), False),
        ("night-120.txt", "table", Look(120), True),
        ("night-ascii.txt", "table", Look(100, ascii=True), True),
        ("night-colour.txt", "table", Look(120, colour=True), True),
        ("night-wide.txt", "wide", Look(120), True),
        ("night.json", "json", Look(), True),
        ("night.yaml", "yaml", Look(), True),
    ],
)
def test_golden(file: str, output: str, look: Look, at_night: bool) -> None:
    text = view(found(at_night=at_night)).render(output, look)
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / file).write_text(text, encoding="utf-8", newline="\n")
    assert text == (GOLDEN / file).read_text(encoding="utf-8")
    if look.ascii:
        assert text.isascii()
    if output == "table" and not look.colour:
        lines = [line for line in text.splitlines() if not line.startswith(("  aws eks", "  kubectl "))]
        assert all(len(line) <= look.columns for line in lines), "a command is one line"


def test_at_night_one_command_gives_it_back() -> None:
    (command,) = (
        line.strip()
        for line in view(found(at_night=True)).render("table", Look(120)).splitlines()
        if line.startswith("  kubectl ")
    )
    *words, patch = shlex.split(command)
    assert words == [
        "kubectl",
        "--context",
        "demo",
        "-n",
        "kube-system",
        "patch",
        "daemonset",
        "aws-node",
        "--type",
        "strategic",
        "-p",
    ]
    init = {"env": [{"name": DEMUX, "value": "true"}], "name": "aws-vpc-cni-init"}
    assert json.loads(patch) == {"spec": {"template": {"spec": {"initContainers": [init]}}}}


@pytest.mark.parametrize("name", ["vpc-cni", "coredns", "kube-proxy", "aws-ebs-csi-driver", "metrics-server"])
def test_documents_are_valid(name: str) -> None:
    past = found(name)
    bare = replace(past, facts=replace(past.facts, update=Unknown("no")), templated=(), keeping=None)
    for shown in (view(past), view(found(at_night=True)), view(bare)):
        said = json.loads(shown.render("json", Look()))
        assert [error.message for error in JUDGE.iter_errors(said)] == []
        assert yaml_of(shown.render("yaml", Look())) == said


def test_its_schema_refuses_what_is_broken() -> None:
    field = "addons.*.templates.*.fields.*"
    free = ("metadata.options", "addons.*.values", "addons.*.later.values", "addons.*.update.parameters")
    values = (*(f"{field}.{each}" for each in ("before", "after", "live")), "addons.*.withoutHistory.*.lastApplied")
    said = json.loads(view(found(at_night=True)).render("json", Look()))
    loose = accepted(JUDGE, said, (*free, *values, "addons.*.templates.*.now.patch"))
    loose = {each for each in loose if not each.endswith((".namespace", ".command"))}
    assert loose <= {f"no {each}" for each in values}
