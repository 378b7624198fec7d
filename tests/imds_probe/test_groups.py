"""One line per cause: nodes of a group with the same service, those that suffer first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.amazon.metadata_service import NESTED, Reach
from kubectl_eksdoc.imds_probe.sources import NODE_CLASS, MetadataFacts, nodes_alike
from kubectl_eksdoc.model.cluster import NodeClass
from kubectl_eksdoc.model.kinds import Absent
from kubectl_eksdoc.model.machines import Instance, MachineFacts, MetadataOptions, NodeGroup, SaidOptions
from kubectl_eksdoc.model.nodes import COMPUTE_TYPE, NODE_POOL, Node, NodeOwner
from tests.builders import a_cluster, a_node, with_classes

ONE, TWO, OLD = MetadataOptions("required", 1), MetadataOptions("required", 2), MetadataOptions("optional", 2)


def ident(number: int) -> str:
    return f"i-{number:08x}"


def node(number: int, group: str = "blue", **labels: str) -> Node:
    provider = f"aws:///eu-west-1a/{ident(number)}"
    return a_node(f"n{number}", group=group, provider_id=provider, labels=labels)


def groups(**of: str) -> dict[str, NodeGroup]:
    return {name: NodeGroup(name, ami) for name, ami in of.items()}


def facts_of(
    nodes: Sequence[Node], instances: Mapping[str, Instance], groups: Mapping[str, NodeGroup]
) -> MetadataFacts:
    return MetadataFacts(a_cluster(nodes=nodes), MachineFacts(instances, groups))


def test_the_incident_is_one_line_for_each_group() -> None:
    nodes = [node(n, "blue" if n < 3 else "green") for n in range(5)]
    instances = {ident(n): Instance(ident(n), options=OLD if n < 3 else ONE) for n in range(5)}
    made = groups(blue="AL2_x86_64", green="AL2023_x86_64_STANDARD")
    green, blue = nodes_alike(facts_of(nodes, instances, made))
    assert (green.name, green.nodes, green.here.reach) == ("green", ("n3", "n4"), Reach.CUT_OFF)
    assert "AL2023" in green.next.by and not green.by_hand and not green.changes
    assert (blue.name, len(blue.nodes), blue.here.reach) == ("blue", 3, Reach.REACHABLE)


def test_nodes_of_one_group_that_differ_are_two_lines() -> None:
    """One was mended by hand: the next one will not be."""
    instances = {ident(0): Instance(ident(0), options=ONE), ident(1): Instance(ident(1), options=TWO)}
    facts = facts_of([node(0), node(1)], instances, groups(blue="AL2023_x86_64_STANDARD"))
    broken, mended = nodes_alike(facts)
    assert not broken.by_hand and mended.by_hand and mended.changes
    assert (mended.here.reach, mended.later.reach) == (Reach.REACHABLE, Reach.CUT_OFF)
    assert all(each.here.reach is Reach.CUT_OFF for each in nodes_alike(facts, NESTED))


def test_where_there_is_no_service_comes_last() -> None:
    fargate = a_node("f", group="", provider_id="", labels={COMPUTE_TYPE: "fargate"})
    karpenter = node(1, "", **{NODE_POOL: "general", NODE_CLASS: "default"})
    facts = MetadataFacts(
        with_classes(a_cluster(nodes=[fargate, karpenter, node(2)]), NodeClass("default", SaidOptions("required", 1))),
        MachineFacts({ident(1): Instance(ident(1), options=TWO), ident(2): Absent("gone")}),
    )
    first, unknown, last = nodes_alike(facts)
    assert first.owner is NodeOwner.KARPENTER and first.changes and first.later.why.startswith("the hop limit is 1")
    assert (unknown.here.reach, unknown.later.reach) == (Reach.UNKNOWN, Reach.UNKNOWN) and not unknown.changes
    assert last.owner is NodeOwner.FARGATE and last.here.why == "Fargate has no instance metadata service"


@given(
    some.lists(some.tuples(some.sampled_from(["blue", "green"]), some.sampled_from([ONE, TWO, OLD, None])), max_size=20)
)
def test_every_node_is_in_one_of_them(given_nodes: list[tuple[str, MetadataOptions | None]]) -> None:
    nodes = [node(at, group) for at, (group, _) in enumerate(given_nodes)]
    instances = {ident(at): Instance(ident(at), options=options) for at, (_, options) in enumerate(given_nodes)}
    made = groups(blue="AL2_x86_64", green="BOTTLEROCKET_x86_64")
    found = nodes_alike(facts_of(nodes, instances, made))
    named = [name for each in found for name in each.nodes]
    assert sorted(named) == sorted(each.name for each in nodes) and len(found) <= 2 * 3 + len(nodes)
