"""Terraform plans of the demo in every format: as they were read last, valid, and fit for a screen."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from kubectl_eksdoc.addon_diff.read import NEEDS, judge_terraform
from kubectl_eksdoc.host.terraform import read_terraform_plan
from kubectl_eksdoc.render.addon.report import TerraformReport
from kubectl_eksdoc.render.text import Look
from kubectl_eksdoc.session.session import ClusterSession
from tests.addon.terraform_of_demo import an_incident, of_everything
from tests.addon_diff.terraform.worlds import SPELLINGS
from tests.broken import accepted
from tests.examples import one_in
from tests.host.terraform_plans import a_plan, written
from tests.reading import yaml_of
from tests.sessions import of_the_demo

GOLDEN = Path(__file__).parent / "golden"
JUDGE = jsonschema.Draft202012Validator(schemas.load("AddonDiff"))


@cache
def world() -> ClusterSession:
    return of_the_demo(NEEDS)


def view(document: Any, folder: Path) -> TerraformReport:
    plan = replace(read_terraform_plan(written(folder, document)), file="plan.json")
    judgement = judge_terraform(plan, world())
    return TerraformReport(
        judgement,
        world().believed.cluster.name,
        world().cluster,
        options={"tf-plan": "plan.json"},
        recognised=world().recognised,
        tool_version="0.0.0",
    )


@pytest.mark.parametrize(
    ("file", "output", "look"),
    [
        ("table-100.txt", "table", Look(100)),
        ("table-80.txt", "table", Look(80)),
        ("table-ascii.txt", "table", Look(100, ascii=True)),
        ("wide.txt", "wide", Look(120)),
        ("plan.json", "json", Look()),
    ],
)
def test_golden(file: str, output: str, look: Look, tmp_path: Path) -> None:
    text = view(of_everything(), tmp_path).render(output, look)
    if os.environ.get("EKSDOC_UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / file).write_text(text, encoding="utf-8", newline="\n")
    assert text == (GOLDEN / file).read_text(encoding="utf-8")
    assert not look.ascii or text.isascii()
    if output == "table":
        assert all(len(line) <= look.columns for line in text.splitlines())


@pytest.mark.parametrize("document", one_in(3, [of_everything(), a_plan(), *map(an_incident, SPELLINGS)]))
def test_documents_are_valid_and_findings_name_their_addresses(document: Any, tmp_path: Path) -> None:
    shown = view(document, tmp_path)
    said = json.loads(shown.render("json", Look()))
    assert [error.message for error in JUDGE.iter_errors(said)] == []
    assert yaml_of(shown.render("yaml", Look())) == said
    addresses = [each["address"] for each in said["terraform"]["changes"]]
    for finding in said["findings"]:
        about = finding["subject"]["name"] + "".join(finding["evidence"])
        assert finding["subject"]["kind"] == "TerraformPlan" or any(address in about for address in addresses)


@pytest.mark.parametrize(
    ("spelling", "lines"),
    [
        ("6", ['resolve_conflicts_on_update = "NONE"', "configuration_values = jsonencode({"]),
        ("5", ['resolve_conflicts_on_update = "NONE"', "configuration_values = jsonencode({"]),
        ("4.47 to 4.x", ['resolve_conflicts = "NONE"', "configuration_values = jsonencode({"]),
        ("4.32 to 4.46", ['resolve_conflicts = "PRESERVE"', "# this provider gives no configuration values"]),
        ("before 4.32", ["# this provider gives no configuration values", "and PRESERVE is refused"]),
    ],
)
def test_what_is_to_be_written_is_what_that_provider_takes(spelling: str, lines: list[str], tmp_path: Path) -> None:
    document = an_incident(spelling)
    document["configuration"]["provider_config"]["aws"]["version_constraint"] = SPELLINGS[spelling][0]
    text = view(document, tmp_path).render("table", Look(120))
    assert f"Terraform, AWS provider {spelling}:" in text and all(line in text for line in lines)
    assert ("aws eks update-addon" in text) is ("# this provider" in text)


def test_each_change_stands_in_a_ticket_under_its_address(tmp_path: Path) -> None:
    shown = view(an_incident("6"), tmp_path)
    text = shown.render("markdown", Look()).replace("\\", "")
    assert all(f"### {each.change.request.address}\n" in text for each in shown.judgement.changes)


def test_its_schema_refuses_what_is_broken(tmp_path: Path) -> None:
    said = json.loads(view(of_everything(), tmp_path).render("json", Look()))
    loose = accepted(JUDGE, said, ("metadata.options", "addons"))
    assert {each for each in loose if not each.endswith((".namespace", ".command"))} <= {"no terraform", "no addons"}
