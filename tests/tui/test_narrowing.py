"""Which nodes a filter lets through, and what is said where it lets none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.drain.plan import make_plan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.tui.sheets import nodes as narrowing
from kubectl_eksdoc.tui.sheets.nodes import facts_of
from tests.builders import a_node
from tests.tui.pilots import read_demo

CLUSTER = read_demo(lambda kind, count: None)
FACTS = facts_of(CLUSTER)
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
    found = narrowing.like(FACTS, typed)
    if names is None:
        labels = [FACTS.nodes[name].labels for name in found]
        assert found and all("karpenter.sh/nodepool" not in each for each in labels)
        assert all(each.get("eks.amazonaws.com/nodegroup") != "blue" for each in labels)
    else:
        assert found == names


@given(st.text(max_size=12))
def test_whatever_is_typed_is_no_error_and_the_inverse_is_the_rest(typed: str) -> None:
    found = narrowing.like(FACTS, typed)
    assert set(found) <= set(ALL)
    assert found or narrowing.why_none(FACTS, typed, faults=False)
    if typed.strip() and not typed.strip().startswith(("!", "-l")):
        assert set(narrowing.like(FACTS, f"!{typed.strip()}")) == set(ALL) - set(found)


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
    told = narrowing.why_none(FACTS, typed, faults=False).replace(f"of {len(ALL)} ", "of 12 ")
    assert said in told and told.endswith("esc takes the filter away.")


def test_faults_are_what_is_not_ready_and_what_the_plan_leaves_out() -> None:
    nodes = (
        a_node("a"),
        replace(a_node("b"), unschedulable=True),
        replace(a_node("c"), ready="Unknown"),
        replace(a_node("d"), ready="False"),
    )
    facts = facts_of(replace(CLUSTER, nodes=nodes, pods=()))
    assert narrowing.faulty("abcd", facts, None) == ("b", "c", "d")
    blue = [node for node in CLUSTER.nodes if node.group == "blue"]
    view = DrainView(make_plan(CLUSTER, blue, DrainPolicy()), CLUSTER)
    left_out = {target.node.name for target in view.targets if not target.order}
    assert left_out and left_out <= set(narrowing.faulty(ALL, FACTS, view))
    assert "Nothing is the matter" in narrowing.why_none(facts, "", faults=True)
