"""The pods whose logs are read, and the meaning of the lines in them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.imds_probe.affected import PodEvidence, command_of_pod, logs_of, read_evidence, select_pods
from kubectl_eksdoc.imds_probe.programs import (
    LOG_LINES,
    MAX_LINE_LENGTH,
    OTHER_CAUSE,
    ContainerCommand,
    LogLine,
    is_known_line,
    read_log,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Calls, Container, ContainerRunState, ControllerOwner, LogKey, Pod, RoleSource
from tests.builders import NOW, a_pod
from tests.contracts.source import ROOT

LBC = "eks/aws-load-balancer-controller:v2.13.0"
DENIED = Unknown("no", "get pods/log")


def pod(name: str = "p", image: str = "shop/cart:1", owner: str = "", host: bool = False, **more: Any) -> Pod:
    by = ControllerOwner("ReplicaSet", owner, owner, "apps") if owner else None
    return a_pod(name, namespace="shop", calls=Calls(host, images=(image,)), owner=by, **more)


def names(*pods: Pod, most: int = 9) -> list[str]:
    return [each.name for each in select_pods(pods, NOW, most).pods]


def test_who_is_worth_a_look() -> None:
    assert names(pod(image="nginx:1.27")) == [] and names(pod(image=LBC)) == ["p"]
    node = pod("node", image="eks/amazon-k8s-cni:v1")
    assert names(replace(node, calls=replace(node.calls, host_network=True))) == []
    assert names(node) == ["node"], "it comes with the network of its host, and was not given it"
    assert names(pod(image=LBC, host=True)) == [] and names(pod(image=LBC, phase="Succeeded")) == []
    assert names(pod(ready=False)) == ["p"] and names(pod(ready=False, node="")) == []


def test_who_is_ready_and_has_no_role_is_looked_into_where_there_is_room() -> None:
    """One pod of each controller; pods beyond the limit are not reported as left out."""
    apps = [pod(f"app-{n}", owner="app") for n in range(2)]
    role = replace(apps[0], name="role", calls=replace(apps[0].calls, role=RoleSource.IRSA))
    assert names(*apps, role, pod("lbc", LBC)) == ["lbc", "app-0"]
    assert select_pods([*apps, pod("lbc", LBC)], NOW, 1).not_selected == 0 and names(pod(node="")) == []


@pytest.mark.parametrize(("minutes", "worth"), [(2, True), (20, False)])
def test_one_that_was_restarted_a_moment_ago_may_do_so_again(minutes: int, worth: bool) -> None:
    assert bool(names(pod(image="nginx:1.27", restarted=True, ready_at=NOW - timedelta(minutes=minutes)))) is worth


def test_one_of_each_controller_comes_first_and_what_is_left_is_counted() -> None:
    crashing = [pod(f"web-{n}", owner="web", ready=False) for n in range(5)]
    controllers = [pod(f"lbc-{n}", LBC, owner="lbc", ready=n != 1) for n in range(2)]
    chosen = select_pods([*crashing, *controllers], NOW, 3)
    assert [each.name for each in chosen.pods] == ["lbc-1", "web-0", "lbc-0"] and chosen.not_selected == 4


@given(some.lists(some.tuples(some.sampled_from("abc"), some.booleans()), max_size=12), some.integers(0, 12))
def test_none_is_chosen_twice_or_lost(given_pods: list[tuple[str, bool]], most: int) -> None:
    pods = [pod(f"p{n}", LBC, owner=owner, ready=ready) for n, (owner, ready) in enumerate(given_pods)]
    chosen = select_pods(pods, NOW, most)
    assert len(chosen.pods) == min(most, len(pods)) and chosen.not_selected == len(pods) - len(chosen.pods)
    assert len({each.key for each in chosen.pods}) == len(chosen.pods)


CRASHING = Container("app", runs=ContainerRunState.WAITING, ended_before=True)
AGAIN = Container("app", runs=ContainerRunState.RUNNING, ended_before=True)
GOOD = Container("mesh", runs=ContainerRunState.RUNNING, ready=True)
NOW_OF, BEFORE = LogKey("shop", "p", "app"), LogKey("shop", "p", "app", previous=True)


@pytest.mark.parametrize(
    ("containers", "logs"),
    [
        ((CRASHING, GOOD), (BEFORE,)),
        ((AGAIN, GOOD), (NOW_OF, BEFORE)),
        ((Container("app", runs=ContainerRunState.WAITING), GOOD), ()),
        ((Container("app", runs=ContainerRunState.ENDED),), (NOW_OF,)),
        ((GOOD,), (LogKey("shop", "p", "mesh"),)),
        (
            (replace(GOOD, name="app"), replace(CRASHING, name="first", init=True)),
            (LogKey("shop", "p", "first", True),),
        ),
        ((CRASHING, Container("first", runs=ContainerRunState.ENDED, ended_as="Completed", init=True)), (BEFORE,)),
        ((), ()),
    ],
)
def test_whose_log_is_read(containers: tuple[Container, ...], logs: tuple[LogKey, ...]) -> None:
    assert logs_of(pod(ready=False), containers, NOW) == logs


def test_one_that_has_run_well_for_long_is_not_judged_by_what_ended_before() -> None:
    ready = Container("app", runs=ContainerRunState.RUNNING, ready=True, ended_before=True)
    assert logs_of(pod(ready_at=NOW - timedelta(hours=2), restarted=True), (ready,), NOW) == (NOW_OF,)
    assert logs_of(pod(ready_at=NOW - timedelta(minutes=1), restarted=True), (ready,), NOW) == (NOW_OF, BEFORE)


def test_with_what_the_known_program_was_started() -> None:
    lbc = Container("controller", LBC, ("--aws-region=x",), ("A",), more_variables=True)
    assert command_of_pod((GOOD, lbc)) == ContainerCommand(("--aws-region=x",), ("A",), True)
    assert command_of_pod((GOOD,)) == ContainerCommand() and command_of_pod(()) is None


def test_a_container_that_never_asks_says_nothing_of_those_beside_it() -> None:
    name = "AWS_EC2_METADATA_DISABLED"
    mesh = Container("mesh", variables=(name,), runs=ContainerRunState.RUNNING, values=((name, "true"),))
    app = replace(CRASHING, name="app")
    mesh_log, lacks = LogKey("shop", "p", "mesh"), "no EC2 IMDS role found"
    found = read_evidence((mesh, app), (mesh_log, BEFORE), {mesh_log: "fine", BEFORE: lacks})
    assert found.symptom is not None and found.command == ContainerCommand()
    assert read_evidence((mesh, app), (mesh_log, BEFORE), {mesh_log: lacks, BEFORE: "fine"}).symptom is None
    assert command_of_pod((mesh,)) == ContainerCommand((), (name,), False, ((name, "true"),))


def test_what_is_found() -> None:
    text = "all is well\nfailed to get VPC ID: timeout\n"
    found = read_evidence((CRASHING,), (NOW_OF, BEFORE), {NOW_OF: "well", BEFORE: text})
    assert found.symptom is not None and found.symptom.line == "failed to get VPC ID: timeout" and not found.unreadable
    assert read_evidence((CRASHING,), (BEFORE,), {BEFORE: DENIED}) == PodEvidence(ContainerCommand(), None, (DENIED,))
    assert read_evidence((CRASHING,), (NOW_OF, BEFORE), {NOW_OF: text, BEFORE: DENIED}).unreadable == (), (
        "the other one tells"
    )
    assert read_evidence((CRASHING,), (BEFORE,), {}).unreadable
    assert read_evidence(DENIED, (), {}) == PodEvidence(unreadable=(DENIED,))
    (gone,) = read_evidence(Absent("not found"), (), {}).unreadable
    assert gone == Unknown("it is gone: not found")


CORPUS = ROOT / "tests" / "data" / "metadata_log_lines.jsonl"
SYMPTOMS = [each for each in LOG_LINES if not each.weak and each.lacks != OTHER_CAUSE]


def corpus(path: Path = CORPUS) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("of", corpus(), ids=lambda of: of["program"])
def test_real_lines_are_judged_as_their_source_says(of: dict[str, str]) -> None:
    told = read_log(f"starting\n{of['line']}\nbye\n")
    seen = told.symptom or told.weak
    if of["lacks"].startswith("none"):
        assert told.symptom is None
        return
    assert seen is not None
    assert set(seen.record.lacks.split(" or ")) & set(of["lacks"].split(" or ")), (seen.record.lacks, of["lacks"])


def test_there_are_enough_of_them() -> None:
    lines = corpus()
    assert len(lines) >= 90 and len({each["line"] for each in lines}) == len(lines)
    assert all(each["source"] and each["program"] for each in lines)


@pytest.mark.parametrize(
    "log",
    [
        "",
        "starting\n",
        "panic: nil map",
        "GET http://169.254.169.254/latest/meta-data 200 OK",
        "AccessDenied",
        "listening; metadata at 169.254.169.254",
        "[orders] Failed to get instance ID 42 from the database",
        *('{"status":200,"error":"EC2MetadataError: failed"}', "200 OK; EC2MetadataError"),
    ],
)
def test_other_troubles_are_none(log: str) -> None:
    """The status of another request hides no symptom."""
    assert bool(read_log(log).symptom) is ("EC2MetadataError" in log)


def test_the_last_line_counts_and_has_no_credentials() -> None:
    seen = read_log("NoCredentialProviders: no valid providers in chain\nfailed to get VPC ID\nexit 1").symptom
    assert seen is not None and seen.line == "failed to get VPC ID" and seen.lacks == "the id of its VPC"
    said = 'no EC2 IMDS role found: {"AccessKeyId": "ASIAEXAMPLEEXAMPLE", "SecretAccessKey": "hunter2hunter2"}'
    seen = read_log(said).symptom
    assert seen is not None and "EXAMPLE" not in seen.line and "hunter2" not in seen.line


def test_another_cause_that_is_named_after_a_symptom_stands_beside_it() -> None:
    first, then = "no EC2 IMDS role found\n", 'FATAL: password authentication failed for user "app"\n'
    assert read_log(first + then).another is not None and read_log(first + then).symptom is not None
    assert read_log(then + first).another is None, "the later word counts"
    assert read_log(f"{then}dial tcp 169.254.169.254:80: i/o timeout\n").another is None, "a weak one as well"
    assert read_log(then).symptom is None and is_known_line(then), "a snapshot keeps it"


@given(some.text(), some.sampled_from(SYMPTOMS), some.text())
def test_any_log_can_be_looked_at(before: str, symptom: LogLine, after: str) -> None:
    seen = read_log(f"{before}\n{symptom.beside} {symptom.text}\n{after}").symptom
    assert seen is not None and len(seen.line) <= MAX_LINE_LENGTH


def test_no_record_hides_behind_another() -> None:
    """A text that contains an earlier one would never be found."""
    texts = [each.text.lower() for each in LOG_LINES]
    assert [(a, b) for at, b in enumerate(texts) for a in texts[:at] if a in b] == []
