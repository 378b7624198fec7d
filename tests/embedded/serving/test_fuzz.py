"""Invalid requests get a Status that names the client as the cause, never a server error."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.embedded.serving.protobuf import MAGIC, UnsupportedMessage, decode
from kubectl_eksdoc.embedded.serving.requests import Reply, ServedRequest
from kubectl_eksdoc.kubernetes.api.shapes import STRUCTS
from tests.embedded.clients import worlds
from tests.examples import examples

ADMIN = {"authorization": f"Bearer {worlds.ADMIN_TOKEN}"}

PATHS = (
    "/api/v1/pods",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/pods/trap-bare",
    "/api/v1/nodes",
    "/apis/apps/v1/deployments",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
)
NO_PATHS = st.builds(
    lambda before, path: before + path,
    st.sampled_from(["/", "/api/v1/", "/apis/apps/v1/", "/api/v1/namespaces/default/pods/trap-bare/"]),
    st.text(st.characters(codec="utf-8"), max_size=40),
)
VALUES = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=30),  # as paths and queries are decoded
    st.integers().map(str),
    st.sampled_from(
        [
            *("0", "-1", "1", "7", "99999999999999999999", "9" * 5000, "1e9", "²", "٣", "true", "false", "All", "None"),
            *("Exact", "NotOlderThan", "a=b", "a in (b", "a in (b,c)", "!a", "a,b", "a==b,c!=d", ",", "=", "a>1"),
            *("metadata.name=x", "spec.nodeName!=", "spec.nodeName", "status.phase=Running,", "e30", "e30=", "bnVsbA"),
            *("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAwLCJzdGFydCI6ImEifQ", "W10", "\0", "\ufffd"),
        ]
    ),
)
NAMES = st.sampled_from(
    [
        *("limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector"),
        *("timeoutSeconds", "watch", "allowWatchBookmarks", "sendInitialEvents", "includeObject", "dryRun"),
        *("fieldManager", "force", "fieldValidation", "gracePeriodSeconds", "propagationPolicy", "pretty", "container"),
    ]
)
QUERIES = st.dictionaries(NAMES, st.lists(VALUES, min_size=1, max_size=2).map(tuple), max_size=4)
ACCEPTS = st.sampled_from(
    [
        *("", "*/*", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io", "text/html", ";;;,,=q=x"),
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf",
    ]
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"])
PATCHES = ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml", "json", "yaml", "")
WORDS = (
    "metadata name namespace labels annotations finalizers ownerReferences uid spec status containers selector "
    "matchLabels template replicas conditions kind apiVersion deleteOptions preconditions dryRun gracePeriodSeconds "
    "minAvailable maxUnavailable nodeName taints generateName managedFields $patch resourceVersion op path value type "
    "key data phase containerStatuses"
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS.split()), inner, max_size=5)
    ),
    max_leaves=25,
)


@cache
def the_api() -> Api:
    return worlds.api_of("small-traps", ManualTime())


def asked(request: ServedRequest) -> Reply:
    """The answer, which must be valid."""
    api = the_api()
    api.internal_errors.clear()
    reply = api.handle(request)
    assert not api.internal_errors, f"{request}: {api.internal_errors[0]!r}"
    assert reply.status < 500 or (reply.status == 504 and b"Too large resource version" in reply.body)
    if reply.stream is not None:
        assert reply.status == 200
        first = next(reply.stream)
        reply.stream.close()  # type: ignore[attr-defined]
        assert all(json.loads(line)["type"] for line in first.splitlines())
    elif reply.status >= 400:
        said = json.loads(reply.body)
        assert said["kind"] == "Status" and said["status"] == "Failure" and said["code"] == reply.status
    elif reply.content_type == "application/json" and reply.body:
        json.loads(reply.body)
    return reply


@settings(max_examples=examples(300))
@given(method=METHODS, path=st.sampled_from(PATHS) | NO_PATHS, query=QUERIES, accept=ACCEPTS)
def test_paths_and_queries(method: str, path: str, query: dict[str, tuple[str, ...]], accept: str) -> None:
    if path in PATHS:
        asked(ServedRequest("GET", path, query, {**ADMIN, "accept": accept}))
    else:
        reply = the_api().handle(ServedRequest(method, path, query, ADMIN))
        assert reply.status < 500 and not the_api().internal_errors


@settings(max_examples=examples(150))
@given(method=METHODS, path=st.sampled_from(PATHS), body=JSON, content=st.sampled_from(PATCHES), query=QUERIES)
def test_bodies(method: str, path: str, body: Any, content: str, query: dict[str, tuple[str, ...]]) -> None:
    """The requests also change the cluster, and every client can list the objects that they left."""
    headers = {**ADMIN, "content-type": f"application/{content}"}
    asked(ServedRequest(method, path, query, headers, json.dumps(body).encode("utf-8", "replace")))
    table = {**ADMIN, "accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    asked(ServedRequest("GET", path, {}, table))


@settings(max_examples=examples(150))
@given(
    body=JSON, what=st.sampled_from(["eviction", "scale", "status", "binding", "log", "token", "ephemeralcontainers"])
)
def test_subresources(body: Any, what: str) -> None:
    raw = json.dumps(body).encode("utf-8", "replace")
    for method in ("GET", "POST", "PUT", "PATCH"):
        for of in ("/api/v1/namespaces/default/pods/trap-bare", "/apis/apps/v1/namespaces/default/deployments/app-0"):
            reply = the_api().handle(ServedRequest(method, f"{of}/{what}", {}, ADMIN, raw))
            assert reply.status < 500 or reply.status == 501
            assert not the_api().internal_errors, f"{method} {of}/{what} {body}: {the_api().internal_errors[0]!r}"


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


MESSAGES = st.recursive(
    st.one_of(st.binary(max_size=6), st.text(max_size=6).map(str.encode), st.integers(0, 2**64 - 1)),
    lambda inner: st.lists(st.tuples(st.integers(1, 15), inner), max_size=4).map(
        lambda fields: b"".join(field(number, value) for number, value in fields)
    ),
    max_leaves=12,
)


@settings(max_examples=examples(150))
@given(kind=st.sampled_from(sorted(STRUCTS)), inner=MESSAGES, path=st.sampled_from(PATHS), method=METHODS)
def test_protobuf_of_what_might_be(kind: str, inner: bytes | int, path: str, method: str) -> None:
    version, _, name = kind.rpartition("/")
    body = MAGIC + field(1, field(1, (version or "v1").encode()) + field(2, name.encode())) + field(2, inner)
    try:
        decode(body)
    except UnsupportedMessage:
        pass
    headers = {**ADMIN, "content-type": "application/vnd.kubernetes.protobuf"}
    asked(ServedRequest(method, path, {"dryRun": ("All",)}, headers, body))


@pytest.mark.long
def test_very_deep_bodies() -> None:
    deep = b"[" * 20_000
    for content in ("application/json", "application/apply-patch+yaml"):
        reply = asked(ServedRequest("POST", "/api/v1/nodes", {}, {**ADMIN, "content-type": content}, deep))
        assert reply.status == 400
    nested = b""
    for _ in range(2000):
        nested = field(2, nested)
    headers = {**ADMIN, "content-type": "application/vnd.kubernetes.protobuf"}
    kind = field(1, field(1, b"v1") + field(2, b"Namespace"))
    assert asked(ServedRequest("POST", "/api/v1/namespaces", {}, headers, MAGIC + kind + nested)).status == 415


@settings(max_examples=examples(300))
@given(body=st.binary(max_size=200), start=st.sampled_from([b"", MAGIC, MAGIC + b"\x0a"]))
def test_protobuf_of_random_bytes(body: bytes, start: bytes) -> None:
    try:
        decode(start + body)
    except UnsupportedMessage:
        pass
