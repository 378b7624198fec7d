"""Reports of the demo's add-ons, of their past updates, and of Terraform plans for them; in every format:
`tests.drain.report.test_formats`."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.past_update_facts import UpdateReview
from kubectl_eksdoc.addon_diff.plan import AddonPlan, ProposedValues
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.read import (
    HISTORIES,
    NEEDS,
    judge_terraform,
    plan_addon_update,
    read_addon,
    read_past_update,
    review_update,
)
from kubectl_eksdoc.addon_diff.report.after import AfterReport
from kubectl_eksdoc.addon_diff.report.diff import AddonReport, TerraformReport
from kubectl_eksdoc.addon_diff.report.update import (
    as_json,
    eksctl_config,
    next_command,
    proposed_command,
    terraform_blocks,
)
from kubectl_eksdoc.host.terraform import read_terraform_plan
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.kinds import Absent, Resource, Unknown
from kubectl_eksdoc.report.text import Appearance
from kubectl_eksdoc.session.session import ClusterSession, ObservedSession
from tests.addon.terraform_of_demo import an_incident, of_everything
from tests.addon_diff.terraform.worlds import SPELLINGS
from tests.host.terraform_plans import a_plan, written
from tests.report.golden import TABLES, AnswerFormats
from tests.sessions import AppliesNothing, of_the_demo

HERE = Path(__file__).parent
NAMES = ("vpc-cni", "coredns", "kube-proxy", "aws-ebs-csi-driver", "metrics-server")
TO = "v1.20.4-eksbuild.2"
DEMUX = "DISABLE_TCP_EARLY_DEMUX"


@cache
def world() -> ClusterSession:
    return of_the_demo(replace(NEEDS, histories=HISTORIES))


def shown(report: Any, *facts: object, **options: object) -> Any:
    return report(*facts, options=options, recognised=world().recognised, tool_version="0.0.0")


@cache
def planned(name: str, to: str, mode: Mode) -> AddonPlan:
    demo = world()
    return plan_addon_update(demo, read_addon(demo, name, to), AddonUpdateRequest(mode))


def view(name: str = "vpc-cni", to: str = TO, mode: Mode = Mode.OVERWRITE) -> AddonReport:
    options: Any = {"addon": name, "to": to, "resolve-conflicts": mode.value}
    report: AddonReport = shown(AddonReport, (planned(name, to, mode),), world().cluster, **options)
    return report


ANSWERS = AnswerFormats(
    HERE / "golden",
    {"update": view} | {name: partial(view, name, "", mode) for name, mode in zip(NAMES, cycle(Mode), strict=False)},
    TABLES
    | {
        "table-colour.txt": ("table", Appearance(120, colour=True)),
        "diff.json": ("json", Appearance()),
        "diff.yaml": ("yaml", Appearance()),
    },
    {"no addons.*.fields.*.live", *(f"no addons.*.fields.*.modes.{mode.value}.value" for mode in Mode)},
    (
        *("addons.*.values", "addons.*.wayOut.values", "addons.*.wayOut.eksctl", "addons.*.fields.*.live"),
        *(f"addons.*.fields.*.modes.{mode.value}.value" for mode in Mode),
    ),
    whole=("aws eks update-addon",),
    widths=(80, 120),
)


def test_commands_hold_in_a_shell_and_in_terraform() -> None:
    plan = planned("vpc-cni", TO, Mode.OVERWRITE)
    values = {"env": {"ADDITIONAL_ENI_TAGS": '{"it\'s": "${x}"}'}, "n": 1, "list": ["%{y}", True]}
    assert json.loads(as_json(values)) == values
    way = ProposedValues(values, (), ())
    said = shlex.split(proposed_command(plan, way))
    assert json.loads(said[said.index("--configuration-values") + 1]) == values
    assert said[said.index("--resolve-conflicts") + 1] == "NONE", "what was not foreseen is refused, and not taken"
    newest, *older = dict(terraform_blocks(plan, way)).values()
    assert "$${x}" in newest and "%%{y}" in newest and 'resolve_conflicts_on_update = "NONE"' in newest
    assert ["configuration_values" in each for each in older] == [True, False, False]
    left = replace(way, cannot=plan.changes[:1])
    assert "--resolve-conflicts PRESERVE" in proposed_command(plan, left)
    assert eksctl_config(plan, left)["addons"][0]["resolveConflicts"] == "preserve"


@pytest.mark.parametrize("output", ["table", "wide", "json"])
def test_no_command_names_a_version_that_eks_does_not_offer(output: str) -> None:
    text = view("vpc-cni", "v9").render(output, Appearance(120))
    assert "v9 with OVERWRITE: EKS does not offer it for Kubernetes 1.33" in text and "update-addon" not in text
    assert next_command(planned("vpc-cni", "v9", Mode.NONE)) == ""


def test_a_ticket_has_the_update_and_the_call_that_keeps_all_as_code() -> None:
    text = view().render("markdown", Appearance())
    assert text.startswith(f"## vpc-cni v1.19.5-eksbuild.1 → {TO} with OVERWRITE: ")
    assert "### Fields at risk: what each way" in text and "### Findings with OVERWRITE" in text
    code = text[text.index("### Configuration values") :].split("```")[1]
    assert code.startswith("text\naws eks update-addon ") and "For a program" not in text


def test_the_account_that_was_asked_is_the_one_that_is_changed() -> None:
    """awscli would otherwise use its default profile, and that account may have a cluster of the same name."""
    plan = planned("vpc-cni", TO, Mode.OVERWRITE)
    assert plan.way_out is not None and "--profile" not in proposed_command(plan, plan.way_out)
    audited = replace(plan, facts=replace(plan.facts, profile="audit"))
    assert "--profile audit" in proposed_command(audited, plan.way_out)


# Past updates


class SixMinutesEarlier(AppliesNothing):
    """The demo's cluster before the field was set again: without that revision. Implements both ports."""

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        doc = world().objects.read_object(of)
        if not isinstance(doc, dict) or of.kind != "DaemonSet":
            return doc
        told: Doc = json.loads(json.dumps(doc))
        meta, (init,) = told["metadata"], told["spec"]["template"]["spec"]["initContainers"]
        (entry,) = (each for each in init["env"] if each["name"] == DEMUX)
        entry["value"] = "false"
        eks, hand = meta["managedFields"]
        owned = eks["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:initContainers"]
        owned['k:{"name":"aws-vpc-cni-init"}']["f:env"][f'k:{{"name":"{DEMUX}"}}']["f:value"] = {}
        meta["managedFields"] = [eks]
        assert hand["manager"] == "kubectl-patch"
        return told

    def list_history(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        found = world().histories.list_history(resource, namespace)
        assert not isinstance(found, Unknown)
        return tuple(doc for doc in found if doc.get("revision") != 4)


@cache
def found(name: str = "vpc-cni", at_night: bool = False) -> UpdateReview:
    demo, past = world(), read_past_update(world(), name, "")
    night = ObservedSession(demo.cluster, demo.aws, SixMinutesEarlier())  # type: ignore[arg-type]
    return review_update(night if at_night else demo, past)


def after(review: UpdateReview) -> AfterReport:
    report: AfterReport = shown(
        AfterReport, (review,), world().cluster, ("--context", "demo"), addon="vpc-cni", after=True
    )
    return report


def bare(name: str) -> AfterReport:
    past = found(name)
    return after(replace(past, facts=replace(past.facts, update=Unknown("no")), workloads=(), next_update=None))


_FIELD = "addons.*.templates.*.fields.*"
_VALUES = tuple(f"{_FIELD}.{each}" for each in ("before", "after", "live"))
AFTER = AnswerFormats(
    HERE / "after" / "golden",
    {"night": lambda: after(found(at_night=True))}
    | {name: (lambda name=name: after(found(name))) for name in NAMES}
    | {f"bare {name}": partial(bare, name) for name in NAMES[:2]},
    {
        "table-120.txt": ("table", Appearance(120), "vpc-cni"),
        "table-80.txt": ("table", Appearance(80), "vpc-cni"),
        "night-120.txt": ("table", Appearance(120)),
        "night-ascii.txt": ("table", Appearance(100, ascii=True)),
        "night-colour.txt": ("table", Appearance(120, colour=True)),
        "night-wide.txt": ("wide", Appearance(120)),
        "night.json": ("json", Appearance()),
        "night.yaml": ("yaml", Appearance()),
    },
    {f"no {each}" for each in _VALUES},
    (
        *("addons.*.values", "addons.*.later.values", "addons.*.update.parameters"),
        *("addons.*.templates.*.now.patch", *_VALUES),
    ),
    whole=("aws eks", "kubectl "),
    widths=(80, 120),
)


def test_at_night_one_command_gives_it_back() -> None:
    lines = after(found(at_night=True)).render("table", Appearance(120)).splitlines()
    (command,) = (line.strip() for line in lines if line.startswith("  kubectl "))
    *words, patch = shlex.split(command)
    assert " ".join(words) == "kubectl --context demo -n kube-system patch daemonset aws-node --type strategic -p"
    init = {"env": [{"name": DEMUX, "value": "true"}], "name": "aws-vpc-cni-init"}
    assert json.loads(patch) == {"spec": {"template": {"spec": {"initContainers": [init]}}}}


# Terraform plans


def planned_by_terraform(document: Any) -> TerraformReport:
    with TemporaryDirectory() as folder:
        plan = replace(read_terraform_plan(written(Path(folder), document)), file="plan.json")
    judgement = judge_terraform(plan, world())
    cluster: Any = (world().verified_aws.cluster.name, world().cluster)
    report: TerraformReport = shown(TerraformReport, judgement, *cluster, **{"tf-plan": "plan.json"})
    return report


TERRAFORM = AnswerFormats(
    HERE / "terraform" / "golden",
    {"everything": lambda: planned_by_terraform(of_everything()), "nothing": lambda: planned_by_terraform(a_plan())},
    {
        "table-100.txt": ("table", Appearance(100)),
        "table-80.txt": ("table", Appearance(80)),
        "table-ascii.txt": ("table", Appearance(100, ascii=True)),
        "wide.txt": ("wide", Appearance(120)),
        "plan.json": ("json", Appearance()),
    },
    {"no terraform"},
    ("addons",),
    widths=(80, 100),
)


@pytest.mark.parametrize(
    ("spelling", "lines"),
    [
        *((each, ['resolve_conflicts_on_update = "NONE"', "configuration_values = jsonencode({"]) for each in "56"),
        ("4.47 to 4.x", ['resolve_conflicts = "NONE"', "configuration_values = jsonencode({"]),
        ("4.32 to 4.46", ['resolve_conflicts = "PRESERVE"', "# this provider gives no configuration values"]),
        ("before 4.32", ["# this provider gives no configuration values", "and PRESERVE is refused"]),
    ],
)
def test_what_is_to_be_written_is_what_that_provider_takes(spelling: str, lines: list[str]) -> None:
    document = an_incident(spelling)
    document["configuration"]["provider_config"]["aws"]["version_constraint"] = SPELLINGS[spelling][0]
    text = planned_by_terraform(document).render("table", Appearance(120))
    assert f"Terraform, AWS provider {spelling}:" in text and all(line in text for line in lines)
    assert ("aws eks update-addon" in text) is ("# this provider" in text)


@pytest.mark.parametrize("document", [of_everything(), *map(an_incident, list(SPELLINGS)[:2])])
def test_findings_name_their_addresses_and_a_ticket_has_each_change_under_its_own(document: Any) -> None:
    report = planned_by_terraform(document)
    said = json.loads(report.render("json", Appearance()))
    text = report.render("markdown", Appearance()).replace("\\", "")
    addresses = [each["address"] for each in said["terraform"]["changes"]]
    assert all(f"### {address}\n" in text for address in addresses)
    for finding in said["findings"]:
        about = finding["subject"]["name"] + "".join(finding["evidence"])
        assert finding["subject"]["kind"] == "TerraformPlan" or any(address in about for address in addresses)
