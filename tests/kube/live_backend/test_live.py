"""The live backend as a whole: renewed credentials, the end of threads and connections, waiting and waking up."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.drain.run.pod_evictions import ObservedState
from kubectl_eksdoc.embedded.serving import faults
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.faults import BrokenConnection, CutShort, Effect, Fault, FaultyAnswer
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.exchanges import RetryPolicy, Timing
from kubectl_eksdoc.kube.live_backend import LiveRunBackend
from kubectl_eksdoc.kube.reads import MIN_REFUSALS, FailureStreak, GaveUp
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import AttachedVolumes
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.actions import Cordon, ListAttachments
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.simulator import faults as mishaps
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.drains.secured import secured
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs
from tests.fakes.sender import Hands
from tests.kube.live_backend.served_backends import (
    HASTY,
    RUN,
    SHORT,
    all_seen,
    among,
    answer_to,
    answers,
    connection,
    field_among,
    field_on,
    heard,
    node_of,
    serving_again,
    wait_until,
)
from tests.kube.live_backend.test_cordons import some_node


class Doorkeeper:
    """An API wrapper that accepts only the token that is valid now."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.good = "token-1"
        self.turned_away: list[str] = []

    def handle(self, request: Any) -> Any:
        token = worlds.ADMIN_TOKEN
        if request.headers.get("authorization") != f"Bearer {self.good}":
            self.turned_away.append(request.method)
            token = "nobody's"
        return self._api.handle(replace(request, headers={**request.headers, "authorization": f"Bearer {token}"}))


@contextmanager
def watching(config: str) -> Iterator[tuple[LiveRunBackend, ObservedState]]:
    """A live backend with a valid kubeconfig, after every kind was listed."""
    with field_on(Connection(kubeconfig=config)) as field:
        yield field, all_seen(field)


def test_an_expired_token_is_renewed_for_acts_and_watches(api: Api, tmp_path: Path) -> None:
    """A write is sent again with the new token, because the first had no effect."""
    plugin = kubeconfigs.plugin(tmp_path, "say(token=f'token-{runs()}')")
    door = Doorkeeper(api)
    name, uid = some_node(api)
    with secured(door) as (url, ca):
        config = kubeconfigs.one(tmp_path / "config", url, ca, kubeconfigs.exec_user(plugin))
        with watching(config) as (field, seen):
            assert kubeconfigs.runs(plugin) == 1 and not door.turned_away
            door.good = "token-2"
            assert answer_to(field, Cordon(name, uid)) == ApiStatus(200)
            heard(field, seen, lambda: seen.nodes[name].unschedulable)
            api.run_locked(lambda plane: mishaps.set_cordon(plane, name, unschedulable=False))
            heard(field, seen, lambda: not seen.nodes[name].unschedulable)
    assert kubeconfigs.runs(plugin) == 2, "once for all threads"
    assert door.turned_away


def ours() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("eksdoc field")]


def connections() -> list[str]:
    """The server's threads: one for each open connection."""
    return [each.name for each in threading.enumerate() if each.name.startswith("to (")]


@pytest.mark.parametrize("faults", [(), ("unanswered",), ("watch-silent",), ("unavailable",)])
def test_nothing_is_left_of_it_soon(api: Api, tmp_path: Path, faults: tuple[str, ...]) -> None:
    """The backend closes while it waits for an answer, for an event, or for the next retry."""
    slow = replace(HASTY, silence_timeout=60.0, first_pause=30.0, max_pause=30.0, max_retry_after=30.0)
    name, uid = some_node(api)
    with among(api, *faults) as server:
        before = set(ours())
        long = replace(SHORT, watch_s=60.0, response_s=60.0)
        field = LiveRunBackend(connection(server, tmp_path), RUN, retry_policy=slow, watch_times=long)
        for _ in range(9):
            field.do(Cordon(name, uid))
        field.updates(0.2)
        assert len(ours()) == 7 and connections()
        begun_s = time.monotonic()
        field.close()
        took_s = time.monotonic() - begun_s
        assert set(ours()) == before and took_s < 5.0, "it waits 30 s where it waits"
        wait_until(lambda: not connections())
        assert field.updates(60.0) == () and time.monotonic() - begun_s < 30.0
        field.close()


def test_waiting_ends_when_something_is_told_and_not_before(api: Api, field: LiveRunBackend) -> None:
    all_seen(field)
    for _ in range(20):  # the last watches to start may still report objects
        begun_s = time.monotonic()
        if not field.updates(0.2):
            break
    assert 0.2 <= time.monotonic() - begun_s < 5.0
    name, uid = some_node(api)
    field.do(Cordon(name, uid))
    assert field.updates(float("inf"))


def test_a_connection_that_is_refused_for_a_moment_is_tried_again(api: Api, tmp_path: Path) -> None:
    """Nothing was sent, so that even a write may be retried."""
    name, uid = some_node(api)
    with serving(api) as server:
        to, port = connection(server, tmp_path), server.port
    patient = replace(HASTY, first_pause=0.2, max_pause=0.4, tries_to_connect=20)
    with closing(LiveRunBackend(to, RUN, retry_policy=patient, watch_times=SHORT)) as field:
        field.do(Cordon(name, uid))
        field.updates(0.3)
        with serving_again(api, port):
            assert [each.response for each in answers(field, 1)] == [ApiStatus(200)]  # type: ignore[union-attr]
    assert node_of(api, name)["spec"]["unschedulable"] is True


