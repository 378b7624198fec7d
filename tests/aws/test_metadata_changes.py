"""Fixes of the metadata service on the AWS stand-in: the requests to EC2 and EKS, and the results over HTTP."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.aws import ec2
from kubectl_eksdoc.aws.asking import VerifiedCluster, verify_cluster
from kubectl_eksdoc.aws.machines import MetadataChanges
from kubectl_eksdoc.changes.engine import ChangeEnvironment as ChangeWorld
from kubectl_eksdoc.changes.engine import start_change
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsRefused
from kubectl_eksdoc.imds_probe.apply import FixPorts, build_fix
from kubectl_eksdoc.imds_probe.run import FixDone
from kubectl_eksdoc.model.change_journal import PartOutcome
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, Instance, MetadataOptions
from kubectl_eksdoc.model.metadata import InstanceOptionsChange, InstancesFix, LaunchTemplateFix, MetadataFix
from tests.aws.test_live import live, prod
from tests.changes.fixed import FakeClasses, Kept

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]
TOKEN = "eksdoc-20261122-1"
PINNED = "1.24.7-20221101"
ROLE = "arn:aws:iam::111122223333:role/any"
SAID = {"HttpTokens": "required", "HttpPutResponseHopLimit": 1, "InstanceMetadataTags": "enabled"}


@pytest.fixture
def of(prod: World) -> VerifiedCluster:
    aws = live(prod)
    found = verify_cluster(aws, aws.access)
    prod.forget_calls()
    return found


def an_instance(prod: World) -> str:
    asked = {"ImageId": "ami-12345678", "MinCount": 1, "MaxCount": 1, "MetadataOptions": SAID}
    return str(prod.client("ec2").run_instances(**asked)["Instances"][0]["InstanceId"])


def act_on(of: VerifiedCluster, *ids: str) -> InstancesFix:
    found = ec2.instances(of, ids)
    each = []
    for ident in ids:
        seen = found[ident]
        assert isinstance(seen, Instance) and seen.options is not None
        each.append(InstanceOptionsChange(f"node-{ident}", ident, seen.options, 2))
    return InstancesFix(tuple(each))


def a_group(prod: World, **data: Any) -> LaunchTemplateFix:
    client = prod.client("ec2")
    made = client.create_launch_template(
        LaunchTemplateName="own", LaunchTemplateData={"InstanceType": "m5.large", "MetadataOptions": SAID, **data}
    )
    ident = made["LaunchTemplate"]["LaunchTemplateId"]
    prod.client("eks").create_nodegroup(
        clusterName="prod",
        nodegroupName="own",
        subnets=["subnet-1"],
        nodeRole=ROLE,
        launchTemplate={"id": ident, "version": "1"},
        version="1.24",
        releaseVersion=PINNED,
    )
    pinned = ("", "") if "ImageId" in data else ("1.24", PINNED)
    return LaunchTemplateFix("own", ident, 1, DeclaredMetadataOptions("required", 1, tags=True), 2, *pinned, ("n0",))


class Fast:
    """A clock that waits a hundredth of the requested time."""

    def monotonic(self) -> float:
        return time.monotonic() * 100

    def now(self) -> datetime:
        return datetime.now(timezone.utc)

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds / 100, 0.1))


def carried_out(of: VerifiedCluster, act: MetadataFix) -> FixDone:
    clock = Fast()
    unasked = Unknown("not asked")
    world = ChangeWorld(Kept(), clock, clock.sleep, lambda: 0, lambda line: None, 3000)
    ports = FixPorts(MetadataChanges(of), FakeClasses(), lambda group: unasked)
    return start_change(build_fix(act, TOKEN, ports, world), {"run": "r-1"}, world)


def test_instances_keep_all_but_their_hop_limit(prod: World, of: VerifiedCluster) -> None:
    ids = [an_instance(prod) for _ in range(2)]
    done = carried_out(of, act_on(of, *ids))
    assert done.whole and [part.became for part in done.parts] == [PartOutcome.DONE] * 2
    for ident in ids:
        (found,) = prod.client("ec2").describe_instances(InstanceIds=[ident])["Reservations"]
        options = found["Instances"][0]["MetadataOptions"]
        assert (options["HttpPutResponseHopLimit"], options["HttpTokens"]) == (2, "required")
        assert options["InstanceMetadataTags"] == "enabled"
    assert prod.count("ec2:ModifyInstanceMetadataOptions") == 2


def test_a_dry_run_of_ec2_says_whether_it_would(prod: World, of: VerifiedCluster) -> None:
    act, aws = act_on(of, an_instance(prod)).each[0], MetadataChanges(of)
    aws.set_options(act, dry=True)
    template = a_group(prod)
    assert aws.new_version(template, TOKEN, dry=True) == 0
    assert aws.instances([act.instance])[act.instance] == ec2.instances(of, [act.instance])[act.instance]
    assert act_on(of, act.instance).each[0].before == MetadataOptions("required", 1)
    prod.deny("ec2:ModifyInstanceMetadataOptions", "ec2:CreateLaunchTemplateVersion")
    for ask in (lambda: aws.set_options(act, dry=True), lambda: aws.new_version(template, TOKEN, dry=True)):
        with pytest.raises(AwsDenied) as error:
            ask()
        assert error.value.missing.startswith("ec2:") and "Nothing was changed" in error.value.hint


def test_an_endpoint_that_is_disabled_is_enabled(prod: World, of: VerifiedCluster) -> None:
    ident = an_instance(prod)
    prod.client("ec2").modify_instance_metadata_options(InstanceId=ident, HttpEndpoint="disabled")
    (each,) = act_on(of, ident).each
    assert not each.before.endpoint and carried_out(of, InstancesFix((each,))).whole
    assert act_on(of, ident).each[0].before == each.after


def test_what_aws_does_not_take(prod: World, of: VerifiedCluster) -> None:
    aws, act = MetadataChanges(of), act_on(of, an_instance(prod)).each[0]
    with pytest.raises(AwsMissing):
        aws.set_options(replace(act, instance="i-0123456789abcdef0"))
    prod.fail("ec2:ModifyInstanceMetadataOptions", "IncorrectInstanceState", "it is stopping", 400, times=1)
    with pytest.raises(AwsRefused):
        aws.set_options(act)
    prod.fail("ec2:ModifyInstanceMetadataOptions", "InternalError", "oops", 500, times=1)
    with pytest.raises(AwsError) as error:
        aws.set_options(act)
    assert not isinstance(error.value, AwsRefused), "it may be done all the same"


def test_a_new_version_keeps_what_the_old_one_says_and_the_ami_stays(prod: World, of: VerifiedCluster) -> None:
    act = a_group(prod)
    prod.eks().ends_when_asked = 2
    done = carried_out(of, act)
    assert done.whole and (done.number, done.stage) == (2, UpdateStage.SUCCESSFUL)
    told = prod.client("ec2").describe_launch_template_versions(LaunchTemplateId=act.id, Versions=["2"])
    (version,) = told["LaunchTemplateVersions"]
    assert version["LaunchTemplateData"]["MetadataOptions"] == {**SAID, "HttpPutResponseHopLimit": 2}
    assert version["LaunchTemplateData"]["InstanceType"] == "m5.large", "of the source version"
    group = prod.client("eks").describe_nodegroup(clusterName="prod", nodegroupName="own")["nodegroup"]
    assert (group["releaseVersion"], group["launchTemplate"]["version"]) == (PINNED, "2")


def test_a_template_with_an_ami_gives_no_release(prod: World, of: VerifiedCluster) -> None:
    act = a_group(prod, ImageId="ami-12345678")
    prod.eks().ends_when_asked = 1
    assert carried_out(of, act).whole
    group = prod.client("eks").describe_nodegroup(clusterName="prod", nodegroupName="own")["nodegroup"]
    assert group["launchTemplate"]["version"] == "2"


def test_a_version_and_an_update_are_found_again(prod: World, of: VerifiedCluster) -> None:
    act, aws = a_group(prod), MetadataChanges(of)
    assert aws.version_of(act, TOKEN) == 0
    number = aws.new_version(act, TOKEN)
    assert aws.version_of(act, TOKEN) == number == 2 and aws.update_to(act, number) == ""
    update = aws.update_group(act, number, TOKEN)
    assert aws.update_to(act, number) == update.id
    prod.deny("ec2:DescribeLaunchTemplateVersions", "eks:ListUpdates")
    assert isinstance(aws.version_of(act, TOKEN), Unknown) and isinstance(aws.update_to(act, number), Unknown)
    assert isinstance(aws.group("gone"), Absent)


def test_who_may_not_update_a_group_is_told_which_action(prod: World, of: VerifiedCluster) -> None:
    act, aws = a_group(prod), MetadataChanges(of)
    number = aws.new_version(act, TOKEN)
    prod.deny("eks:UpdateNodegroupVersion")
    with pytest.raises(AwsDenied) as error:
        aws.update_group(act, number, TOKEN)
    assert error.value.missing == "eks:UpdateNodegroupVersion" and aws.update_to(act, number) == ""
