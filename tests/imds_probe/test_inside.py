"""Which pods are worth a look, whose logs are read, and what is found in them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.imds_probe.affected import PodEvidence, choose, inside, logs_of, started_of
from kubectl_eksdoc.imds_probe.programs import ContainerCommand
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Calls, Container, ContainerRunState, ControllerOwner, LogOf, Pod, RoleBy
from tests.builders import NOW, a_pod

LBC = "eks/aws-load-balancer-controller:v2.13.0"
DENIED = Unknown("no", "get pods/log")


def pod(name: str = "p", image: str = "shop/cart:1", owner: str = "", host: bool = False, **more: Any) -> Pod:
    by = ControllerOwner("ReplicaSet", owner, owner, "apps") if owner else None
    return a_pod(name, namespace="shop", calls=Calls(host, images=(image,)), owner=by, **more)


def names(*pods: Pod, most: int = 9) -> list[str]:
    return [each.name for each in choose(pods, NOW, most).pods]


def test_who_is_worth_a_look() -> None:
    assert names(pod(image="nginx:1.27")) == [] and names(pod(image=LBC)) == ["p"]
    node = pod("node", image="eks/amazon-k8s-cni:v1")
    assert names(replace(node, calls=replace(node.calls, host_network=True))) == []
    assert names(node) == ["node"], "it comes with the network of its host, and was not given it"
    assert names(pod(image=LBC, host=True)) == [] and names(pod(image=LBC, phase="Succeeded")) == []
    assert names(pod(ready=False)) == ["p"] and names(pod(ready=False, node="")) == []


def test_who_is_ready_and_has_no_role_is_looked_into_where_there_is_room() -> None:
    """One of each controller; that there was no room is nothing that is left out."""
    apps = [pod(f"app-{n}", owner="app") for n in range(2)]
    role = replace(apps[0], name="role", calls=replace(apps[0].calls, role=RoleBy.IRSA))
    assert names(*apps, role, pod("lbc", LBC)) == ["lbc", "app-0"]
    assert choose([*apps, pod("lbc", LBC)], NOW, 1).left == 0 and names(pod(node="")) == []


@pytest.mark.parametrize(("minutes", "worth"), [(2, True), (20, False)])
def test_one_that_was_restarted_a_moment_ago_may_do_so_again(minutes: int, worth: bool) -> None:
    assert bool(names(pod(image="nginx:1.27", restarted=True, ready_at=NOW - timedelta(minutes=minutes)))) is worth


def test_one_of_each_controller_comes_first_and_what_is_left_is_counted() -> None:
    crashing = [pod(f"web-{n}", owner="web", ready=False) for n in range(5)]
    controllers = [pod(f"lbc-{n}", LBC, owner="lbc", ready=n != 1) for n in range(2)]
    chosen = choose([*crashing, *controllers], NOW, 3)
    assert [each.name for each in chosen.pods] == ["lbc-1", "web-0", "lbc-0"] and chosen.left == 4


@given(some.lists(some.tuples(some.sampled_from("abc"), some.booleans()), max_size=12), some.integers(0, 12))
def test_none_is_chosen_twice_or_lost(given_pods: list[tuple[str, bool]], most: int) -> None:
    pods = [pod(f"p{n}", LBC, owner=owner, ready=ready) for n, (owner, ready) in enumerate(given_pods)]
    chosen = choose(pods, NOW, most)
    assert len(chosen.pods) == min(most, len(pods)) and chosen.left == len(pods) - len(chosen.pods)
    assert len({each.key for each in chosen.pods}) == len(chosen.pods)


CRASHING = Container("app", runs=ContainerRunState.WAITING, ended_before=True)
AGAIN = Container("app", runs=ContainerRunState.RUNNING, ended_before=True)
GOOD = Container("mesh", runs=ContainerRunState.RUNNING, ready=True)
NOW_OF, BEFORE = LogOf("shop", "p", "app"), LogOf("shop", "p", "app", previous=True)


@pytest.mark.parametrize(
    ("containers", "logs"),
    [
        ((CRASHING, GOOD), (BEFORE,)),
        ((AGAIN, GOOD), (NOW_OF, BEFORE)),
        ((Container("app", runs=ContainerRunState.WAITING), GOOD), ()),
        ((Container("app", runs=ContainerRunState.ENDED),), (NOW_OF,)),
        ((GOOD,), (LogOf("shop", "p", "mesh"),)),
        ((replace(GOOD, name="app"), replace(CRASHING, name="first", init=True)), (LogOf("shop", "p", "first", True),)),
        ((CRASHING, Container("first", runs=ContainerRunState.ENDED, ended_as="Completed", init=True)), (BEFORE,)),
        ((), ()),
    ],
)
def test_whose_log_is_read(containers: tuple[Container, ...], logs: tuple[LogOf, ...]) -> None:
    assert logs_of(pod(ready=False), containers, NOW) == logs


def test_one_that_has_run_well_for_long_is_not_judged_by_what_ended_before() -> None:
    ready = Container("app", runs=ContainerRunState.RUNNING, ready=True, ended_before=True)
    assert logs_of(pod(ready_at=NOW - timedelta(hours=2), restarted=True), (ready,), NOW) == (NOW_OF,)
    assert logs_of(pod(ready_at=NOW - timedelta(minutes=1), restarted=True), (ready,), NOW) == (NOW_OF, BEFORE)


def test_with_what_the_known_program_was_started() -> None:
    lbc = Container("controller", LBC, ("--aws-region=x",), ("A",), more_variables=True)
    assert started_of((GOOD, lbc)) == ContainerCommand(("--aws-region=x",), ("A",), True)
    assert started_of((GOOD,)) == ContainerCommand() and started_of(()) is None


def test_a_container_that_never_asks_says_nothing_of_those_beside_it() -> None:
    name = "AWS_EC2_METADATA_DISABLED"
    mesh = Container("mesh", variables=(name,), runs=ContainerRunState.RUNNING, values=((name, "true"),))
    app = replace(CRASHING, name="app")
    mesh_log, lacks = LogOf("shop", "p", "mesh"), "no EC2 IMDS role found"
    found = inside((mesh, app), (mesh_log, BEFORE), {mesh_log: "fine", BEFORE: lacks})
    assert found.seen is not None and found.started == ContainerCommand()
    assert inside((mesh, app), (mesh_log, BEFORE), {mesh_log: lacks, BEFORE: "fine"}).seen is None
    assert started_of((mesh,)) == ContainerCommand((), (name,), False, ((name, "true"),))


def test_what_is_found() -> None:
    text = "all is well\nfailed to get VPC ID: timeout\n"
    found = inside((CRASHING,), (NOW_OF, BEFORE), {NOW_OF: "well", BEFORE: text})
    assert found.seen is not None and found.seen.line == "failed to get VPC ID: timeout" and not found.unknown
    assert inside((CRASHING,), (BEFORE,), {BEFORE: DENIED}) == PodEvidence(ContainerCommand(), None, (DENIED,))
    assert inside((CRASHING,), (NOW_OF, BEFORE), {NOW_OF: text, BEFORE: DENIED}).unknown == (), "the other one tells"
    assert inside((CRASHING,), (BEFORE,), {}).unknown
    assert inside(DENIED, (), {}) == PodEvidence(unknown=(DENIED,))
    (gone,) = inside(Absent("not found"), (), {}).unknown
    assert gone == Unknown("it is gone: not found")
