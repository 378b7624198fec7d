"""Software and its add-ons: how the tool recognises it, its requirements, and its place in an upgrade."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.addon_needs import (
    AL2023_FAMILY,
    KUBE_PROXY,
    SOFTWARE_BY_NAME,
    TABLES,
    VERSION_REQUIREMENTS,
    VPC_CNI,
    CompatibilityTable,
    InstalledVersion,
    Software,
    SupportPromise,
    UpdatePosition,
    VersionRequirement,
    check_compatibility,
    check_requirement,
    compatible_versions,
    image_repository,
    image_tag,
    image_version,
    installed_version,
    requirements,
    software_of_image,
    software_of_labels,
    update_order,
)
from kubectl_eksdoc.amazon.versions import Fit, is_offered, target_version, update_steps
from kubectl_eksdoc.model.addons import AddonVersion, AddonVersions, CompatibleVersion
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import Version

UNKNOWN = Unknown("the tag is no version")
ARGO_CD, CERT_MANAGER, ISTIO, KARPENTER, KEDA = (
    SOFTWARE_BY_NAME[each] for each in ("Argo CD", "cert-manager", "Istio", "Karpenter", "KEDA")
)
EBS_CSI, LOAD_BALANCER_CONTROLLER = (
    SOFTWARE_BY_NAME["aws-ebs-csi-driver"],
    SOFTWARE_BY_NAME["aws-load-balancer-controller"],
)
FLUENT_BIT, METRICS_SERVER = SOFTWARE_BY_NAME["aws-for-fluent-bit"], SOFTWARE_BY_NAME["metrics-server"]
NODE_TERMINATION_HANDLER, PROMETHEUS = SOFTWARE_BY_NAME["aws-node-termination-handler"], SOFTWARE_BY_NAME["Prometheus"]


def v(text: str) -> Version:
    major, minor, *patch = (int(part) for part in text.split("."))
    return Version(major, minor, patch[0] if patch else None)


def the(software: Software, at_least: str) -> VersionRequirement:
    (found,) = (each for each in VERSION_REQUIREMENTS if each.name == software.name and each.at_least == v(at_least))
    return found


@pytest.mark.parametrize(
    ("installed", "fit"),
    [
        (v("2.4.6"), Fit.TOO_OLD),
        (v("2.4.7"), Fit.FITS),
        (v("2.4.8"), Fit.FITS),
        (v("2.4"), Fit.UNKNOWN),
        (v("2.5"), Fit.FITS),
        (v("2.3"), Fit.TOO_OLD),
        (UNKNOWN, Fit.UNKNOWN),
        (None, Fit.FITS),
    ],
)
def test_at_the_boundary_of_a_need(installed: InstalledVersion, fit: Fit) -> None:
    assert check_requirement(the(LOAD_BALANCER_CONTROLLER, "2.4.7"), installed).fit is fit


@pytest.mark.parametrize(("installed", "fit"), [(None, Fit.ABSENT), (UNKNOWN, Fit.FITS), (v("0.1.0"), Fit.FITS)])
def test_what_only_has_to_be_there(installed: InstalledVersion, fit: Fit) -> None:
    (need,) = requirements(EBS_CSI, v("1.22"), v("1.23"))
    assert check_requirement(need, installed).fit is fit


def test_needs_begin_at_their_version_and_stay() -> None:
    assert requirements(VPC_CNI, v("1.24"), v("1.25")) == requirements(VPC_CNI, v("1.26"), v("1.27")) == ()
    assert (
        requirements(VPC_CNI, v("1.25"), Version(1, 26, 3))
        == requirements(VPC_CNI, v("1.25"), v("1.33"))
        == (the(VPC_CNI, "1.12"),)
    )
    assert requirements(VPC_CNI, v("1.24"), v("1.25"), AL2023_FAMILY) == (the(VPC_CNI, "1.16.2"),)
    assert len(requirements(LOAD_BALANCER_CONTROLLER, v("1.21"), v("1.25"))) == 2


@pytest.mark.parametrize(
    ("software", "version", "kubernetes", "fit"),
    [
        (KARPENTER, "1.0.4", "1.31", Fit.TOO_OLD),
        (KARPENTER, "1.0.5", "1.31", Fit.FITS),
        (KARPENTER, "1.9.0", "1.25", Fit.TOO_NEW),
        (KARPENTER, "1.14.1", "1.37", Fit.UNKNOWN),
        (KARPENTER, "0.20.0", "1.22", Fit.UNKNOWN),
        (ARGO_CD, "3.2.3", "1.35", Fit.UNTESTED),
        (CERT_MANAGER, "1.18.2", "1.34", Fit.TOO_OLD),
        (METRICS_SERVER, "0.9.0", "1.33", Fit.TOO_NEW),
        (NODE_TERMINATION_HANDLER, "1.23.0", "1.28", Fit.FITS),
        (KUBE_PROXY, "1.34.0", "1.33", Fit.TOO_NEW),
        (PROMETHEUS, "3.5.0", "1.33", Fit.UNTESTED),
    ],
)
def test_the_tables_of_the_makers(software: Software, version: str, kubernetes: str, fit: Fit) -> None:
    assert check_compatibility(software, v(version), v(kubernetes)).fit is fit


def test_an_unknown_version_never_fits() -> None:
    for table in TABLES:
        assert check_compatibility(SOFTWARE_BY_NAME[table.name], UNKNOWN, v("1.33")).fit is Fit.UNKNOWN


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_each_row_holds_within_its_window_and_not_beside_it(table) -> None:
    assert [row.since for row in table.rows] == sorted(row.since for row in table.rows)
    for row in table.rows:
        assert check_compatibility(SOFTWARE_BY_NAME[table.name], row.since, row.oldest).fit is Fit.FITS
        below = check_compatibility(SOFTWARE_BY_NAME[table.name], row.since, Version(1, row.oldest.minor - 1)).fit
        assert below is (Fit.UNTESTED if table.promise is SupportPromise.TESTED else Fit.TOO_NEW)
        if row.newest is not None:
            assert check_compatibility(SOFTWARE_BY_NAME[table.name], row.since, row.newest).fit is Fit.FITS
            above = check_compatibility(SOFTWARE_BY_NAME[table.name], row.since, Version(1, row.newest.minor + 1)).fit
            assert above in (Fit.UNTESTED, Fit.TOO_OLD, Fit.UNKNOWN)


@given(st.sampled_from(TABLES), st.integers(0, 60), st.integers(0, 40), st.integers(0, 9), st.integers(10, 60))
def test_newer_than_a_table_is_unknown(
    table: CompatibilityTable, major: int, minor: int, patch: int, kubernetes: int
) -> None:
    version = Version(major, minor, patch)
    found = check_compatibility(SOFTWARE_BY_NAME[table.name], version, v(f"1.{kubernetes}"))
    if table.rows and (table.last_software_minor < Version(major, minor) or version < table.rows[0].since):
        assert found.fit is Fit.UNKNOWN
    assert found.source is not None


def test_versions_that_fit_both_sides_of_a_step() -> None:
    assert compatible_versions(KEDA, (v("1.33"), v("1.34"))) == (v("2.19"), v("2.20"))
    assert compatible_versions(PROMETHEUS, (v("1.30"),)) == ()


@pytest.mark.parametrize(
    ("software", "installed", "now", "step", "place", "to"),
    [
        (VPC_CNI, v("1.11.4"), "1.25", "1.26", UpdatePosition.BEFORE_CONTROL_PLANE, "1.12"),
        (VPC_CNI, v("1.12"), "1.25", "1.26", UpdatePosition.AFTER_CONTROL_PLANE, None),
        (VPC_CNI, UNKNOWN, "1.25", "1.26", UpdatePosition.UNKNOWN, "1.12"),
        (EBS_CSI, None, "1.22", "1.23", UpdatePosition.BEFORE_CONTROL_PLANE, None),
        (KUBE_PROXY, UNKNOWN, "1.25", "1.26", UpdatePosition.AFTER_CONTROL_PLANE, "1.26"),
        (LOAD_BALANCER_CONTROLLER, v("2.3.0"), "1.24", "1.25", UpdatePosition.BEFORE_CONTROL_PLANE, "2.4.7"),
        (LOAD_BALANCER_CONTROLLER, v("2.4.8"), "1.24", "1.25", UpdatePosition.NO_ORDER, None),
        (KARPENTER, v("1.0.4"), "1.30", "1.31", UpdatePosition.BEFORE_CONTROL_PLANE, "1.0.5"),
        (KARPENTER, v("1.15.0"), "1.35", "1.36", UpdatePosition.UNKNOWN, None),
        (KARPENTER, UNKNOWN, "1.30", "1.31", UpdatePosition.UNKNOWN, None),
        (KARPENTER, None, "1.30", "1.31", UpdatePosition.NO_ORDER, None),
        (KEDA, v("2.16.0"), "1.31", "1.32", UpdatePosition.NO_PROMISE, None),
        (KEDA, UNKNOWN, "1.31", "1.32", UpdatePosition.NO_PROMISE, None),
        (Software("new", ARGO_CD.source), v("1.0"), "1.31", "1.32", UpdatePosition.UNKNOWN, None),
        (FLUENT_BIT, UNKNOWN, "1.33", "1.34", UpdatePosition.NO_ORDER, None),  # needed by 1.24
    ],
)
def test_where_each_stands(
    software: Software, installed: InstalledVersion, now: str, step: str, place: UpdatePosition, to: str | None
) -> None:
    found = update_order(software, installed, v(now), v(step))
    assert (found.position, found.to_version) == (place, None if to is None else v(to))
    assert found.reason


def test_before_nodes_of_al2023() -> None:
    found = update_order(VPC_CNI, v("1.15.1"), v("1.32"), v("1.33"), AL2023_FAMILY)
    assert (found.position, found.to_version) == (UpdatePosition.BEFORE_NODES, v("1.16.2"))
    assert (
        update_order(VPC_CNI, v("1.16.2"), v("1.32"), v("1.33"), AL2023_FAMILY).position
        is UpdatePosition.AFTER_CONTROL_PLANE
    )
    assert (
        update_order(VPC_CNI, v("1.11.0"), v("1.25"), v("1.26"), AL2023_FAMILY).position
        is UpdatePosition.BEFORE_CONTROL_PLANE
    )


def test_a_step_that_no_version_spans_says_so() -> None:
    found = update_order(CERT_MANAGER, v("1.18.0"), v("1.29"), v("1.36"))
    assert (found.position, found.to_version) == (UpdatePosition.BEFORE_CONTROL_PLANE, None)
    assert "no version is made for both 1.29 and 1.36" in found.reason


def test_an_update_past_the_end_of_its_own_api_goes_by_the_version_before() -> None:
    """Karpenter 1.1 and newer do not serve v1beta1: after an update from 0.37 to 1.6 in one step, no NodePool is found
    any more."""
    found = update_order(KARPENTER, v("0.37.0"), v("1.33"), v("1.34"))
    move = "; before 1.1, which does not serve karpenter.sh/v1beta1, move its objects to karpenter.sh/v1"
    assert found.to_version == v("1.6") and found.reason.endswith(move)
    assert "move" not in update_order(KARPENTER, v("1.5.0"), v("1.33"), v("1.34")).reason


def test_it_says_why() -> None:
    ebs, cni = requirements(EBS_CSI, v("1.22"), v("1.23"))[0], the(VPC_CNI, "1.12")
    assert check_requirement(ebs, None).reason.startswith("aws-ebs-csi-driver is not installed: from 1.23 on")
    assert check_requirement(cni, None).reason == "vpc-cni is not installed"
    assert (
        check_requirement(cni, v("1.11.4")).reason == "1.12 or newer is needed, it is 1.11.4: older ones crash on 1.26"
    )
    assert check_requirement(cni, UNKNOWN).reason == UNKNOWN.why
    assert check_compatibility(METRICS_SERVER, v("0.9.0"), v("1.33")).reason == (
        "metrics-server 0.9.0 is supported with Kubernetes 1.34 and newer, not 1.33"
    )
    assert (
        check_compatibility(KEDA, v("2.17.1"), v("1.33")).reason
        == "KEDA 2.17.1 is tested with Kubernetes 1.30 to 1.32, not 1.33"
    )
    assert check_compatibility(KARPENTER, v("1.15.0"), v("1.36")).reason == "its table ends with 1.14, it is 1.15.0"


def a_version(version: str, *fits: str, default: str = "") -> AddonVersion:
    return AddonVersion(version, tuple(CompatibleVersion(each, each == default) for each in fits))


OFFERED = AddonVersions(
    "vpc-cni",
    "networking",
    "eks",
    (
        a_version("v1.21.0-eksbuild.1", "1.34"),
        a_version("v1.20.4-eksbuild.2", "1.33", "1.34"),
        a_version("v1.20.1-eksbuild.3", "1.33", default="1.33"),
        a_version("v1.19.6-eksbuild.1", "1.33"),
        a_version("v1.19.5-eksbuild.1", "1.33"),
        a_version("v1.18.0-eksbuild.1", "1.32"),
    ),
)


@pytest.mark.parametrize(
    ("kubernetes", "wish", "expected"),
    [
        ("1.33", "", "v1.20.1-eksbuild.3"),
        ("1.33", "latest", "v1.20.4-eksbuild.2"),
        ("1.34", "latest", "v1.21.0-eksbuild.1"),
        ("1.34", "", ""),
        ("1.30", "latest", ""),
        ("1.30", "v9", "v9"),
    ],
)
def test_the_target(kubernetes: str, wish: str, expected: str) -> None:
    assert target_version(OFFERED, kubernetes, wish) == expected


def test_what_is_offered_for_a_kubernetes_version() -> None:
    assert is_offered(OFFERED, "1.33", "v1.19.6-eksbuild.1")
    assert not is_offered(OFFERED, "1.33", "v1.21.0-eksbuild.1") and not is_offered(OFFERED, "1.33", "v9")


@pytest.mark.parametrize(
    ("addon", "now", "to", "expected"),
    [
        ("vpc-cni", "v1.18.0-eksbuild.1", "v1.20.4-eksbuild.2", ("v1.19.6-eksbuild.1", "v1.20.4-eksbuild.2")),
        ("vpc-cni", "v1.19.5-eksbuild.1", "v1.20.4-eksbuild.2", ("v1.20.4-eksbuild.2",)),
        ("vpc-cni", "v1.20.4-eksbuild.2", "v1.18.0-eksbuild.1", ("v1.18.0-eksbuild.1",)),
        ("vpc-cni", "unreadable", "v1.20.4-eksbuild.2", ("v1.20.4-eksbuild.2",)),
        ("coredns", "v1.8.7-eksbuild.1", "v1.13.2-eksbuild.1", ("v1.13.2-eksbuild.1",)),
    ],
)
def test_the_way_by_minors(addon: str, now: str, to: str, expected: tuple[str, ...]) -> None:
    assert update_steps(addon, OFFERED, "1.33", now, to) == expected


ECR = "602401143452.dkr.ecr.eu-west-1.amazonaws.com"


@pytest.mark.parametrize(
    ("image", "path", "tag"),
    [
        ("nginx", "nginx", ""),
        ("localhost/a/b:1", "a/b", "1"),
        ("registry:5000/a/b", "a/b", ""),
        ("registry:5000/a/b:v1.2.3@sha256:0123", "a/b", "v1.2.3"),
        ("public.ecr.aws/karpenter/controller@sha256:ab", "karpenter/controller", ""),
        ("", "", ""),
    ],
)
def test_parts_of_an_image(image: str, path: str, tag: str) -> None:
    assert (image_repository(image), image_tag(image)) == (path, tag)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("x:v1.12.6-eksbuild.1", Version(1, 12, 6)),
        ("x:1.9", Version(1, 9)),
        ("x:v0.61.0-debian-11-r1@sha256:00", Version(0, 61, 0)),
    ],
)
def test_versions_of_tags(image: str, version: Version) -> None:
    assert image_version(image) == version


@pytest.mark.parametrize("image", ["x", "x:latest", "x:3", "x:1.2.3.4", "x:v1.x", ""])
def test_tags_that_tell_none(image: str) -> None:
    assert isinstance(image_version(image), Unknown)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        (f"{ECR}/amazon-k8s-cni:v1.12.6-eksbuild.1", "vpc-cni"),
        ("public.ecr.aws/eks/aws-load-balancer-controller:v2.7.1", "aws-load-balancer-controller"),
        ("registry.k8s.io/autoscaling/cluster-autoscaler:v1.30.0", "cluster-autoscaler"),
        ("public.ecr.aws/karpenter/controller:1.1.0@sha256:00", "Karpenter"),
        ("quay.io/jetstack/cert-manager-controller:v1.18.2", "cert-manager"),
        ("docker.io/istio/pilot:1.26.0-distroless", "Istio"),
    ],
)
def test_each_is_recognised_by_its_image(image: str, name: str) -> None:
    found = software_of_image(image)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "image",
    [
        f"{ECR}/amazon-k8s-cni-init:v1.12.6",
        f"{ECR}/amazon/aws-network-policy-agent:v1.1.0",
        "my.registry/controller:1.0",
        "my.registry/not-karpenter/controller:1.0",
        "quay.io/jetstack/cert-manager-webhook:v1.18.2",
        "web:1",
    ],
)
def test_others_are_not(image: str) -> None:
    assert software_of_image(image) is None


def test_labels_tell_it_where_images_do_not() -> None:
    assert software_of_labels({"k8s-app": "aws-node"}) == VPC_CNI
    assert software_of_labels({"app.kubernetes.io/name": "karpenter"}) == SOFTWARE_BY_NAME["Karpenter"]
    assert software_of_labels({"app": "web"}) is None


def test_the_version_of_fluent_bit_is_a_variable() -> None:
    fluent_bit, image = (
        SOFTWARE_BY_NAME["aws-for-fluent-bit"],
        "public.ecr.aws/aws-observability/aws-for-fluent-bit:2.32.0",
    )
    assert installed_version(fluent_bit, image, {"CI_VERSION": "k8s/1.3.36"}) == Version(1, 3, 36)
    assert isinstance(installed_version(fluent_bit, image), Unknown)
    assert isinstance(installed_version(fluent_bit, image, {"CI_VERSION": "k8s/new"}), Unknown)
    assert installed_version(VPC_CNI, "amazon-k8s-cni:v1.12.6", {"CI_VERSION": "k8s/1.0.0"}) == Version(1, 12, 6)
