"""The occupancy stays correct while pods and nodes come and go: compared with a full recount, pod by pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.scheduling import pod_affinity, spread
from kubectl_eksdoc.kubernetes.scheduling.occupancy import Occupancy
from kubectl_eksdoc.kubernetes.scheduling.pod_affinity import PodClass, SchedulingTraits
from kubectl_eksdoc.kubernetes.scheduling.volumes import Storage
from kubectl_eksdoc.model.nodes import Node, Pod, Taint, Toleration, Volume, VolumeKind
from kubectl_eksdoc.model.placement import (
    HostPort,
    NodeRequirements,
    NodeTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    Placement,
    PodAffinityTerm,
    ResourceRequests,
    TopologySpread,
)
from kubectl_eksdoc.model.selectors import EVERYTHING, NOTHING, Labels, Requirement, Selector, from_parts
from tests.builders import a_pod, ago
from tests.examples import examples

NAMESPACES = {"a": {"team": "x"}, "b": {"team": "x"}, "c": {}}
ZONE, HOST = "zone", "host"
Placed = tuple[Pod, str]


def node(name: str, zone: str | None, tainted: bool = False, cordoned: bool = False) -> Node:
    labels = {HOST: name, **({ZONE: zone} if zone else {})}
    taints = (Taint("t", "", "NoSchedule"),) if tainted else ()
    room = {"cpu": 4000, "memory": 8 << 30, "pods": 20}
    return Node(name, f"u-{name}", labels, unschedulable=cordoned, taints=taints, allocatable=room)


SELECTORS = st.sampled_from(
    [
        from_parts({"app": "x"}),
        from_parts({"app": "y"}),
        from_parts({}, (Requirement("app", "In", ("x", "y")),)),
        from_parts({}, (Requirement("app", "NotIn", ("x",)),)),
        EVERYTHING,
        NOTHING,
    ]
)
TERMS = st.builds(
    PodAffinityTerm,
    topology_key=st.sampled_from([ZONE, HOST]),
    selector=SELECTORS,
    namespaces=st.sampled_from([(), ("a",), ("a", "b")]),
    namespace_selector=st.sampled_from([None, None, from_parts({"team": "x"}), EVERYTHING]),
    match_keys=st.sampled_from([(), ("hash",)]),
    mismatch_keys=st.sampled_from([(), ("hash",)]),
)
SPREADS = st.builds(
    TopologySpread,
    topology_key=st.sampled_from([ZONE, HOST]),
    max_skew=st.integers(1, 2),
    selector=SELECTORS,
    min_domains=st.integers(1, 3),
    honours_affinity=st.booleans(),
    honours_taints=st.booleans(),
    match_keys=st.sampled_from([(), ("hash",)]),
)
DEMANDS = st.sampled_from(
    [
        NodeRequirements(),
        NodeRequirements(((ZONE, "z1"),)),
        NodeRequirements((), (NodeTerm((Requirement(ZONE, "Exists"),)),)),
    ]
)
PLACEMENTS = st.builds(
    Placement,
    requests=st.builds(ResourceRequests, cpu=st.sampled_from([0, 500]), memory=st.just(1 << 20)),
    nodes=DEMANDS,
    affinity=st.lists(TERMS, max_size=2).map(tuple),
    anti_affinity=st.lists(TERMS, max_size=2).map(tuple),
    spread=st.lists(SPREADS, max_size=2).map(tuple),
    ports=st.sampled_from([(), (HostPort(80),), (HostPort(80, "TCP", "10.0.0.1"),)]),
)
PODS = st.builds(
    lambda namespace, app, hashed, placement, tolerates, leaving: a_pod(
        "p",
        namespace,
        labels={"app": app, **({"hash": hashed} if hashed else {})},
        placement=placement,
        tolerations=(Toleration("", "Exists"),) if tolerates else (),
        deletion_deadline=ago(0) if leaving else None,
    ),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from(["", "1", "2"]),
    PLACEMENTS,
    st.booleans(),
    st.booleans(),
)
NODES = ("n0", "n1", "n2", "n3")
ZONES = st.sampled_from(["z1", "z2", "z3", None])


def refused(kind: PodClass, labels: Labels) -> object:
    """The refusals of the filters that count other pods; upstream's tables list what each refuses."""
    company = pod_affinity.pod_affinity_refusal(
        labels, kind.affinity, kind.counts_itself, kind.anti_affinity, kind.matching_terms
    )
    return spread.spread_refusal(kind.limits, labels), company


def check(occupancy: Occupancy, anew: Occupancy, asked: Iterable[Pod]) -> None:
    for pod in asked:
        kind, fresh = occupancy.class_of(pod), anew.class_of(pod)
        for name, seat in occupancy.by_node.items():
            assert seat.node == anew.by_node[name].node
            assert refused(kind, seat.node.labels) == refused(fresh, seat.node.labels)
            assert occupancy.refusal(kind, name) == anew.refusal(fresh, name)
        quick = {n for n, seat in occupancy.candidates(kind).items() if occupancy.fits_now(kind, seat)}
        assert quick == {n for n in occupancy.by_node if occupancy.refusal(kind, n) is None}


@settings(max_examples=examples(150))
@given(st.data())
def test_counting_along_is_counting_anew(data: st.DataObject) -> None:
    nodes = {name: node(name, data.draw(ZONES)) for name in NODES}
    pods = data.draw(st.lists(PODS, min_size=1, max_size=5))
    start = [(pod, data.draw(st.sampled_from(NODES))) for pod in pods]
    first = [replace(pod, node=name) for pod, name in start]
    occupancy, placed = Occupancy.of(nodes.values(), first, NAMESPACES), list(start)
    for _ in range(data.draw(st.integers(0, 6))):
        _step(data, occupancy, nodes, placed, pods)
    late = data.draw(PODS)
    anew = Occupancy.of(nodes.values(), [replace(pod, node=name) for pod, name in placed], NAMESPACES)
    check(occupancy, anew, [*pods, late])
    for name, seat in anew.by_node.items():
        kept = occupancy.by_node[name].room
        assert (seat.room.cpu, seat.room.memory, seat.room.pods) == (kept.cpu, kept.memory, kept.pods)


