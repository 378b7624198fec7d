"""Names that a question gives are honoured."""

from __future__ import annotations

from typing import Any

from tests.tools.demo.aws.questions import NAMED, templates
from tools.demo.aws.demo_aws import DemoAws

AWS = DemoAws()


def versions_of(**params: Any) -> list[str]:
    """The ids of the templates whose versions are told."""
    told = AWS.ask("ec2", "DescribeLaunchTemplateVersions", params)["LaunchTemplateVersions"]
    return [each["LaunchTemplateId"] for each in told]


def test_a_launch_template_goes_by_id_and_name() -> None:
    for each in templates(AWS):
        ident, name = each["LaunchTemplateId"], each["LaunchTemplateName"]
        assert versions_of(LaunchTemplateId=ident) == versions_of(LaunchTemplateName=name) == [ident]
    assert len(versions_of()) == 3


def addon_versions(**params: Any) -> list[str]:
    """The names of the add-ons that are offered."""
    return [each["addonName"] for each in AWS.ask("eks", "DescribeAddonVersions", params)["addons"]]


def test_without_a_version_all_that_are_supported_are_told() -> None:
    (told,) = AWS.ask("eks", "DescribeAddonVersions", {"addonName": "coredns"})["addons"]
    fits = {b["addonVersion"]: [f["clusterVersion"] for f in b["compatibilities"]] for b in told["addonVersions"]}
    assert fits["v1.11.4-eksbuild.2"] == ["1.33", "1.32", "1.31"]
    assert fits["v1.14.3-eksbuild.11"] == ["1.36", "1.35"]


def test_updates_are_those_of_what_is_named() -> None:
    asked = (NAMED, {**NAMED, "addonName": "vpc-cni"}, {**NAMED, "nodegroupName": "blue"})
    found_ids = [AWS.ask("eks", "ListUpdates", params)["updateIds"] for params in asked]
    assert [len(each) for each in found_ids] == [1, 2, 2]
    assert len({ident for each in found_ids for ident in each}) == 5
    assert AWS.ask("eks", "ListUpdates", {**NAMED, "nodegroupName": "green"}) == {"updateIds": []}
