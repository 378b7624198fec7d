"""An add-on is updated one minor version at a time: the values proposed for each step fit the schema of the next
step."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.read import plan_steps
from kubectl_eksdoc.addon_diff.report.update import next_command, step_summary
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.model.addons import AddonVersionDetails, SchemaViolation
from kubectl_eksdoc.model.findings import Code
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon_diff.incident import EARLY_DEMUX, POD_ENI, version
from tests.addon_diff.test_plan import WANTED, facts, planned
from tests.raw_facts import DATA


def side(name: str) -> AddonVersionDetails:
    path = DATA / "aws" / "eks" / "schemas" / f"vpc-cni_{name}-eksbuild.1.json"
    schema = json.loads(path.read_text()) if path.exists() else Unknown(f"no schema of {name}")
    return AddonVersionDetails(f"{name}-eksbuild.1", chart_defaults("vpc-cni", f"{name}-eksbuild.1"), schema)


def steps(*names: str, mode: Mode = Mode.OVERWRITE, **more: Any) -> tuple[AddonPlan, ...]:
    """The update steps, from v1.11.0 on."""
    whole = planned(facts(current=version("v1.11.0"), target=version(names[-1]), **more), AddonUpdateRequest(mode))
    return plan_steps(whole, [side(name) for name in names])


def test_each_step_starts_where_the_one_before_it_ended() -> None:
    found = steps("v1.12.0", "v1.13.0", "v1.15.1")
    assert [(each.facts.current.version[:5], each.facts.target.version[:5]) for each in found] == [
        ("v1.11", "v1.12"),
        ("v1.12", "v1.13"),
        ("v1.13", "v1.15"),
    ]
    assert not any(code is Code.of("addon-version-unfit") for each in found for code in (f.code for f in each.findings))


def test_a_schema_that_lacks_a_key_keeps_it_out_of_its_step() -> None:
    """v1.12.0 accepts no ``init``, so the first call must not pass it; calls to versions that accept it pass it."""
    first, second = steps("v1.12.0", "v1.15.1")
    assert first.way_out is not None and first.way_out.values == {"env": {POD_ENI[1]: "true"}}
    assert any(change.field.variable == EARLY_DEMUX[2] for change in first.way_out.cannot)
    assert "no value keeps DISABLE_TCP_EARLY_DEMUX" in step_summary(first)
    assert "--resolve-conflicts PRESERVE" in next_command(first)
    assert second.way_out is not None and second.way_out.values == WANTED and second.way_out.broken == ()
    assert "--resolve-conflicts NONE" in next_command(second)


def test_what_is_set_once_is_at_risk_no_more() -> None:
    first, second = steps("v1.15.1", "v1.16.0")
    assert first.way_out is not None and first.way_out.values == WANTED
    assert second.facts.values == WANTED
    assert second.way_out is None and "nothing more at risk" in step_summary(second)
    assert "--configuration-values" not in next_command(second), "EKS keeps those of the step before"
    assert "not all of it is known" in step_summary(second), "v1.16.0 has no schema here"


def test_values_that_eks_refuses_are_not_said_to_keep_anything() -> None:
    first, _ = steps("v1.15.1", "v1.16.0")
    assert first.way_out is not None and "which these values keep" in step_summary(first)
    refused = replace(
        first,
        way_out=replace(first.way_out, broken=(SchemaViolation(("init",), "is not allowed", "additionalProperties"),)),
    )
    assert "EKS refuses the values that would keep them" in step_summary(refused) and next_command(refused) == ""


def test_values_that_are_not_known_are_no_values() -> None:
    first, *_ = steps("v1.15.1", "v1.16.0", values=Unknown("they are no YAML"))
    assert first.way_out is None and next_command(first) == ""
    assert "at risk, and no values can be proposed, as today's are not known" in step_summary(first)