def _step(
    data: st.DataObject, occupancy: Occupancy, nodes: dict[str, Node], placed: list[Placed], pods: list[Pod]
) -> None:
    """Apply one change: a pod of a known or a new class is added or removed; a node is changed, removed or added."""
    what = data.draw(st.sampled_from(["put", "new", "take", "change", "drop", "add"]))
    names = sorted(nodes)
    if what in ("put", "new") and names:
        pod = data.draw(st.sampled_from(pods) if what == "put" else PODS)
        pods.append(pod)
        placed.append((pod, data.draw(st.sampled_from(names))))
        occupancy.put(occupancy.class_of(pod), placed[-1][1])
    elif what == "take" and placed:
        pod, name = placed.pop(data.draw(st.integers(0, len(placed) - 1)))
        occupancy.take(occupancy.class_of(pod), name)
    elif what == "change" and names:
        name = data.draw(st.sampled_from(names))
        nodes[name] = node(name, data.draw(ZONES), data.draw(st.booleans()), data.draw(st.booleans()))
        occupancy.change_node(nodes[name])
    elif what == "drop" and names:
        name = data.draw(st.sampled_from(names))
        occupancy.remove_node(name)
        del nodes[name]
        placed[:] = [(pod, n) for pod, n in placed if n != name]
    elif what == "add":
        name = f"m{len(nodes)}{data.draw(st.integers(0, 99))}"
        if name not in nodes:
            nodes[name] = node(name, data.draw(ZONES), data.draw(st.booleans()))
            occupancy.add_node(nodes[name])


def test_a_pod_that_was_not_put_cannot_be_taken() -> None:
    occupancy = Occupancy([node("n0", "z1")])
    with pytest.raises(ValueError, match="n0"):
        occupancy.take(occupancy.class_of(a_pod()), "n0")
    with pytest.raises(ValueError, match="already"):
        occupancy.add_node(node("n0", "z1"))


def _volumes() -> Iterator[Volume]:
    yield Volume("data", VolumeKind.CLAIM, "data-db-0")
    yield Volume("scratch", VolumeKind.EPHEMERAL, "db-0-scratch")
    yield Volume("tmp", VolumeKind.EMPTY_DIR)


def test_a_successor_keeps_its_claims_but_those_made_for_the_pod() -> None:
    pod = a_pod("db-0", volumes=tuple(_volumes()))
    assert SchedulingTraits.of(pod).claims == ("data-db-0", "db-0-scratch")
    assert SchedulingTraits.of_replacement(pod).claims == ("data-db-0",)
    one, other = a_pod("web-0"), a_pod("web-1")
    leaving = replace(one, deletion_deadline=ago(0))
    occupancy = Occupancy([])
    assert occupancy.class_of(one) is occupancy.class_of(other)
    assert occupancy.successor_of(leaving) is occupancy.class_of(one) is not occupancy.class_of(leaving)


def test_what_was_not_read_or_is_not_modelled_is_said() -> None:
    held = Storage.of([PersistentVolumeClaim("default", "data-db-0", "pv")], [PersistentVolume("pv", "u")], [])
    odd = Placement(scheduler="mine", gated=True, claims_devices=True)
    pod = a_pod("db-0", volumes=tuple(_volumes()), placement=odd)
    occupancy = Occupancy([node("n0", "z1")], storage=replace(held, known=False))
    told = occupancy.uncertainties(occupancy.successor_of(pod))
    assert len(told) == 4
    assert all(word in "".join(told) for word in ("scheduler mine", "gates", "devices", "claims or volumes"))
    assert occupancy.uncertainties(occupancy.class_of(a_pod())) == ()


@pytest.mark.parametrize(
    ("chosen", "read", "doubts"),
    [
        (from_parts({"team": "x"}), False, {"own", "meant"}),
        (from_parts({"team": "x"}), True, set()),
        (EVERYTHING, False, set()),
        (None, False, set()),
    ],
)
def test_namespaces_that_were_not_read_matter_where_their_labels_decide(
    chosen: Selector | None, read: bool, doubts: set[str]
) -> None:
    term = PodAffinityTerm(HOST, from_parts({"app": "db"}), namespace_selector=chosen)
    pods = {
        "own": a_pod("own", placement=Placement(anti_affinity=(term,))),
        "meant": a_pod("meant", "other", labels={"app": "db"}),
        "neither": a_pod("neither"),
    }
    occupancy = Occupancy([node("n0", "z1")], {"default": {}, "other": {}} if read else None)
    kinds = {name: occupancy.class_of(pod) for name, pod in pods.items()}
    assert {name for name, kind in kinds.items() if occupancy.uncertainties(kind)} == doubts


@pytest.mark.parametrize(
    ("storage", "reason"),
    [
        (Storage.of([], [], []), 'persistentvolumeclaim "data-db-0" not found'),
        (
            Storage.of([PersistentVolumeClaim("default", "data-db-0")], [], []),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_a_volume_that_is_not_there_refuses_every_node(storage: Storage, reason: str) -> None:
    occupancy = Occupancy([node("n0", "z1")], storage=storage)
    kind = occupancy.successor_of(a_pod("db-0", volumes=tuple(_volumes())))
    assert occupancy.refusal_reasons(kind) == {reason: 1}
    assert not occupancy.candidates(kind)
