"""Versions as kubelets and people write them, and which of two is older."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.model.quantities import Version, parse


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.33", Version(1, 33)),
        ("1.33", Version(1, 33)),
        ("1.33.1", Version(1, 33, 1)),
        ("v1.33.1-eks-1b3e656", Version(1, 33, 1)),
        ("v1.36.0-beta.0+4f5a", Version(1, 36, 0)),
        ("v1.27+", Version(1, 27)),
        (" v1.33 \n", Version(1, 33)),
    ],
)
def test_parse(text: str, version: Version) -> None:
    assert parse(text) == version


@pytest.mark.parametrize("text", ["", "v", "1", "v1.", "1.x", "one.two", "v1.33.1.2", "v1.33 beta", "-1.33", "12345.1"])
def test_what_is_no_version(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("kubelet", "than", "older"),
    [
        ("v1.32.5", "v1.33", True),
        ("v1.33.0", "v1.33", False),
        ("v1.9.0", "v1.10", True),
        ("v1.33.0", "v1.33.1", True),
        ("v1.33.1", "v1.33.1", False),
        ("v1.33", "v1.33.1", True),
        ("v2.0.0", "v1.33", False),
    ],
)
def test_older_than(kubelet: str, than: str, older: bool) -> None:
    left, right = parse(kubelet), parse(than)
    assert left is not None and right is not None
    assert left.older_than(right) == older


@pytest.mark.parametrize("text", ["v1.33", "v1.33.1"])
def test_printed_as_kubernetes_writes_it(text: str) -> None:
    assert str(parse(text)) == text


def test_versions_sort_with_and_without_patch() -> None:
    written = ["v1.33.1", "v1.9", "v1.33", "v1.33.0", "v1.32.5"]
    in_order = ["v1.9", "v1.32.5", "v1.33", "v1.33.0", "v1.33.1"]
    assert [str(v) for v in sorted(v for v in map(parse, written) if v)] == in_order