def test_a_plugin_that_fails_later_is_no_answer_to_an_act(api: Api, tmp_path: Path) -> None:
    plugin = kubeconfigs.plugin(tmp_path, "sys.exit('the session has expired') if runs() > 1 else say(token='token-1')")
    door = Doorkeeper(api)
    name, uid = some_node(api)
    with secured(door) as (url, ca):
        config = kubeconfigs.one(tmp_path / "config", url, ca, kubeconfigs.exec_user(plugin))
        with watching(config) as (field, _):
            door.good = "another"
            with pytest.raises(ClusterError, match="the session has expired"):
                answer_to(field, Cordon(name, uid))
                wait_until(lambda: bool(field.updates(0.1)) and False)
    assert door.turned_away


def test_a_server_that_is_not_there_is_lost_and_nothing_was_sent(api: Api, tmp_path: Path) -> None:
    with serving(api) as server:
        to = connection(server, tmp_path)
    with closing(LiveRunBackend(to, RUN, retry_policy=HASTY, watch_times=SHORT)) as field:
        name, uid = some_node(api)
        answer = answer_to(field, Cordon(name, uid))
    assert isinstance(answer, LostResponse) and "refused" in answer.message


# Which volumes are attached to a node, as a served cluster lists them.

ATTACHMENTS = kinds.VOLUME_ATTACHMENTS.full_name


def an_attachment(name: str, node: str, volume: str) -> Doc:
    source: Doc = {"persistentVolumeName": volume} if volume else {"inlineVolumeSpec": {}}
    spec: Doc = {"attacher": "ebs.csi.aws.com", "nodeName": node, "source": source}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": kinds.VOLUME_ATTACHMENTS.kind}
    return {**kind, "metadata": {"name": name}, "spec": spec, "status": {"attached": True}}


def attach(api: Api, *docs: Doc) -> None:
    def create(plane: ControlPlane) -> None:
        for doc in docs:
            plane.registry.create(ATTACHMENTS, doc)

    api.run_locked(create)


ON_A = ListAttachments("a")


def test_those_of_a_node_until_they_are_gone(api: Api, tmp_path: Path) -> None:
    """The attachments are listed page by page, without inline volumes of pods."""
    attach(api, *(an_attachment(f"csi-{i:02}", "ab"[i % 2], f"pv-{i:02}") for i in range(7)))
    attach(api, an_attachment("inline", "a", ""))
    with field_among(tmp_path, api, page_size=2) as field:
        assert answer_to(field, ON_A) == AttachedVolumes(ON_A, ("pv-00", "pv-02", "pv-04", "pv-06"))
        for name in ("csi-00", "csi-02", "csi-04", "csi-06"):
            api.run_locked(lambda plane, name=name: plane.registry.delete(plane.registry.get(ATTACHMENTS, ("", name))))
        assert answer_to(field, ON_A) == AttachedVolumes(ON_A)
        assert answer_to(field, ListAttachments("nowhere")) == AttachedVolumes(ListAttachments("nowhere"))


REFUSED = Fault(faults.forbidden_for(ATTACHMENTS), times=MIN_REFUSALS)


def test_without_the_right_it_is_said_and_everything_else_goes_on(api: Api, tmp_path: Path) -> None:
    """An API server that has just started may not know the roles yet, so that the request is retried a few times."""
    attach(api, an_attachment("csi-1", "a", "pv-1"))
    with field_among(tmp_path, api, REFUSED) as field:
        answer = answer_to(field, ON_A)
        assert isinstance(answer, AttachedVolumes) and answer.refused and not answer.volumes
        assert "list volumeattachments.storage.k8s.io" in answer.read_error
        assert answer_to(field, ON_A) == AttachedVolumes(ON_A, ("pv-1",)), "the field goes on"


def test_a_right_that_is_known_a_moment_later(api: Api, tmp_path: Path) -> None:
    attach(api, an_attachment("csi-1", "a", "pv-1"))
    once = Fault(faults.forbidden_for(ATTACHMENTS), times=MIN_REFUSALS - 1)
    with field_among(tmp_path, api, once) as field:
        assert answer_to(field, ON_A) == AttachedVolumes(ON_A, ("pv-1",))


@pytest.mark.parametrize(
    "instead",
    [
        FaultyAnswer(ApiStatus(404, "NotFound", "the server could not find the requested resource")),
        BrokenConnection(),
        CutShort(),
    ],
)
def test_what_cannot_be_read_is_unknown_and_nobody_insists(api: Api, tmp_path: Path, instead: Effect) -> None:
    fault = Fault(instead, path="/volumeattachments")
    with field_among(tmp_path, api, fault) as field:
        answer = answer_to(field, ON_A)
    assert isinstance(answer, AttachedVolumes) and answer.read_error and not answer.refused and not answer.volumes


# How often a read is retried, and when the retries end.


def insisted() -> tuple[Hands, FailureStreak]:
    hands = Hands(0.0)
    timing = Timing(hands.sleep, lambda: hands.seconds, lambda: 1.0)
    return hands, FailureStreak(RetryPolicy(), timing, give_up_s=60.0)


def test_a_read_that_only_fails_is_given_up_after_its_time() -> None:
    hands, insisting = insisted()
    with pytest.raises(GaveUp, match="500 broken"):
        while True:
            insisting.pause_after(ClusterError("500 broken"))
    assert 60.0 <= hands.seconds <= 70.0


def test_one_that_succeeds_now_and_then_never_is() -> None:
    hands, insisting = insisted()
    while hands.seconds < 1000.0:
        insisting.pause_after(ClusterError("500 broken"))
        insisting.pause_after(ClusterError("500 broken"))
        insisting.reset()
