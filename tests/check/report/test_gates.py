"""A finding is reported with the gate of the check that found it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kubectl_eksdoc.check.checking import Area, Gate
from kubectl_eksdoc.check.plan import CheckScope
from kubectl_eksdoc.model.findings import Status
from tests.check.report.checked import LOOK, UNFIT, accepted, check, view

LATER = replace(UNFIT, status=Status.FAIL, message="it is updated after the control plane", missing="")
CHECKS = [check(Area.ADDONS, Gate.BEFORE_CONTROL_PLANE, UNFIT), check(Area.ADDONS, Gate.BEFORE_NODES, LATER)]


def test_two_checks_of_one_code_are_told_apart_in_the_document() -> None:
    found = json.loads(view(CHECKS).render("json", LOOK))["findings"]
    assert {each["status"]: each["gate"] for each in found} == {
        "unknown": "before-control-plane",
        "fail": "before-nodes",
    }


@pytest.mark.parametrize("output", ["json", "sarif"])
def test_what_is_suppressed_has_a_gate_by_its_code(output: str) -> None:
    told = view(CHECKS[:1], CheckScope(suppressions=(accepted(UNFIT),))).render(output, LOOK)
    assert '"gate": "before-control-plane"' in told
