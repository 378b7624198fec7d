"""Findings of add-on updates in the summary of ``check``."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest
from kubectl_eksdoc.check.read import as_upgrade_finding
from kubectl_eksdoc.model.findings import Severity, Status
from tests.addon_diff.test_plan import COREFILE, edited, planned, without_charts

LOOK = "kubectl eksdoc addon-diff metrics-server --to v1"


@pytest.mark.parametrize(
    ("manager", "severity"), [("kube-controller-manager", Severity.INFO), ("kubectl-edit", Severity.MEDIUM)]
)
def test_a_manifest_that_is_not_known_stops_nothing_where_eks_alone_owns_the_fields(
    manager: str, severity: Severity
) -> None:
    live = edited(COREFILE, ("data", "Corefile"), ".:53 { ready }", manager)
    plan = planned(without_charts("metrics-server", objects=(live,)), AddonUpdateRequest())
    (unread,) = (each for each in plan.findings if each.code.name == "addon-object-unread")
    told = as_upgrade_finding(unread, plan.facts, LOOK)
    assert (told.severity, told.status) == (severity, Status.UNKNOWN)
    assert [each.command for each in told.remedy] == [LOOK, ""], "--manifest is a flag of that command"
