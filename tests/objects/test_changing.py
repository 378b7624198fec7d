"""Pages of lists and lines of watches become facts with versions, or a sentence that says which object cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.objects.collector import BadObject
from kubectl_eksdoc.objects.held import Changing, FactEvent, FactEventKind

PATH = "/api/v1/pods"


def a_pod(**meta: Any) -> dict[str, Any]:
    given = {"name": "web-0", "namespace": "shop", "uid": "uid-0", "resourceVersion": "41", **meta}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {key: value for key, value in given.items() if value is not None},
        "spec": {"nodeName": "node-1"},
        "status": {"phase": "Running"},
    }


def line(kind: str, document: Any) -> bytes:
    return json.dumps({"type": kind, "object": document}).encode()


def event(kind: str, document: Any) -> FactEvent:
    return Changing(kinds.PODS).event(line(kind, document), PATH)


@pytest.mark.parametrize(
    ("kind", "what"), [("ADDED", FactEventKind.IS), ("MODIFIED", FactEventKind.IS), ("DELETED", FactEventKind.GONE)]
)
def test_an_event_is_a_fact_with_its_version(kind: str, what: FactEventKind) -> None:
    found = event(kind, a_pod())
    assert (found.what, found.version) == (what, 41)
    assert isinstance(found.fact, Pod)
    assert (found.fact.key, found.fact.uid, found.fact.node) == ("shop/web-0", "uid-0", "node-1")


def test_a_bookmark_is_a_version() -> None:
    blank = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "12746", "creationTimestamp": None}}
    assert event("BOOKMARK", {**blank, "spec": {"containers": None}, "status": {}}) == FactEvent(
        FactEventKind.BOOKMARK, 12746
    )


def test_an_error_is_its_status() -> None:
    status = {"kind": "Status", "metadata": {}, "status": "Failure", "message": "too old", "reason": "Expired"}
    assert event("ERROR", {**status, "code": 410}) == FactEvent(FactEventKind.ERROR, code=410, said="too old")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (line("ADDED", a_pod(resourceVersion=None)), "Pod shop/web-0 has no resourceVersion that is a number: None"),
        (line("ADDED", a_pod(resourceVersion="x1")), "'x1'"),
        (line("ADDED", a_pod(name=None)), "lacks its name"),
        (line("ADDED", {**a_pod(), "kind": "Node"}), "Node web-0 among pods"),
        (line("ADDED", {**a_pod(), "status": "ok"}), "Pod shop/web-0: Expected"),
        (line("DELETED", {**a_pod(), "spec": {"tolerations": 1}}), r"Pod shop/web-0: .*\$\.spec\.tolerations"),
        (line("BOOKMARK", {"metadata": {}}), "a bookmark has no resourceVersion"),
        (line("CHANGED", a_pod()), "'CHANGED'"),
        (b"<html>", "a line of a watch of pods"),
    ],
)
def test_what_cannot_be_is_named(bad: bytes, said: str) -> None:
    with pytest.raises(BadObject, match=said) as caught:
        Changing(kinds.PODS).event(bad, PATH)
    assert str(caught.value).startswith(f"{PATH}: ")


def a_list(*items: Any, **meta: Any) -> bytes:
    return json.dumps({"kind": "PodList", "metadata": {"resourceVersion": "99", **meta}, "items": items}).encode()


def test_a_page() -> None:
    bare = {key: value for key, value in a_pod().items() if key not in ("kind", "apiVersion")}
    page = Changing(kinds.PODS).page(a_list(bare, a_pod(name="web-1", resourceVersion="7"), **{"continue": "t"}), PATH)
    assert [(pod.name, version) for pod, version in page.items] == [("web-0", 41), ("web-1", 7)]
    assert (page.version, page.continue_token) == (99, "t")


def test_a_page_without_items_has_none() -> None:
    page = Changing(kinds.PODS).page(b'{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":null}', PATH)
    assert (page.items, page.version, page.continue_token) == ([], 5, "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (json.dumps(a_pod()).encode(), "expected a list of pods, got an object of kind Pod"),
        (a_list(a_pod(), {**a_pod(), "status": 3}), "Pod shop/web-0"),
        (a_list(a_pod(), resourceVersion=None), "the list of pods has no resourceVersion"),
        (a_list(a_pod())[:-5], "Pod list"),
    ],
)
def test_a_page_that_cannot_be_is_named(body: bytes, said: str) -> None:
    with pytest.raises(BadObject, match=said):
        Changing(kinds.PODS).page(body, PATH)
