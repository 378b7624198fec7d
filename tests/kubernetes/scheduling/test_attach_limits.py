"""Volume attach limits of a node: counted as pods come and go, never exceeded, and uncertain where data is unread."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.kubernetes.scheduling.occupancy import Occupancy
from kubectl_eksdoc.kubernetes.scheduling.volumes import EBS_CSI_DRIVER, Storage, ebs_volume_id
from kubectl_eksdoc.model.nodes import Node, Pod, Volume, VolumeKind
from kubectl_eksdoc.model.placement import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from tests.builders import ROOM, a_claimed, a_node, a_pod
from tests.examples import examples

EFS = "efs.csi.aws.com"
LATE = "WaitForFirstConsumer"
FULL = "node(s) exceed max volume count"
NODES = ("n0", "n1")


def node(name: str) -> Node:
    return a_node(name, allocatable=ROOM)


def a_disk(name: str, driver: str = EBS_CSI_DRIVER) -> PersistentVolume:
    return PersistentVolume(name, f"u-{name}", driver=driver, handle=f"vol-{name}")


def storage(limit: int, *attached: tuple[str, str]) -> Storage:
    """Claims a, b, c and d with one EBS volume each, late-0 and late-1 without one yet, an EFS file system, and claims
    for ephemeral volumes of pods x and y; `attached` are (node, volume)."""
    disks = [a_disk("a"), a_disk("b"), a_disk("c"), a_disk("files", EFS)]
    disks.append(replace(a_disk("d", "kubernetes.io/aws-ebs"), handle="aws://z1/vol-d"))
    claims = [PersistentVolumeClaim("default", disk.name, disk.name) for disk in disks]
    claims += [
        PersistentVolumeClaim("default", name, "", "gp3") for name in ("late-0", "late-1", "x-scratch", "y-scratch")
    ]
    return Storage.of(
        claims,
        disks,
        [StorageClass("gp3", EBS_CSI_DRIVER, LATE)],
        True,
        [CSINode(name, ((EBS_CSI_DRIVER, limit),)) for name in NODES],
        [VolumeAttachment(f"va-{i}", where, EBS_CSI_DRIVER, disk) for i, (where, disk) in enumerate(attached)],
    )


def using(*claims: str, name: str = "p", ephemeral: bool = False, disk: str = "", on: str = "") -> Pod:
    held = [a_claimed(claim, claim) for claim in claims]
    held += [Volume("scratch", VolumeKind.EPHEMERAL, f"{name}-scratch")] if ephemeral else []
    held += [Volume("disk", VolumeKind.AWS_EBS, disk)] if disk else []
    return a_pod(name, volumes=tuple(held), node=on)


def refused(occupancy: Occupancy, pod: Pod, name: str = "n0") -> bool:
    kind = occupancy.class_of(pod)
    found = occupancy.refusal(kind, name)
    assert found is None or (found.reasons, found.code) == ((FULL,), "Unschedulable")
    assert occupancy.fits_now(kind, occupancy.by_node[name]) is (found is None)
    return found is not None


def full(limit: int, *placed: Pod, attached: tuple[tuple[str, str], ...] = ()) -> Occupancy:
    return Occupancy.of(map(node, NODES), placed, {}, storage(limit, *attached))


@pytest.mark.parametrize(
    ("text", "volume"),
    [
        ("vol-1", "vol-1"),
        ("aws://eu-west-1a/vol-1", "vol-1"),
        ("aws://eu-west-1a/disk-1", ""),
        ("aws://vol-1", ""),
    ],
)
def test_ids_of_in_tree_volumes(text: str, volume: str) -> None:
    assert ebs_volume_id(text) == volume


def test_successors_get_ephemeral_volumes_of_their_own() -> None:
    occupancy = full(2)
    x, y = using(name="x", ephemeral=True), using(name="y", ephemeral=True)
    kind = occupancy.successor_of(x)
    assert kind is occupancy.successor_of(y)
    for _ in range(2):
        assert occupancy.refusal(kind, "n0") is None
        occupancy.put(kind, "n0")
    told = occupancy.refusal(kind, "n0")
    assert told is not None
    assert told.reasons == (FULL,)
    occupancy.take(kind, "n0")
    assert occupancy.refusal(kind, "n0") is None


def test_a_new_node_attaches_what_the_one_it_is_like_can_and_one_that_changes_keeps_its_volumes() -> None:
    occupancy = full(1)
    occupancy.add_node(node("copy"), "n0")
    occupancy.add_node(node("stranger"))
    assert not refused(occupancy, using("a"), "copy")
    assert refused(occupancy, using("a", "b"), "copy")
    assert not refused(occupancy, using("a", "b"), "stranger")
    occupancy = full(2, using("a", on="n0"), attached=(("n0", "b"),))
    occupancy.change_node(replace(node("n0"), labels={}))
    assert refused(occupancy, using("c"))
    assert not refused(occupancy, using("a"))


@pytest.mark.parametrize(
    ("unread", "driver", "doubts"),
    [
        ({}, "a", 0),
        ({"limits": None}, "a", 1),
        ({"limits": None}, "files", 1),
        ({"attachments": None}, "files", 0),
    ],
)
def test_what_was_not_read_matters_where_it_decides(unread: dict[str, None], driver: str, doubts: int) -> None:
    held = replace(storage(1), **unread)  # type: ignore[arg-type]
    occupancy = Occupancy([node("n0")], {}, held)
    assert len(occupancy.uncertainties(occupancy.class_of(using(driver)))) == doubts
    assert occupancy.uncertainties(occupancy.class_of(using())) == ()


# The running count equals a recount ----------------------------------------------------------

CLAIMS = st.lists(st.sampled_from(["a", "b", "c", "d", "late-0", "late-1", "files"]), max_size=3, unique=True)
PODS = st.builds(
    lambda claims, ephemeral, disk, name: using(*claims, name=name, ephemeral=ephemeral, disk=disk),
    CLAIMS,
    st.booleans(),
    st.sampled_from(["", "vol-a", "vol-z", "aws://z1/vol-d"]),
    st.sampled_from(["x", "y"]),
)
ATTACHED = st.lists(
    st.tuples(st.sampled_from(NODES), st.sampled_from(["a", "b", "c", "d"])), max_size=4, unique=True
).map(tuple)


def ebs_volumes(pods: list[Pod]) -> set[str]:
    """The EBS volumes that pods use, each with its own name; EFS is not among them."""
    found = set()
    for pod in pods:
        for volume in pod.volumes:
            if volume.kind is VolumeKind.AWS_EBS:
                found.add(volume.detail.rpartition("/")[2])
            elif volume.detail != "files":
                found.add(f"vol-{volume.detail}")
    return found


@settings(max_examples=examples(200))
@given(st.integers(0, 5), ATTACHED, st.lists(PODS, max_size=10), st.data())
def test_a_limit_is_never_passed_and_no_pod_is_refused_for_nothing(
    limit: int, attached: tuple[tuple[str, str], ...], pods: list[Pod], data: st.DataObject
) -> None:
    """This holds for any earlier pods."""
    occupancy = full(limit, attached=attached)
    stray = {f"vol-{disk}" for where, disk in attached if where == "n0" and disk != "d"}
    on: list[Pod] = []
    for pod in pods:
        if on and data.draw(st.booleans()):
            gone = on.pop(data.draw(st.integers(0, len(on) - 1)))
            occupancy.take(occupancy.class_of(gone), "n0")
        used = ebs_volumes(on)
        adds = len(ebs_volumes([pod]) - used)
        assert refused(occupancy, pod) is bool(adds and len(used | stray) + adds > limit)
        if not refused(occupancy, pod):
            occupancy.put(occupancy.class_of(pod), "n0")
            on.append(pod)
        taken = occupancy.by_node["n0"].attached.taken
        assert taken.get(EBS_CSI_DRIVER, 0) == len(ebs_volumes(on) | stray)
        assert taken.get(EBS_CSI_DRIVER, 0) <= max(limit, len(stray))
        assert taken.get(EFS, 0) == bool(Counter(v.detail for p in on for v in p.volumes)["files"])
