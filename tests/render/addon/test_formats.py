"""The demo's add-ons in every format: as they were read last, valid, and fit for a screen."""

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
from kubectl_eksdoc.addon_diff.plan import AddonPlan, WayOut
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.read import NEEDS, plan_addon, side_of
from kubectl_eksdoc.render.addon.report import AddonReport
from kubectl_eksdoc.render.addon.update import as_json, eksctl, next_update, terraform, update_addon
from kubectl_eksdoc.render.text import Look
from kubectl_eksdoc.session.session import ClusterSession
from tests.broken import accepted
from tests.reading import yaml_of
from tests.sessions import of_the_demo

GOLDEN = Path(__file__).parent / "golden"
JUDGE = jsonschema.Draft202012Validator(schemas.load("AddonDiff"))
TO = "v1.20.4-eksbuild.2"


@cache
def world() -> ClusterSession:
    return of_the_demo(NEEDS)


@cache
def planned(name: str, to: str, mode: Mode) -> AddonPlan:
    demo = world()
    return plan_addon(demo, side_of(demo, name, to), AddonUpdateRequest(mode))


def view(name: str = "vpc-cni", to: str = TO, mode: Mode = Mode.OVERWRITE) -> AddonReport:
    options = {"addon": name, "to": to, "resolve-conflicts": mode.value}
    return AddonReport(
        (planned(name, to, mode),),
        world().cluster,
        options=options,
        recognised=world().recognised,
        tool_version="0.0.0",
    )


@pytest.mark.parametrize(
    ("file", "output", "look"),
    [
        ("table-120.txt", "table", Look(120)),
        ("table-80.txt", "table", Look(80)),
        ("table-ascii.txt", "table", Look(100, ascii=True)),
        ("table-colour.txt", "table", Look(120, colour=True)),
        ("wide.txt", "wide", Look(120)),
        ("diff.json", "json", Look()),
        ("diff.yaml", "yaml", Look()),
    ],
)
def test_golden(file: str, output: str, look: Look) -> None:
    text = view().render(output, look)
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / file).write_text(text, encoding="utf-8", newline="\n")
    assert text == (GOLDEN / file).read_text(encoding="utf-8")
    if look.ascii:
        assert text.isascii()
    if output == "table" and not look.colour:
        commands = [line for line in text.splitlines() if "aws eks update-addon" in line]
        assert all(len(line) <= look.columns for line in text.splitlines() if line not in commands), (
            "a command is one line"
        )


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("name", ["vpc-cni", "coredns", "kube-proxy", "aws-ebs-csi-driver", "metrics-server"])
def test_documents_are_valid(name: str, mode: Mode) -> None:
    shown = view(name, "", mode)
    said = json.loads(shown.render("json", Look()))
    assert [error.message for error in JUDGE.iter_errors(said)] == []
    assert yaml_of(shown.render("yaml", Look())) == said


def test_its_schema_refuses_what_is_broken() -> None:
    free = ("metadata.options", "addons.*.values", "addons.*.wayOut.values", "addons.*.wayOut.eksctl")
    values = ("addons.*.fields.*.live", *(f"addons.*.fields.*.modes.{mode.value}.value" for mode in Mode))
    loose = accepted(JUDGE, json.loads(view("vpc-cni", TO).render("json", Look())), (*free, *values))
    loose = {each for each in loose if not each.endswith((".namespace", ".command"))}
    assert loose <= {f"no {each}" for each in values}


def test_commands_hold_in_a_shell_and_in_terraform() -> None:
    plan = planned("vpc-cni", TO, Mode.OVERWRITE)
    values = {"env": {"ADDITIONAL_ENI_TAGS": '{"it\'s": "${x}"}'}, "n": 1, "list": ["%{y}", True]}
    assert json.loads(as_json(values)) == values
    way = WayOut(values, (), ())
    said = shlex.split(update_addon(plan, way))
    assert json.loads(said[said.index("--configuration-values") + 1]) == values
    assert said[said.index("--resolve-conflicts") + 1] == "NONE", "what was not foreseen is refused, and not taken"
    newest, *older = dict(terraform(plan, way)).values()
    assert "$${x}" in newest and "%%{y}" in newest and 'resolve_conflicts_on_update = "NONE"' in newest
    assert ["configuration_values" in each for each in older] == [True, False, False]
    left = replace(way, cannot=plan.changes[:1])
    assert "--resolve-conflicts PRESERVE" in update_addon(plan, left)
    assert eksctl(plan, left)["addons"][0]["resolveConflicts"] == "preserve"


@pytest.mark.parametrize("output", ["table", "wide", "json"])
def test_no_command_names_a_version_that_eks_does_not_offer(output: str) -> None:
    text = view("vpc-cni", "v9").render(output, Look(120))
    assert "v9 with OVERWRITE: EKS does not offer it for Kubernetes 1.33" in text and "update-addon" not in text
    assert next_update(planned("vpc-cni", "v9", Mode.NONE)) == ""
    assert "update-addon" in view("vpc-cni", TO).render(output, Look(120))


def test_a_ticket_has_the_update_and_the_call_that_keeps_all_as_code() -> None:
    text = view().render("markdown", Look())
    assert text.startswith(f"## vpc-cni v1.19.5-eksbuild.1 → {TO} with OVERWRITE: ")
    assert "### Fields at risk: what each way" in text and "### Findings with OVERWRITE" in text
    code = text[text.index("### Configuration values") :].split("```")[1]
    assert code.startswith("text\naws eks update-addon ") and "For a program" not in text


def test_the_account_that_was_asked_is_the_one_that_is_changed() -> None:
    """awscli takes its default profile otherwise, and that account may have a cluster of the same name."""
    plan = planned("vpc-cni", TO, Mode.OVERWRITE)
    assert plan.way_out is not None and "--profile" not in update_addon(plan, plan.way_out)
    audited = replace(plan, facts=replace(plan.facts, profile="audit"))
    assert "--profile audit" in update_addon(audited, plan.way_out)
