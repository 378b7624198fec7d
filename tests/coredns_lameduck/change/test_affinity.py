"""The affinity that keeps CoreDNS off Spot nodes: whole, right for managed groups and Karpenter, and undone."""

from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.coredns_lameduck.change.placing import NOT_SPOT, of_schema, with_spot, without_spot
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.placing import NodeDemand, node_terms
from tests.addon.stand_in.coredns import AFFINITY

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_EXPRESSIONS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(("zone", "kubernetes.io/os", "pool")),
            "operator": st.sampled_from(("In", "NotIn")),
            "values": st.lists(st.sampled_from(("a", "b", "linux")), min_size=1, max_size=2),
        }
    ),
    min_size=1,
    max_size=3,
)
_TERMS = st.lists(st.fixed_dictionaries({"matchExpressions": _EXPRESSIONS}), min_size=1, max_size=3)
_NODES = _TERMS.map(lambda terms: {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}})
_PODS = st.just({"podAntiAffinity": AFFINITY["podAntiAffinity"]}) | st.just({})
AFFINITIES: st.SearchStrategy[Doc] = st.builds(lambda nodes, pods: {**nodes, **pods}, _NODES | st.just({}), _PODS)
LABELS = st.dictionaries(st.sampled_from(("zone", "kubernetes.io/os", "pool")), st.sampled_from(("a", "b", "linux")))
SPOT = ({"karpenter.sh/capacity-type": "spot"}, {"eks.amazonaws.com/capacityType": "SPOT"})
OTHERS = (
    {},
    {"karpenter.sh/capacity-type": "on-demand"},
    {"eks.amazonaws.com/capacityType": "ON_DEMAND"},
    {"karpenter.sh/capacity-type": "reserved"},
)


def accepts(affinity: Doc, labels: dict[str, str]) -> bool:
    return NodeDemand((), node_terms(affinity)).accepts("n", labels)


@given(AFFINITIES, LABELS)
def test_spot_nodes_are_left_out_and_of_others_nothing_changes(affinity: Doc, labels: dict[str, str]) -> None:
    before = copy.deepcopy(affinity)
    made = without_spot(affinity)
    assert affinity == before
    for spot in SPOT:
        assert not accepts(made, labels | spot)
    for other in OTHERS:
        assert accepts(made, labels | other) is accepts(affinity, labels | other)
    assert {key: value for key, value in made.items() if key != "nodeAffinity"} == {
        key: value for key, value in affinity.items() if key != "nodeAffinity"
    }
    assert without_spot(made) == made, "twice is once"
    assert with_spot(made) == affinity


def test_the_default_of_the_add_on_is_extended_and_kept() -> None:
    made = without_spot(AFFINITY)
    (term,) = made["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]
    (was,) = AFFINITY["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [*was["matchExpressions"], *NOT_SPOT]
    assert made["podAntiAffinity"] == AFFINITY["podAntiAffinity"]


def test_a_term_that_matches_nothing_is_not_made_to_match() -> None:
    nothing = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{}, *_terms("zone", "a")]}}}
    made = without_spot(nothing)
    assert accepts(made, {"zone": "a"}) and not accepts(made, {"zone": "b"})


def test_a_default_that_is_wrapped_once_too_often_is_unwrapped() -> None:
    assert of_schema({"affinity": AFFINITY}) == AFFINITY == of_schema(AFFINITY)
    assert of_schema(None) == {} and of_schema({"affinity": None}) == {}


def _terms(key: str, value: str) -> list[Doc]:
    return [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]
