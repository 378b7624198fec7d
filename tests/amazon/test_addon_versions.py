"""Which version an update goes to, and by which others."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.amazon.addon_versions import is_offered, steps, target
from kubectl_eksdoc.model.addons import AddonVersion, AddonVersions, CompatibleVersion


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
    assert target(OFFERED, kubernetes, wish) == expected


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
    assert steps(addon, OFFERED, "1.33", now, to) == expected
