"""Of which version a served cluster says it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.embedded.stage import version_of, whole
from kubectl_eksdoc.model.cluster import Identity, played
from kubectl_eksdoc.model.quantities import parse
from tests.builders import a_cluster, a_node


@pytest.mark.parametrize(
    ("read", "said"),
    [("v1.33", "v1.33.0"), ("1.33", "v1.33.0"), ("v1.33.1-eks-1b3e656", "v1.33.1-eks-1b3e656"), ("v1.36.2", "v1.36.2")],
)
def test_a_served_version_has_a_patch(read: str, said: str) -> None:
    assert whole(read) == said


def test_a_dump_is_served_in_the_version_of_its_newest_kubelet() -> None:
    nodes = [a_node("old", version="v1.32.3-eks-473151a"), a_node("new", version="v1.33.1-eks-1b3e656")]
    dump = replace(a_cluster(nodes=nodes), identity=Identity())
    assert version_of(dump) == "v1.33.1-eks-1b3e656"
    assert version_of(replace(dump, identity=Identity(server_version="1.34"))) == "v1.34.0"
    assert version_of(replace(dump, nodes=())) == "", "nothing tells it"


@pytest.mark.parametrize("speed", [0.5, 1.0, 15.0, 1_000_000.0])
def test_its_version_says_how_fast_it_plays(speed: float) -> None:
    said = played("v1.33.1-eks-1b3e656", speed)
    assert Identity(server_version=said).speed == speed and parse(said) == parse("v1.33.1")


@pytest.mark.parametrize("version", ["", "v1.33.1-eks-1b3e656", "v1.33.1+rehearsal.x", "v1.33.1+rehearsal.x1e9"])
def test_any_other_version_is_of_a_cluster_whose_time_is_ours(version: str) -> None:
    assert Identity(server_version=version).speed == 1.0
