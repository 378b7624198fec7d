"""A change of CoreDNS as a whole: the values that are set, the values that stay, and the reasons for a refusal."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.aws.validating import find_violations
from kubectl_eksdoc.coredns_lameduck.change import CorednsChange, plan_change, replica_findings
from kubectl_eksdoc.coredns_lameduck.deployed import PROPORTIONAL_AUTOSCALERS
from kubectl_eksdoc.coredns_lameduck.lameduck import (
    AutoscalerRange,
    ChangeRefusal,
    DnsChangeRequest,
    parse_autoscale,
    parse_lameduck,
)
from kubectl_eksdoc.coredns_lameduck.placement_values import default_affinity, without_spot
from kubectl_eksdoc.kubernetes.redaction import DIGEST_PREFIX
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import Addon, AddonUpdateFacts, AddonVersionDetails
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Taint, Toleration
from kubectl_eksdoc.model.placement import NodeRequirements, required_node_terms
from kubectl_eksdoc.model.workloads import Autoscaler
from tests.addon.stand_in.coredns import AFFINITY
from tests.builders import ROOM, a_cluster, a_node
from tests.coredns_lameduck import made
from tests.examples import examples

SCHEMAS = Path(__file__).parents[2] / "data" / "aws" / "eks" / "schemas"
SCALES, SCALES_NOT, OLD = "v1.10.1-eksbuild.11", "v1.11.1-eksbuild.8", "v1.8.7-eksbuild.4"
SHORT = made.lameduck("5s")
ON_DEMAND = DnsChangeRequest(on_demand=True)
MORE = DnsChangeRequest(scale=AutoscalerRange(3, 10))
LINUX = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"}
MANY = [
    made.a_zoned(f"n-{zone}", zone, **LINUX, **{"eks.amazonaws.com/capacityType": kind})
    for zone, kind in (("a", "ON_DEMAND"), ("b", "ON_DEMAND"), ("c", "SPOT"))
]


def schema(version: str) -> Doc:
    found: Doc = json.loads((SCHEMAS / f"coredns_{version}.json").read_text(encoding="utf-8"))
    return found


def side(values: Doc | Unknown, version: str = SCALES) -> AddonUpdateFacts:
    of = AddonVersionDetails(version, Unknown("no chart here"), schema(version))
    return AddonUpdateFacts(Addon("coredns", version, "ACTIVE"), of, of, values, True, (version,))


def change(
    wishes: DnsChangeRequest, values: Doc | None = None, version: str = SCALES, kubernetes: str = "1.28", **more: Any
) -> CorednsChange:
    nodes = [replace(node, allocatable=ROOM) for node in more.pop("nodes", MANY)]
    unread = more.pop("unread", ())
    given = {"text": SHORT, "doc": made.deployment(affinity=AFFINITY), **more}
    facts = made.facts(addon=side(values or {}, version), nodes=nodes, **given)
    reads = tuple(a_cluster(unread=unread).reads)
    return plan_change(replace(facts, cluster=replace(facts.cluster, reads=reads)), wishes, kubernetes)


def why(found: CorednsChange) -> str:
    return " | ".join(f"{each.why} {each.hint}" for each in found.refusals)


_OTHERS = st.fixed_dictionaries(
    {},
    optional={
        "replicaCount": st.integers(2, 9),
        "podLabels": st.just({"team": "network"}),
        "resources": st.just({"limits": {"memory": "300Mi"}}),
        "nodeSelector": st.just({"kubernetes.io/os": "linux"}),
        "podDisruptionBudget": st.just({"enabled": False}),
        "affinity": st.just(AFFINITY),
        "corefile": st.just(made.lameduck("9s")),
    },
)
_WISHES = st.builds(
    DnsChangeRequest,
    st.none() | st.integers(10, 20),
    st.booleans(),
    st.none() | st.builds(AutoscalerRange, st.integers(2, 5), st.integers(5, 1000)),
).filter(bool)
_SET = {"corefile", "affinity", "topologySpreadConstraints", "autoScaling", "podDisruptionBudget"}


@settings(max_examples=examples(60))
@given(_OTHERS, _WISHES)
def test_what_is_made_fits_the_schema_and_changes_nothing_else(values: Doc, wishes: DnsChangeRequest) -> None:
    found = change(wishes, values)
    assert found.refusals == () and found.values is not None
    assert find_violations(schema(SCALES), found.values) == ()
    for key in {*values, *found.values} - _SET:
        assert found.values.get(key) == values.get(key)
    if "podDisruptionBudget" in values:
        assert found.values["podDisruptionBudget"] == values["podDisruptionBudget"]
    if wishes.lameduck_s is not None:
        assert found.values["corefile"] == made.lameduck(f"{wishes.lameduck_s}s")
    elif "corefile" in values:
        assert found.values["corefile"] == values["corefile"]
    if wishes.on_demand:
        assert found.values["affinity"] == without_spot(AFFINITY)
    if wishes.scale is not None:
        bounds = {"minReplicas": wishes.scale.least, "maxReplicas": wishes.scale.most}
        assert found.values["autoScaling"] == {"enabled": True, **bounds}


def test_what_coredns_reads_is_what_is_wished() -> None:
    assert parse_lameduck("20s") == 20 == parse_lameduck("20000ms") and parse_lameduck("1m") == 60
    no_unit = parse_lameduck("20")
    assert isinstance(no_unit, ChangeRefusal) and no_unit.why == "20 has no unit: CoreDNS would refuse it"
    for text in ("", "-5s", "1.5s", "soon"):
        assert isinstance(parse_lameduck(text), ChangeRefusal)
    assert parse_autoscale("3:10") == AutoscalerRange(3, 10)
    for text in ("1:4", "3", "10:3", "3:1001", "a:b", "²:9"):
        assert isinstance(parse_autoscale(text), ChangeRefusal), text


def test_a_lameduck_that_does_not_fit_is_refused_with_the_arithmetic() -> None:
    found = why(change(DnsChangeRequest(30)))
    assert "lameduck 30 s + closing 5 s + margin 5 s = 40 s of a grace period of 30 s" in found
    assert "The largest that is safe is 20s" in found and "terminationGracePeriodSeconds 40" in found
    hook = made.deployment(container={"lifecycle": {"preStop": {"sleep": {"seconds": 10}}}})
    assert "preStop 10 s + lameduck 20 s" in why(change(DnsChangeRequest(20), doc=hook))
    unknown = made.deployment(container={"lifecycle": {"preStop": {"exec": {"command": ["/bin/x"]}}}})
    (refused,) = change(DnsChangeRequest(20), doc=unknown).refusals
    assert refused.missing == "the length of the preStop hook"


def test_a_lameduck_that_is_too_short_is_refused_unless_it_is_better_than_today() -> None:
    assert "may be too short" in why(change(DnsChangeRequest(4))) and ", with a margin 7 s" in why(
        change(DnsChangeRequest(4))
    )
    better = change(DnsChangeRequest(5), text=made.lameduck("2s"))
    assert better.refusals == () and [each.code.name for each in better.findings] == ["dns-lameduck-short"]
    assert change(DnsChangeRequest(15)).findings == ()


def test_only_the_margin_is_broken_from_21_to_25_s_and_that_can_be_accepted() -> None:
    found = change(DnsChangeRequest(22))
    assert found.refusals == () and [each.code.name for each in found.findings] == ["dns-lameduck-long"]
    assert "may be killed" in why(change(DnsChangeRequest(26)))


def test_a_grace_period_that_eks_may_put_back_is_told() -> None:
    long = made.deployment(terminationGracePeriodSeconds=60)
    found = change(DnsChangeRequest(40), doc=long)
    assert found.refusals == () and [each.code.name for each in found.findings] == ["dns-grace-not-kept"]
    assert change(DnsChangeRequest(25), doc=long).findings == (), "it fits the add-on's own"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SHORT.replace("reload", "reload 1s"), "interval value must be greater"),
        (SHORT.replace("reload", "reload }"), "cannot be parsed"),
        (SHORT.replace("    ready\n", ""), "no plugin ready"),
        (
            SHORT.replace("    ready\n", "    ready\n    import custom/*\n"),
            "custom/*, which may hold the plugin health",
        ),
        (SHORT.replace("    health {\n        lameduck 5s\n      }\n", "    import custom/*\n"), "imports custom/*"),
    ],
)
def test_a_bad_corefile_is_never_made(text: str, said: str) -> None:
    found = change(DnsChangeRequest(20), text=text)
    assert said in why(found) and "corefile" not in (found.values or {})


def test_what_is_known_as_a_digest_is_never_made_a_corefile() -> None:
    found = change(
        DnsChangeRequest(20),
        text=f"{SHORT}\nexample.org {{\n    route53 a.:Z {{\n        aws_access_key {DIGEST_PREFIX}1 "
        f"{DIGEST_PREFIX}2\n    }}\n}}\n",
    )
    assert DIGEST_PREFIX not in str(found.values)
    assert "digests" in why(found)


@pytest.mark.parametrize("blocks", [3, 7])
def test_shares_that_are_no_whole_seconds_are_no_reason_to_refuse(blocks: int) -> None:
    found = change(DnsChangeRequest(20), text="".join(SHORT.replace(".:53 {", f"z{at}:53 {{") for at in range(blocks)))
    assert found.refusals == () and "ms" in str((found.values or {})["corefile"])


@pytest.mark.parametrize("text", [made.lameduck("30"), SHORT.replace("    ready\n", ""), ".:53 {\n", None])
def test_no_rollout_begins_while_none_of_its_pods_would_come_up(text: str | None) -> None:
    found = change(ON_DEMAND, text=text)
    assert len(found.refusals) == 1
    assert ("recreates pods, and none would start" if text else "no key Corefile") in why(found)


def test_a_hand_edit_is_made_to_last_as_it_is() -> None:
    edited = made.lameduck("20s").replace("cache 30", "cache 77")
    found = change(DnsChangeRequest(20), text=edited, values={})
    assert found.values == {"corefile": edited} and not found.nothing and found.corefile and found.corefile.same
    assert change(DnsChangeRequest(20), {"corefile": edited}, text=edited).nothing


def test_two_nodes_in_two_zones_must_take_it() -> None:
    assert change(ON_DEMAND).refusals == ()
    one_zone = [replace(node, labels=node.labels | {"topology.kubernetes.io/zone": "a"}) for node in MANY]
    found = change(ON_DEMAND, nodes=one_zone)
    assert "of 3 nodes only 2 nodes (n-a, n-b) in 1 zone would take" in why(found) and found.landing is not None
    reasons = {seat.node: seat.why for seat in found.landing.seats}
    assert reasons["n-a"] == () and reasons["n-c"] == ("it is a Spot node",)
    taint = replace(MANY[1], taints=(Taint("mine", "", "NoSchedule"),))
    tainted = change(ON_DEMAND, nodes=[MANY[0], taint, MANY[2]])
    assert "only 1 node (n-a) in 1 zone" in why(tainted) and tainted.landing is not None
    assert ("its taint mine is not tolerated",) in {seat.why for seat in tainted.landing.seats}
    tolerant = [replace(pod, tolerations=(Toleration("mine", "Exists"),)) for pod in made.PODS]
    assert change(ON_DEMAND, nodes=[MANY[0], taint, MANY[2]], pods=tolerant).refusals == ()
    assert "only 1 node" in why(change(ON_DEMAND, nodes=[MANY[0], replace(MANY[1], ready="Unknown"), MANY[2]]))
    full = replace(MANY[1], unschedulable=True)
    assert "only 1 node" in why(change(ON_DEMAND, nodes=[MANY[0], full, MANY[2]]))


def test_what_was_not_read_places_nothing() -> None:
    found = change(ON_DEMAND, unread=(kinds.NODES,))
    assert found.refusals[0].missing == "list nodes"
    assert change(ON_DEMAND, pods=()).refusals[0].missing == "a pod of CoreDNS"


def test_what_holds_in_the_values_alone_is_sent_again() -> None:
    twenty = made.lameduck("20s")
    assert not change(DnsChangeRequest(20), {"corefile": twenty}, text=SHORT).nothing, "somebody has changed it live"
    values = change(ON_DEMAND).values
    assert values is not None and not change(ON_DEMAND, values).nothing, "the Deployment has it not"
    there = made.deployment(affinity=values["affinity"])
    assert change(ON_DEMAND, values, doc=there).nothing


def test_a_budget_comes_where_none_is() -> None:
    assert "podDisruptionBudget" not in (change(ON_DEMAND).values or {})
    found = change(ON_DEMAND, budgets=())
    assert (found.values or {})["podDisruptionBudget"] == {"enabled": True, "maxUnavailable": 1}
    assert "podDisruptionBudget" not in (change(ON_DEMAND, budgets=(), unread=(kinds.BUDGETS,)).values or {})


def test_a_spread_over_zones_comes_where_none_is_and_leaves_others() -> None:
    bare = made.deployment(affinity=AFFINITY, topologySpreadConstraints=[])
    zones = (change(ON_DEMAND, doc=bare).values or {})["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in zones] == ["topology.kubernetes.io/zone"]
    hosts = {"topologyKey": "kubernetes.io/hostname"}
    assert change(ON_DEMAND, {"topologySpreadConstraints": [hosts]}).values == {
        "affinity": without_spot(AFFINITY),
        "topologySpreadConstraints": [hosts, *zones],
    }
    assert "topologySpreadConstraints" not in (change(ON_DEMAND).values or {}), "the Deployment has it"


def test_who_else_scales_it_is_named_and_how_to_take_them_away() -> None:
    assert change(MORE).refusals == ()
    hpa = Autoscaler("kube-system", "coredns-hpa", "Deployment", "coredns", 2, 5)
    assert "kubectl delete horizontalpodautoscaler coredns-hpa" in why(change(MORE, autoscalers=(hpa,)))
    assert change(MORE, autoscalers=(replace(hpa, target_name="web"),)).refusals == ()
    assert change(MORE, unread=(kinds.AUTOSCALERS,)).refusals[0].missing.startswith("list horizontalpodautoscalers")
    facts = made.facts(addon=side({}), nodes=MANY)
    there = replace(facts, objects={**facts.objects, PROPORTIONAL_AUTOSCALERS[0]: {"kind": "Deployment"}})
    assert f"Deployment {PROPORTIONAL_AUTOSCALERS[0].name}" in why(plan_change(there, MORE, "1.28"))


def test_a_version_or_cluster_that_cannot_scale_is_refused() -> None:
    assert "has no autoScaling" in why(change(MORE, version=SCALES_NOT, kubernetes="1.30"))
    assert "Kubernetes 1.24 has no autoscaler" in why(change(MORE, kubernetes="1.24"))
    assert "has no affinity" in why(change(ON_DEMAND, version=OLD))
    assert change(DnsChangeRequest(20), version=OLD).refusals == ()


def test_a_rollout_with_an_unread_lameduck_is_advised_in_two_steps() -> None:
    found = change(DnsChangeRequest(20, True))
    assert [each.code.name for each in found.findings] == ["dns-change-two-steps"]
    assert "--set lameduck=20s --apply" in found.findings[0].remedy[0].command
    assert change(DnsChangeRequest(20)).findings == () == change(ON_DEMAND).findings


def test_whose_it_is_must_be_known() -> None:
    facts = made.facts(addon=Unknown("IAM does not allow it", "eks:DescribeAddon"))
    (refused,) = plan_change(facts, DnsChangeRequest(20), "1.28").refusals
    assert refused.missing == "eks:DescribeAddon"
    values = change(DnsChangeRequest(20), values=None)
    assert values.refusals == ()
    unknown = replace(made.facts(), addon=side(Unknown("they are no YAML")))
    refusing = plan_change(unknown, DnsChangeRequest(20), "1.28")
    assert "not known" in why(refusing) and refusing.managed and not refusing.nothing


@pytest.mark.parametrize(
    ("scale", "status", "said"),
    [
        (AutoscalerRange(2, 2), Status.FAIL, "and 2:2 allows 2 at the most"),
        (AutoscalerRange(2, 10), Status.PASS, "and 2:10 starts with 2"),
    ],
)
def test_fewer_than_the_formula_wants(scale: AutoscalerRange, status: Status, said: str) -> None:
    nodes = [a_node(f"n-{number}") for number in range(42)]
    (found,) = replica_findings(a_cluster(nodes=nodes), scale)
    assert found.status is status and found.message == f"EKS' formula wants 3 replicas for 42 nodes, {said}"
    shown = change(DnsChangeRequest(scale=scale), nodes=nodes).findings
    assert [each.code for each in shown] == [found.code], "it is part of the change"


def test_of_one_that_eks_does_not_manage_the_deployment_is_left_alone() -> None:
    nodes = [replace(node, allocatable=ROOM) for node in MANY]
    facts = made.facts(addon=Absent("no add-on coredns"), text=SHORT, nodes=nodes)
    found = plan_change(facts, DnsChangeRequest(20, True, AutoscalerRange(3, 10)), "1.28")
    assert not found.managed and found.values is None and found.corefile and found.corefile.after != SHORT
    assert [words[3] for words in found.not_done] == ["patch", "autoscale"] and found.refusals == ()


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
    return NodeRequirements((), required_node_terms(affinity)).accepts("n", labels)


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


def test_a_term_that_matches_nothing_is_not_made_to_match() -> None:
    nothing = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{}, *_terms("zone", "a")]}}}
    made = without_spot(nothing)
    assert accepts(made, {"zone": "a"}) and not accepts(made, {"zone": "b"})


def test_a_default_that_is_wrapped_once_too_often_is_unwrapped() -> None:
    assert default_affinity({"affinity": AFFINITY}) == AFFINITY == default_affinity(AFFINITY)
    assert default_affinity(None) == {} and default_affinity({"affinity": None}) == {}


def _terms(key: str, value: str) -> list[Doc]:
    return [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}]
