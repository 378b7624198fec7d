"""The nodes that a filter shows, and the message where it shows none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.nodes import natural_key
from kubectl_eksdoc.drain.plan import build_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.tui.tables import nodes as narrowing
from kubectl_eksdoc.tui.tables.nodes import NODE_TABLE_COLUMNS, SortOrder, node_facts, sort_nodes
from tests.builders import a_node
from tests.tui.pilots import read_demo

CLUSTER = read_demo(lambda kind, count: None)
FACTS = node_facts(CLUSTER)
ALL = tuple(FACTS.texts)
SPOT = ("spot-1", "spot-2")


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("", ALL),
        ("SPOT", SPOT),
        ("!spot", tuple(name for name in ALL if name not in SPOT)),
        ("-l eks.amazonaws.com/nodegroup=spot", ()),
        ("-l karpenter.sh/nodepool=general", SPOT),
        ("-l karpenter.sh/nodepool=general,topology.kubernetes.io/zone notin (nowhere)", SPOT),
        ("-l !karpenter.sh/nodepool,eks.amazonaws.com/nodegroup!=blue", None),
        ("-l", ()),
        ("-l a=b=c", ()),
    ],
)
def test_nodes_are_found_by_text_and_by_labels(typed: str, names: tuple[str, ...] | None) -> None:
    found = narrowing.matching_nodes(FACTS, typed)
    if names is None:
        labels = [FACTS.nodes[name].labels for name in found]
        assert found and all("karpenter.sh/nodepool" not in each for each in labels)
        assert all(each.get("eks.amazonaws.com/nodegroup") != "blue" for each in labels)
    else:
        assert found == names


@given(st.text(max_size=12))
def test_whatever_is_typed_is_no_error_and_the_inverse_is_the_rest(typed: str) -> None:
    found = narrowing.matching_nodes(FACTS, typed)
    assert set(found) <= set(ALL)
    assert found or narrowing.empty_text(FACTS, typed, faults=False)
    if typed.strip() and not typed.strip().startswith(("!", "-l")):
        assert set(narrowing.matching_nodes(FACTS, f"!{typed.strip()}")) == set(ALL) - set(found)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("spott", "0 of 12 nodes match /spott (did you mean spot?)"),
        ("-l zonee=a", "no node has a label zonee"),
        ("-l karpenter.sh/nodepol=spot", "(did you mean karpenter.sh/nodepool?)"),
        ("-l karpenter.sh/nodepool=genral", "no node has that karpenter.sh/nodepool (did you mean general?)"),
        (
            "-l karpenter.sh/nodepool=general,eks.amazonaws.com/nodegroup=blue",
            "each of these has some, but none has all",
        ),
        ("-l a=b=c", "a comma or the end is expected in 'a=b=c', not '='"),
        ("-l ", "labels stand behind it"),
    ],
)
def test_where_nothing_is_like_it_the_nearest_is_named_and_the_way_back(typed: str, said: str) -> None:
    told = narrowing.empty_text(FACTS, typed, faults=False).replace(f"of {len(ALL)} ", "of 12 ")
    assert said in told and told.endswith("esc takes the filter away.")


def test_faults_are_what_is_not_ready_and_what_the_plan_leaves_out() -> None:
    nodes = (
        a_node("a"),
        replace(a_node("b"), unschedulable=True),
        replace(a_node("c"), ready="Unknown"),
        replace(a_node("d"), ready="False"),
    )
    facts = node_facts(replace(CLUSTER, nodes=nodes, pods=()))
    assert narrowing.faulty_nodes("abcd", facts, None) == ("b", "c", "d")
    blue = [node for node in CLUSTER.nodes if node.group == "blue"]
    view = DrainView(build_plan(CLUSTER, blue, DrainPolicy()), CLUSTER)
    left_out = {target.node.name for target in view.targets if not target.order}
    assert left_out and left_out <= set(narrowing.faulty_nodes(ALL, FACTS, view))
    assert "Nothing is the matter" in narrowing.empty_text(facts, "", faults=True)


# The order of the nodes: by every column, in both directions, with unknown values last.


NOW = CLUSTER.observed_at
TITLES = [column.title for column in NODE_TABLE_COLUMNS]


def of(*nodes: Node) -> Cluster:
    return replace(CLUSTER, nodes=nodes, pods=())


def ordered(order: SortOrder, *nodes: Node) -> str:
    """The nodes' names (one letter each), sorted in that order."""
    facts = node_facts(of(*nodes))
    return "".join(sort_nodes(facts.texts, order, facts, None))


def test_versions_are_compared_as_versions() -> None:
    kubelets = {"a": Version(1, 9, 1), "b": Version(1, 33, 0), "c": Version(1, 10, 0)}
    nodes = [replace(a_node(name), kubelet=kubelet) for name, kubelet in kubelets.items()]
    assert ordered(SortOrder("KUBELET"), *nodes) == "acb"


def test_by_status_what_is_the_matter_comes_first() -> None:
    nodes = [
        a_node("a"),
        replace(a_node("b"), unschedulable=True),
        replace(a_node("c"), ready="Unknown"),
        replace(a_node("d"), ready="False"),
    ]
    assert ordered(SortOrder("STATUS"), *nodes) == "dcba"


def test_what_a_plan_does_not_drain_has_no_wave_and_stands_last() -> None:
    blue = [node for node in CLUSTER.nodes if node.group == "blue"]
    view = DrainView(build_plan(CLUSTER, blue, DrainPolicy(pins=(("blue-2", 2),))), CLUSTER)
    facts = node_facts(CLUSTER)
    names = sort_nodes(facts.texts, SortOrder("WAVE", is_descending=True), facts, view)
    assert names[0] == "blue-2" and set(names[: len(view.wave_of)]) == set(view.wave_of)
    assert sort_nodes(facts.texts, SortOrder("STATUS"), facts, view)[0] in {row.node for row in view.left}


@given(
    numbers=st.lists(st.integers(1, 300), unique=True, max_size=20),
    column=st.sampled_from(TITLES),
    back=st.booleans(),
    groups=st.lists(st.sampled_from(("", "g-2", "g-10", "웹")), min_size=20, max_size=20),
)
def test_every_node_stays_and_those_that_are_alike_stand_by_name(
    numbers: list[int], column: str, back: bool, groups: list[str]
) -> None:
    nodes = [
        replace(a_node(f"n-{number}"), labels={"eks.amazonaws.com/nodegroup": group} if group else {})
        for number, group in zip(numbers, groups, strict=False)
    ]
    facts = node_facts(of(*nodes))
    names = sort_nodes(facts.texts, SortOrder(column, back), facts, None)
    assert sorted(names) == sorted(facts.texts)
    if column == "NODE":
        assert list(names) == sorted(names, key=natural_key, reverse=back)
    if column == "GROUP":
        for group in set(groups):
            alike = [name for name in names if facts.nodes[name].group == group]
            assert alike == sorted(alike, key=natural_key)
        without = [name for name in names if not facts.nodes[name].group]
        assert list(names[len(names) - len(without) :]) == without


def test_by_age_the_youngest_is_first_and_what_is_not_known_last_either_way() -> None:
    nodes = [
        replace(a_node("a"), created_at=NOW - timedelta(days=3)),
        replace(a_node("b"), created_at=None),
        replace(a_node("c"), created_at=NOW - timedelta(hours=1)),
    ]
    assert ordered(SortOrder("AGE"), *nodes) == "cab"
    assert ordered(SortOrder("AGE", is_descending=True), *nodes) == "acb"
