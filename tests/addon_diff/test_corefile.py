"""The Corefile is judged by the CoreDNS version to which an update leads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.addon_diff.corefile import at_later_version
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonUpdateRequest, AddonVersionFacts, Mode
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon_diff.test_plan import COREFILE, edited, found, planned, without_charts

OLD = ".:53 {\n    errors\n    proxy . /etc/resolv.conf\n}\n"
GOOD = ".:53 {\n    errors\n    forward . /etc/resolv.conf\n}\n"
UNKNOWN = Unknown("not known")


def facts(text: str, target: str = "v1.13.1-eksbuild.1", manager: str = "kubectl-edit") -> AddonFacts:
    labelled = with_value(COREFILE, ("metadata", "labels"), {"k8s-app": "kube-dns"})
    live = edited(labelled, ("data", "Corefile"), text, manager)
    made = without_charts("coredns", objects=(live,))
    now = AddonVersionFacts("v1.11.4-eksbuild.2", UNKNOWN, UNKNOWN)
    return replace(made, current=now, target=AddonVersionFacts(target, UNKNOWN, UNKNOWN))


def judged(of: AddonFacts, asked: AddonUpdateRequest = AddonUpdateRequest()) -> list[Finding]:
    return list(found(planned(of, asked), "addon-corefile-refused"))


def test_a_plugin_that_is_gone_is_found_before_the_update() -> None:
    (finding,) = judged(facts(OLD))
    assert finding.status is Status.FAIL and "Unknown directive 'proxy'" in finding.message
    assert finding.remedy[0].command.endswith("-f Corefile --coredns-version 1.13.1-eksbuild.1")


STAYS = "v1.11.4-eksbuild.2"


@pytest.mark.parametrize(
    ("text", "target", "asked", "said"),
    [
        (GOOD, "v1.13.1-eksbuild.1", AddonUpdateRequest(), []),
        (OLD, STAYS, AddonUpdateRequest(), []),
        (OLD, "v1.13.1-eksbuild.1", AddonUpdateRequest(Mode.OVERWRITE), []),  # EKS writes its own
        (OLD, "v1.13.1-eksbuild.1", AddonUpdateRequest(Mode.OVERWRITE, {"corefile": GOOD}), []),
        (GOOD, "v1.13.1-eksbuild.1", AddonUpdateRequest(Mode.NONE, {"corefile": OLD}), [Status.FAIL]),
        (GOOD, STAYS, AddonUpdateRequest(Mode.NONE, {"corefile": OLD}), [Status.FAIL]),
        (OLD, STAYS, AddonUpdateRequest(Mode.NONE, {"corefile": OLD}), []),  # it is there already
        (OLD, "v1.99.0-eksbuild.1", AddonUpdateRequest(), [Status.UNKNOWN]),
    ],
)
def test_the_corefile_that_counts_is_judged_by_the_version_that_comes(
    text: str, target: str, asked: AddonUpdateRequest, said: list[Status]
) -> None:
    assert [each.status for each in judged(facts(text, target), asked)] == said


def test_a_version_that_comes_after_the_control_plane_judges_what_it_will_be_given() -> None:
    (live,) = facts(OLD).objects
    (finding,) = at_later_version((live,), {}, "v1.13.1-eksbuild.1")
    assert finding.status is Status.FAIL
    assert list(at_later_version((live,), {"corefile": GOOD}, "v1.13.1-eksbuild.1")) == []
    (eks,) = facts(OLD, manager="eks").objects
    assert list(at_later_version((eks,), {}, "v1.13.1-eksbuild.1")) == [], "EKS brings another"
