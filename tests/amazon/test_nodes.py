"""Nodes and their metadata service: AMIs, cgroups, container runtimes, version skew, instance options, release
notes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.amazon.addon_needs import UPGRADE_SOFTWARE
from kubectl_eksdoc.amazon.amis import (
    NOTES_READ_TO,
    RELEASE_NOTES,
    AmiFamily,
    ConcernedObjects,
    GroupUpdateKind,
    UpgradeHalf,
    cgroup_version,
    check_cgroup,
    check_runtime,
    choose_ami_change,
    family_of_os,
    family_of_type,
    is_ami_offered,
    notes_between,
    notes_not_read,
)
from kubectl_eksdoc.amazon.metadata_service import (
    HOST_HOPS,
    NESTED_HOPS,
    POD_HOPS,
    ImdsReach,
    LaunchOptions,
    OptionsOrigin,
    eks_template_options,
    imds_verdict,
    resolve_launch_options,
)
from kubectl_eksdoc.amazon.versions import Fit
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.machines import DeclaredMetadataOptions, Image, MetadataOptions
from kubectl_eksdoc.model.quantities import Version

AMI_TYPES = {
    AmiFamily.AL2: ("AL2_x86_64", "AL2_x86_64_GPU", "AL2_ARM_64"),
    AmiFamily.AL2023: (
        "AL2023_x86_64_STANDARD",
        "AL2023_ARM_64_STANDARD",
        "AL2023_x86_64_NEURON",
        "AL2023_x86_64_NVIDIA",
        "AL2023_ARM_64_NVIDIA",
    ),
    AmiFamily.BOTTLEROCKET: ("BOTTLEROCKET_ARM_64", "BOTTLEROCKET_x86_64_NVIDIA_FIPS"),
    AmiFamily.WINDOWS: ("WINDOWS_CORE_2019_x86_64", "WINDOWS_FULL_2025_x86_64"),
    AmiFamily.UNKNOWN: ("CUSTOM", "", "AL3_x86_64"),
}


def v(minor: int) -> Version:
    return Version(1, minor)


@pytest.mark.parametrize(("family", "types"), AMI_TYPES.items())
def test_families_of_ami_types(family: AmiFamily, types: tuple[str, ...]) -> None:
    assert {family_of_type(each) for each in types} == {family}


@pytest.mark.parametrize(
    ("image", "family"),
    [
        ("Amazon Linux 2", AmiFamily.AL2),
        ("Amazon Linux 2023.7.20250609", AmiFamily.AL2023),
        ("Amazon Linux 2025", AmiFamily.UNKNOWN),
        ("Bottlerocket (EKS Auto) 2025.6.3 (aws-k8s-1.32)", AmiFamily.BOTTLEROCKET),
        ("Windows Server 2022 Datacenter", AmiFamily.WINDOWS),
        ("Ubuntu 22.04.4 LTS", AmiFamily.UBUNTU),
        ("", AmiFamily.UNKNOWN),
    ],
)
def test_families_of_nodes(image: str, family: AmiFamily) -> None:
    assert family_of_os(image) is family


def test_al2_ends_with_1_32() -> None:
    assert [is_ami_offered(AmiFamily.AL2, v(minor)).fit for minor in (31, 32, 33)] == [Fit.FITS, Fit.FITS, Fit.TOO_OLD]
    assert "2025-11-26" in is_ami_offered(AmiFamily.AL2, v(32)).reason
    assert is_ami_offered(AmiFamily.AL2023, v(33)).fit is Fit.FITS


@pytest.mark.parametrize("family", [AmiFamily.UBUNTU, AmiFamily.UNKNOWN])
def test_of_other_amis_nothing_is_known(family: AmiFamily) -> None:
    assert is_ami_offered(family, v(30)).fit is Fit.UNKNOWN
    assert isinstance(cgroup_version(family), Unknown)


@pytest.mark.parametrize(
    ("family", "minor", "fargate", "fit"),
    [
        (AmiFamily.AL2, 34, False, Fit.FITS),
        (AmiFamily.AL2, 35, False, Fit.TOO_OLD),
        (AmiFamily.AL2, 35, True, Fit.FITS),
        (AmiFamily.UBUNTU, 35, False, Fit.UNKNOWN),
        (AmiFamily.UNKNOWN, 34, False, Fit.FITS),
        (AmiFamily.UNKNOWN, 35, False, Fit.UNKNOWN),
    ],
)
def test_cgroup_v1_ends_with_1_34(family: AmiFamily, minor: int, fargate: bool, fit: Fit) -> None:
    assert check_cgroup(family, v(minor), fargate).fit is fit


@pytest.mark.parametrize(
    ("runtime", "minor", "fit"),
    [
        ("containerd://1.7.27", 35, Fit.FITS),
        ("containerd://1.7.27", 36, Fit.TOO_OLD),
        ("containerd://2.0.0", 36, Fit.FITS),
        ("containerd://1.5.18", 26, Fit.TOO_OLD),
        ("containerd://1.6.6", 26, Fit.FITS),
        ("docker://20.10.25", 24, Fit.TOO_OLD),
        ("docker", 24, Fit.UNKNOWN),
        ("cri-o://1.30.0", 30, Fit.UNKNOWN),
        ("", 30, Fit.UNKNOWN),
    ],
)
def test_runtimes(runtime: str, minor: int, fit: Fit) -> None:
    assert check_runtime(runtime, v(minor)).fit is fit


@pytest.mark.parametrize(
    ("ami_type", "minor", "own", "way"),
    [
        ("AL2_x86_64", 32, False, GroupUpdateKind.IN_PLACE),
        ("AL2_x86_64", 33, False, GroupUpdateKind.NEW_GROUP),
        ("AL2_x86_64", 33, None, GroupUpdateKind.NEW_GROUP),
        ("AL2_x86_64", 32, None, GroupUpdateKind.UNKNOWN),
        ("AL2023_x86_64_STANDARD", 33, True, GroupUpdateKind.TEMPLATE),
        ("CUSTOM", 33, False, GroupUpdateKind.TEMPLATE),
        ("AL3_x86_64", 33, False, GroupUpdateKind.UNKNOWN),
        ("", 33, False, GroupUpdateKind.UNKNOWN),
    ],
)
def test_how_a_group_gets_there(ami_type: str, minor: int, own: bool | None, way: GroupUpdateKind) -> None:
    assert choose_ami_change(ami_type, v(minor), own).kind is way


def ids(now: int, target: int, when: UpgradeHalf) -> list[str]:
    return [each.id for each in notes_between(v(now), v(target), when)]


def test_notes_on_a_path() -> None:
    assert ids(25, 26, UpgradeHalf.CONTROL_PLANE) == ["vpc-cni-1.12"]
    assert ids(25, 26, UpgradeHalf.NODES) == ["containerd-1.6"]
    assert "dockershim" in ids(23, 24, UpgradeHalf.NODES)
    assert "dockershim" not in ids(24, 25, UpgradeHalf.NODES)
    assert ids(33, 33, UpgradeHalf.CONTROL_PLANE) == []


def test_every_minor_from_1_21_on_was_read() -> None:
    assert {each.version.minor for each in RELEASE_NOTES} == set(range(21, 37)) - {28}
    assert notes_not_read(NOTES_READ_TO) is None
    assert isinstance(notes_not_read(v(37)), Unknown)


def test_notes_can_be_told_apart_and_asked_of_a_cluster() -> None:
    notes = RELEASE_NOTES
    assert len({each.id for each in notes}) == len(notes)
    known = {each.name for each in UPGRADE_SOFTWARE}
    for note in notes:
        assert note.what.endswith(".") and note.do.endswith(".") and note.source.document
        for concern in note.concerns:
            assert bool(concern.names) is (concern.about is not ConcernedObjects.EVERYBODY)
            if concern.about is ConcernedObjects.SOFTWARE:
                assert set(concern.names) <= known
            if concern.about is ConcernedObjects.AMI:
                assert set(concern.names) <= {each.value for each in AmiFamily}


def test_it_says_why() -> None:
    assert check_cgroup(AmiFamily.AL2, v(35), fargate=True).reason.startswith("Fargate lets")
    assert check_cgroup(AmiFamily.BOTTLEROCKET, v(35)).reason.startswith("Bottlerocket lets")
    assert is_ami_offered(AmiFamily.UBUNTU, v(30)).reason.startswith("Canonical publishes it")
    assert is_ami_offered(AmiFamily.UNKNOWN, v(30)).reason.startswith("it is an AMI of the owner's own")
    assert check_runtime("containerd://1.7.27", v(36)).reason == "1.35 is the last with containerd 1.x, it is 1.7.27"
    newest, before = (check_runtime("containerd://2.1.4", v(minor)).source for minor in (36, 35))
    assert newest is not None and before is not None
    assert (newest.confidence, before.confidence) == (Confidence.MEDIUM, Confidence.HIGH)


DENIED = Unknown("not allowed", "ec2:DescribeLaunchTemplateVersions")
PLAIN, V2 = Image("ami-1"), Image("ami-2", v2=True)
NOTHING = DeclaredMetadataOptions()


@pytest.mark.parametrize(
    ("instance_type", "known"),
    [
        ("m5.large", True),
        ("u7i-12tb.224xlarge", True),
        ("", True),
        ("m8g.large", False),
        ("g6e.xlarge", False),
        ("p6-b200.48xlarge", False),
        ("c7i-flex.large", False),
    ],
)
def test_ec2s_own_default_depends_on_when_a_type_came_out(instance_type: str, known: bool) -> None:
    made = resolve_launch_options(NOTHING, NOTHING, PLAIN, instance_type)
    assert isinstance(made.options, MetadataOptions) is known and made.endpoint.value is True
    whole = DeclaredMetadataOptions("required", 1)
    assert resolve_launch_options(whole, NOTHING, PLAIN, instance_type).options == MetadataOptions("required", 1)
    assert resolve_launch_options(NOTHING, NOTHING, V2, instance_type).options == MetadataOptions("required", 2)


@pytest.mark.parametrize(
    ("tokens", "hops", "of"),
    [
        ("required", 1, (ImdsReach.REACHABLE, ImdsReach.UNREACHABLE, ImdsReach.UNREACHABLE)),
        ("optional", 1, (ImdsReach.REACHABLE, ImdsReach.V1_ONLY, ImdsReach.V1_ONLY)),
        ("required", 2, (ImdsReach.REACHABLE, ImdsReach.REACHABLE, ImdsReach.UNREACHABLE)),
        ("optional", 2, (ImdsReach.REACHABLE, ImdsReach.REACHABLE, ImdsReach.V1_ONLY)),
        ("required", 3, (ImdsReach.REACHABLE, ImdsReach.REACHABLE, ImdsReach.REACHABLE)),
    ],
)
def test_who_reaches_it(tokens: str, hops: int, of: tuple[ImdsReach, ...]) -> None:
    options = MetadataOptions(tokens, hops)
    assert tuple(imds_verdict(options, needed).reach for needed in (HOST_HOPS, POD_HOPS, NESTED_HOPS)) == of


@given(
    some.builds(MetadataOptions, some.sampled_from(["optional", "required"]), some.integers(1, 64), some.booleans()),
    some.integers(1, 64),
)
def test_fewer_hops_never_reach_less(options: MetadataOptions, hops: int) -> None:
    order = (ImdsReach.UNREACHABLE, ImdsReach.V1_ONLY, ImdsReach.REACHABLE)
    near, far = (order.index(imds_verdict(options, each).reach) for each in (hops, hops + 1))
    assert near >= far
    assert (imds_verdict(options, hops).reach is ImdsReach.UNREACHABLE) == (
        not options.endpoint or (options.tokens == "required" and options.hop_limit < hops)
    )


def test_what_does_not_hold_yet_is_unknown() -> None:
    assert imds_verdict(MetadataOptions("required", 2, pending=True), POD_HOPS).reach is ImdsReach.UNKNOWN
    assert imds_verdict(None, HOST_HOPS).reach is ImdsReach.UNKNOWN
    assert imds_verdict(DENIED, HOST_HOPS).why == "not allowed"


def values(launched: LaunchOptions) -> tuple[object, ...]:
    return tuple((each.value, each.origin) for each in (launched.tokens, launched.hop_limit, launched.endpoint))


def test_field_by_field_the_strongest_says_it() -> None:
    assert values(resolve_launch_options(NOTHING, NOTHING, PLAIN)) == (
        ("optional", OptionsOrigin.EC2),
        (1, OptionsOrigin.EC2),
        (True, OptionsOrigin.EC2),
    )
    assert values(resolve_launch_options(NOTHING, NOTHING, V2))[:2] == (
        ("required", OptionsOrigin.IMAGE),
        (2, OptionsOrigin.IMAGE),
    )
    account = DeclaredMetadataOptions("optional", endpoint=False)
    assert values(resolve_launch_options(DeclaredMetadataOptions(hop_limit=3), account, V2)) == (
        ("optional", OptionsOrigin.ACCOUNT),
        (3, OptionsOrigin.TEMPLATE),
        (False, OptionsOrigin.ACCOUNT),
    )


@pytest.mark.parametrize("image", [PLAIN, V2, DENIED])
def test_imdsv2_as_the_default_of_the_account_brings_two_hops(image: Image | Unknown) -> None:
    found = resolve_launch_options(NOTHING, DeclaredMetadataOptions("required"), image)
    assert values(found)[:2] == (("required", OptionsOrigin.ACCOUNT), (2, OptionsOrigin.ACCOUNT_V2))
    assert resolve_launch_options(NOTHING, DeclaredMetadataOptions("required", 1), image).hop_limit.value == 1
    assert (
        resolve_launch_options(
            DeclaredMetadataOptions(hop_limit=1), DeclaredMetadataOptions("required"), image
        ).hop_limit.value
        == 1
    )


def test_what_is_not_known_leaves_open_only_what_nobody_above_says() -> None:
    found = resolve_launch_options(DeclaredMetadataOptions("required", 2), DENIED, V2)
    assert found.tokens.value == "required" and found.hop_limit.value == 2
    assert found.endpoint.value is DENIED and found.options is DENIED
    whole = DeclaredMetadataOptions("required", 1, True)
    assert resolve_launch_options(whole, DENIED, DENIED).options == MetadataOptions("required", 1)
    assert resolve_launch_options(DENIED, whole, V2).options is DENIED
    unknown_image = resolve_launch_options(NOTHING, NOTHING, DENIED)
    assert unknown_image.endpoint.value is True and unknown_image.hop_limit.value is DENIED


def test_what_eks_puts_into_its_own_templates() -> None:
    assert eks_template_options("AL2023_ARM_64_STANDARD") == DeclaredMetadataOptions("required", 1)
    assert eks_template_options("AL2_x86_64_GPU") == DeclaredMetadataOptions("optional", 2)
    for other in ("BOTTLEROCKET_x86_64", "WINDOWS_CORE_2022_x86_64", "CUSTOM", ""):
        assert isinstance(eks_template_options(other), Unknown)
