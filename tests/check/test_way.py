"""Where the control plane is, who says so, and every version on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.skew import NoPath
from kubectl_eksdoc.check.facts import CurrentVersion, UpgradePath, way, where
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.quantities import Version
from tests.builders import a_node

NONE = Unknown("AWS was not asked")
NODES = [a_node("a", version="v1.31.2-eks-1"), a_node("b", version="v1.32.9-eks-1")]


@pytest.mark.parametrize(
    ("eks", "server", "nodes", "version", "assumed"),
    [
        ("1.33", "v1.32.1", NODES, (1, 33), False),
        (NONE, "v1.33.4-eks-1b3e656", NODES, (1, 33), False),
        (NONE, "", NODES, (1, 32), True),
        ("no version", "v1.33", [], (1, 33), False),
    ],
)
def test_the_surest_one_tells(eks: str | Unknown, server: str, nodes: list, version: tuple, assumed: bool) -> None:
    here = where(eks, server, nodes)
    assert isinstance(here, CurrentVersion)
    assert ((here.version.major, here.version.minor), here.assumed) == (version, assumed)
    assert here.version.patch is None


@pytest.mark.parametrize("nodes", [[], [a_node("a", version="unknown")]])
def test_nobody_tells(nodes: list) -> None:
    assert isinstance(where(NONE, "", nodes), Unknown)


def test_without_a_target_it_is_the_next() -> None:
    found = way(CurrentVersion(Version(1, 33), "x"), None)
    assert isinstance(found, UpgradePath)
    assert found.text == "1.33 → 1.34"


@given(st.integers(20, 60), st.integers(20, 60))
def test_one_minor_at_a_time(now: int, target: int) -> None:
    found = way(CurrentVersion(Version(1, now), "x"), Version(1, target, 3))
    if target < now:
        assert isinstance(found, NoPath)
        return
    assert isinstance(found, UpgradePath)
    assert [each.minor for each in found.steps] == list(range(now + 1, target + 1))
    assert found.target == Version(1, target)
