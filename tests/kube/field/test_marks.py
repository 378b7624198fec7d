"""Labels for load balancers and protections from autoscalers, as a served cluster keeps them and gives them back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection as Breaks
from kubectl_eksdoc.embedded.serving.faults import Fault, FaultMoment
from kubectl_eksdoc.kube.field.live import LiveRunField
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus, LostAnswer
from kubectl_eksdoc.model.acts import Cordon, Exclude, OfNode, Protect, Release, Restore
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.model.nodes import EXCLUDED_FROM_BALANCERS, PROTECTIONS
from tests.embedded.clients import worlds
from tests.kube.field.fields import RUN, among, answer_to, connection, field_on, node_of, nodes_alone
from tests.kube.field.test_cordons import annotated, change, lasting, notes, some_node

AUTOSCALER, KARPENTER = PROTECTIONS
NEW = [Exclude, Protect, Release]


@pytest.fixture
def api() -> Iterator[Api]:
    """What is done here is done to nodes."""
    made = nodes_alone()
    yield made
    assert list(made.faults) == []


def annotations(node: Doc) -> dict[str, str]:
    return dict(at(node, "metadata", "annotations") or {})


def test_a_protection_is_noted_and_released_byte_for_byte(api: Api, field: LiveRunField) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)
    assert answer_to(field, Protect(name, uid)) == ApiStatus(200)
    protected = node_of(api, name)
    assert {key: annotations(protected)[key] for key in PROTECTIONS} == {AUTOSCALER: "true", KARPENTER: "true"}
    assert notes(api, name) == {
        "eksdoc.io/run": RUN,
        "eksdoc.io/prior": json.dumps({"protected": sorted(PROTECTIONS)}, separators=(",", ":")),
    }
    assert answer_to(field, Protect(name, uid)) == ApiStatus(200)
    assert node_of(api, name) == protected, "once is enough"
    assert answer_to(field, Release(name, uid)) == ApiStatus(200)
    assert json.dumps(lasting(node_of(api, name))) == json.dumps(lasting(before))


@pytest.mark.parametrize("value", ["true", "false", ""])
def test_what_the_user_said_of_it_stays(api: Api, field: LiveRunField, value: str) -> None:
    name, uid = some_node(api)
    change(api, name, annotated(KARPENTER, value))
    before = node_of(api, name)
    assert answer_to(field, Protect(name, uid)) == ApiStatus(200)
    assert annotations(node_of(api, name))[KARPENTER] == value
    assert annotations(node_of(api, name))[AUTOSCALER] == "true"
    assert answer_to(field, Release(name, uid)) == ApiStatus(200)
    assert lasting(node_of(api, name)) == lasting(before)


def test_a_node_that_its_user_protects_is_not_written(api: Api, field: LiveRunField) -> None:
    name, uid = some_node(api)
    for key in PROTECTIONS:
        change(api, name, annotated(key, "true"))
    before = node_of(api, name)
    for act in (Protect(name, uid), Release(name, uid)):
        assert answer_to(field, act) == ApiStatus(200)
        assert node_of(api, name) == before


def test_a_label_is_noted_with_the_cordon_and_taken_back_with_it(api: Api, field: LiveRunField) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)
    for act in (Cordon(name, uid), Exclude(name, uid)):
        assert answer_to(field, act) == ApiStatus(200)
    excluded = node_of(api, name)
    assert excluded["metadata"]["labels"][EXCLUDED_FROM_BALANCERS] == "true"
    assert json.loads(notes(api, name)["eksdoc.io/prior"]) == {
        "unschedulable": False,
        "labels": [EXCLUDED_FROM_BALANCERS],
    }
    assert answer_to(field, Exclude(name, uid)) == ApiStatus(200)
    assert node_of(api, name) == excluded, "once is enough"
    assert answer_to(field, Restore(name, uid)) == ApiStatus(200)
    assert json.dumps(lasting(node_of(api, name))) == json.dumps(lasting(before))


def test_a_node_that_its_user_excludes_stays_excluded(api: Api, field: LiveRunField) -> None:
    name, uid = some_node(api)
    change(api, name, lambda doc: with_value(doc, ("metadata", "labels", EXCLUDED_FROM_BALANCERS), ""))
    before = node_of(api, name)
    for act in (Cordon(name, uid), Exclude(name, uid), Restore(name, uid)):
        answer_to(field, act)
    assert lasting(node_of(api, name)) == lasting(before)


def test_a_node_that_somebody_had_cordoned_is_excluded_and_stays_cordoned(api: Api, field: LiveRunField) -> None:
    name, uid = some_node(api)
    change(api, name, lambda doc: with_value(doc, ("spec", "unschedulable"), True))
    before = node_of(api, name)
    answer_to(field, Exclude(name, uid))
    assert json.loads(notes(api, name)["eksdoc.io/prior"]) == {"labels": [EXCLUDED_FROM_BALANCERS]}
    answer_to(field, Restore(name, uid))
    assert lasting(node_of(api, name)) == lasting(before)


def test_to_restore_releases_nothing_and_the_other_way_round(api: Api, field: LiveRunField) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)
    answer_to(field, Protect(name, uid))
    protected = node_of(api, name)
    answer_to(field, Cordon(name, uid))
    answer_to(field, Restore(name, uid))
    assert lasting(node_of(api, name)) == lasting(protected)
    answer_to(field, Cordon(name, uid))
    answer_to(field, Release(name, uid))
    assert node_of(api, name)["spec"]["unschedulable"] is True
    assert not set(PROTECTIONS) & set(annotations(node_of(api, name)))
    answer_to(field, Restore(name, uid))
    assert lasting(node_of(api, name)) == lasting(before)


@pytest.mark.parametrize("act", NEW)
def test_another_node_of_the_same_name_is_left_alone(api: Api, field: LiveRunField, act: type[OfNode]) -> None:
    name, _ = some_node(api)
    before = node_of(api, name)
    answer = answer_to(field, act(name, "another-uid"))
    assert isinstance(answer, ApiStatus) and answer.code == 409 and "UID in the precondition" in answer.message
    assert node_of(api, name) == before


@pytest.mark.parametrize("act", NEW)
def test_a_node_that_is_not_there(field: LiveRunField, act: type[OfNode]) -> None:
    answer = answer_to(field, act("nowhere", "uid"))
    assert isinstance(answer, ApiStatus) and (answer.code, answer.reason) == (404, "NotFound")


@pytest.mark.parametrize("act", [Exclude, Protect])
def test_without_the_right(api: Api, tmp_path: Path, act: type[OfNode]) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)
    with among(api) as server, field_on(connection(server, tmp_path, token=worlds.VIEWER_TOKEN)) as field:
        answer = answer_to(field, act(name, uid))
    assert isinstance(answer, ApiStatus) and answer.code == 403 and "cannot patch" in answer.message
    assert node_of(api, name) == before


@pytest.mark.parametrize(("act", "back"), [(Exclude, Restore), (Protect, Release)])
def test_an_answer_that_is_lost_can_be_asked_for_again(
    api: Api, tmp_path: Path, act: type[OfNode], back: type[OfNode]
) -> None:
    name, uid = some_node(api)
    before = node_of(api, name)
    lost = [Fault(Breaks(FaultMoment.AFTER), method="PATCH", times=1) for _ in range(2)]
    for each, fault in zip((act, back), lost, strict=True):
        with among(api, fault) as server, field_on(connection(server, tmp_path)) as field:
            assert isinstance(answer_to(field, each(name, uid)), LostAnswer)
            done = node_of(api, name)
            assert answer_to(field, each(name, uid)) == ApiStatus(200)
            assert node_of(api, name) == done
    assert lasting(node_of(api, name)) == lasting(before)


def test_two_runs_one_inside_the_other(api: Api, tmp_path: Path) -> None:
    """The later one finds the node protected, and leaves it to whoever did that."""
    name, uid = some_node(api)
    before = node_of(api, name)
    with among(api) as server:
        cordon = Cordon(name, uid, over="a")
        release, restore = Release(name, uid), Restore(name, uid)
        deeds = ("a", Protect(name, uid)), ("b", Protect(name, uid)), ("b", cordon), ("b", release), ("b", restore)
        for run, act in deeds:
            with field_on(connection(server, tmp_path), run) as field:
                assert answer_to(field, act) == ApiStatus(200)
        assert notes(api, name)["eksdoc.io/run"] == "a"
        assert annotations(node_of(api, name))[KARPENTER] == "true"
        with field_on(connection(server, tmp_path), "a") as field:
            answer_to(field, Release(name, uid))
    assert lasting(node_of(api, name)) == lasting(before)
