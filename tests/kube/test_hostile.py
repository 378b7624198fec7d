"""Servers whose answers never end: each read ends with one of our errors and uses little time and memory."""

from __future__ import annotations

import gzip
import itertools
import json
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import kubernetes.client  # noqa: F401 (loading it takes longer than a request may here)
import pytest

from kubectl_eksdoc.bounds import MAX_HEAD_BYTES, ReadTime
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.config import open_access
from kubectl_eksdoc.kube.exchanges import RetryPolicy, Timing
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.kube.responses import Incomplete, ReadTimeout, RequestRefused
from kubectl_eksdoc.kube.target import Credential, CredentialContext, Credentials
from kubectl_eksdoc.kube.transport import MAX_EMPTY_PAGES, Transport
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from tests.examples import one_in
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer, Reply, Request, json_reply, refused

PODS, NODES = kinds.PODS.path, kinds.NODES.path
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A server without TLS: the tested behaviour is below HTTP, and the same with TLS."""
    with ApiServer() as running:
        yield running


@pytest.fixture
def config(server: ApiServer, tmp_path: Path) -> str:
    return kubeconfigs.one(tmp_path / "config", server.url)


def for_ever(begin: bytes, *parts: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: itertools.chain([begin], itertools.cycle(parts))


@pytest.fixture
def failure(config: str, around: CredentialContext) -> Callable[..., ClusterError]:
    """The error of one request for pods."""

    def of(**flags: Any) -> ClusterError:
        timing = Timing(lambda _: None, chance=lambda: 1.0)
        transport = Transport(open_access(Connection(kubeconfig=config, **flags), around), timing=timing)
        with pytest.raises(ClusterError) as caught:
            transport.get(PODS)
        assert caught.value.exit_code == 3
        return caught.value

    return of


SLOW = {
    "head": (b"", b"H"),
    "headers": (OK, b"X-A: b\r\n"),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": (OK + b"\r\n", b"{"),
    "chunks": (CHUNKED, b"1\r\n{\r\n"),
    "trailers": (CHUNKED + b"0\r\n", b"A: b\r\n"),
    "refusal": (b"HTTP/1.1 500 Oh\r\n\r\n", b"{"),
}
"""Each part comes well before anybody would call the server silent."""


@pytest.mark.parametrize("begin, part", one_in(4, SLOW.values()), ids=SLOW)
@pytest.mark.parametrize("flag", ["request_timeout", "read_timeout"])
def test_what_drips_ends_with_its_time(server: ApiServer, failure: Any, begin: bytes, part: bytes, flag: str) -> None:
    server.always[PODS] = lambda _: Reply(raw=for_ever(begin, part), drip=0.01)
    flags = {"request_timeout": 0.0, "read_timeout": 0.0, flag: 0.15}
    error = failure(**flags)
    assert "within 0.15 s" in error.message
    assert f"--{flag.replace('_', '-')}" in error.hint
    assert isinstance(error, ReadTimeout) is (flag == "read_timeout") and ("pages" not in error.hint or begin)
    assert len(server.asked(PODS)) == 1


HEADS = {
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "headers of interim answers": (b"", b"HTTP/1.1 100 Continue\r\nX-A: " + b"b" * 60_000 + b"\r\n\r\n"),
}


@pytest.mark.parametrize("begin, part", HEADS.values(), ids=HEADS)
def test_a_head_without_an_end(server: ApiServer, failure: Any, begin: bytes, part: bytes) -> None:
    server.always[PODS] = lambda _: Reply(raw=for_ever(begin, part))
    error = failure()
    assert f"sent a head of more than {MAX_HEAD_BYTES >> 20} MiB" in error.message


def bomb() -> tuple[bytes, bytes]:
    """The start of a gzip stream, and some KiB that continue it: each expands to a MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, more = (packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first, more


LARGE = {
    "body": (OK + b"\r\n", b" " * 60_000),
    "chunks": (CHUNKED, b"8000\r\n" + b" " * 0x8000 + b"\r\n"),
    "trailers": (CHUNKED + b"0\r\n", b"A: b\r\n" * 1000),
    "bomb": (OK + b"Content-Encoding: gzip\r\n\r\n" + bomb()[0], bomb()[1]),
}


@pytest.mark.parametrize("begin, part", LARGE.values(), ids=LARGE)
def test_no_more_is_taken_than_the_largest_answer(
    server: ApiServer, config: str, around: CredentialContext, begin: bytes, part: bytes
) -> None:
    server.always[PODS] = lambda _: Reply(raw=for_ever(begin, part))
    transport = Transport(open_access(Connection(kubeconfig=config), around), RetryPolicy(max_response_bytes=1 << 20))
    transport.get("/version")  # loads libraries
    tracemalloc.start()
    try:
        with pytest.raises(RequestRefused, match="sent more than 1 MiB in one answer"):
            transport.get(PODS)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 6 << 20, most
    assert len(server.asked(PODS)) == 1


@pytest.mark.parametrize(
    ("begin", "part", "said"),
    [
        (OK, b"X-A: b\r\n", "100 headers"),
        (b"HTTP/1.1 503 Oh\r\n", b"X-A: b\r\n", "100 headers"),
        (CHUNKED, b"0" * 60_000, "65536 bytes"),
    ],
)
def test_headers_without_an_end_are_no_answer_that_broke_off(
    server: ApiServer, failure: Any, begin: bytes, part: bytes, said: str
) -> None:
    server.always[PODS] = lambda _: Reply(raw=for_ever(begin, part))
    error = failure()
    assert f"answered as no API server does: got more than {said}" in error.message
    assert len(server.asked(PODS)) == 1 and "address of a Kubernetes API" in error.hint


def test_what_comes_before_a_request_is_a_part_of_the_time(
    server: ApiServer, config: str, around: CredentialContext
) -> None:
    """Examples: a name that does not resolve, addresses that are tried one after the other, a plugin that does not
    end."""

    over = threading.Event()

    def slow() -> Credential:
        over.wait(5)
        return Credential()

    access = open_access(Connection(kubeconfig=config, read_timeout=0.3), around)
    transport = Transport(replace(access, credentials=Credentials(slow, around.now)))
    begun = time.monotonic()
    with pytest.raises(ReadTimeout, match="cannot be read within 0.3 s"):
        transport.get(PODS)
    assert time.monotonic() - begun < 4
    over.set()


def test_what_is_encoded_in_another_way_is_not_opened(server: ApiServer, failure: Any) -> None:
    encoding = "gzip, gzip"
    body = gzip.compress(gzip.compress(b"{}"))
    head = {"Content-Type": "application/json", "Content-Encoding": encoding}
    server.always[PODS] = lambda _: Reply(200, head, body)
    error = failure()
    assert f"in encoding {encoding!r}" in error.message
    assert len(server.asked(PODS)) == 1


def page(request: Request, token: str, *items: Any) -> Reply:
    metadata = {"resourceVersion": "1", "continue": token}
    kind = "PodList" if request.path == PODS else "NodeList"
    return json_reply({"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": list(items)})


@pytest.fixture
def read(config: str, around: CredentialContext) -> Callable[[], Cluster]:
    return lambda: LiveReader(Connection(kubeconfig=config), credential_context=around).read(kinds.ALL)


@pytest.mark.parametrize(
    ("token", "asked", "said"),
    [
        (
            lambda number: f"t{number % 2}",
            3,
            "pods does not end: the server sent the same continue token twice",
        ),
        (
            lambda number: f"t{number}",
            MAX_EMPTY_PAGES + 1,
            "pods does not end: the server sent 101 pages without",
        ),
        (lambda number: "t" * 100_000, 1, "a continue token of 100000 characters"),
    ],
)
def test_pages_that_lead_nowhere(
    server: ApiServer, read: Any, token: Callable[[int], str], asked: int, said: str
) -> None:
    count = itertools.count()
    server.always[PODS] = lambda request: page(request, token(next(count)))
    with pytest.raises(RequestRefused, match=said):
        read()
    assert len(server.asked(PODS)) == asked


class Passing:
    """A clock that advances by a second at each read and at each sleep."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def passing(around: CredentialContext) -> tuple[CredentialContext, Timing]:
    clock = Passing()
    return replace(around, read_time=ReadTime(clock)), Timing(clock.sleep, chance=lambda: 1.0)


def test_pages_of_objects_for_ever_end_with_the_time_for_reading(
    server: ApiServer, config: str, around: CredentialContext
) -> None:
    count = itertools.count()
    node = json.loads(json.dumps(server.lists[kinds.NODES][0]))

    def more(request: Request) -> Reply:
        name = f"n{next(count)}"
        return page(request, name, {**node, "metadata": {**node["metadata"], "name": name}})

    server.always[NODES] = more
    virtual, timing = passing(around)
    with pytest.raises(ReadTimeout, match=r"cannot be read within 300 s") as caught:
        LiveReader(Connection(kubeconfig=config), credential_context=virtual, timing=timing).read(kinds.ALL)
    assert caught.value.exit_code == 3
    assert 20 < len(server.asked(NODES)) < 300


def test_waits_that_a_server_asks_for_are_part_of_the_time(
    server: ApiServer, config: str, around: CredentialContext
) -> None:
    server.always[NODES] = lambda _: refused("later", "TooManyRequests", 429, **{"Retry-After": "999999999"})
    virtual, timing = passing(around)
    transport = Transport(open_access(Connection(kubeconfig=config, read_timeout=40.0), virtual), timing=timing)
    with pytest.raises(ReadTimeout, match="cannot be read within 40 s"):
        transport.get(NODES)
    assert len(server.asked(NODES)) == 2, "the second wait of 30 s would be longer than what is left"


def test_what_goes_on_for_hours_has_no_end_of_its_time(
    server: ApiServer, config: str, around: CredentialContext
) -> None:
    virtual, timing = passing(around)
    access = open_access(Connection(kubeconfig=config, read_timeout=30.0), virtual)
    going_on = Transport(access, timing=timing, counts_read_time=False)
    for _ in range(40):
        assert going_on.get("/version").status == 200
    with pytest.raises(ReadTimeout):
        for _ in range(40):
            Transport(access, timing=timing).get("/version")


def test_too_little_memory_is_no_bug(server: ApiServer, config: str, around: CredentialContext) -> None:
    def full(_plural: str, _count: int) -> None:
        raise MemoryError

    with pytest.raises(Incomplete, match="this machine has too little memory for what .* sent") as caught:
        LiveReader(Connection(kubeconfig=config), full, credential_context=around).read(kinds.ALL)
    assert caught.value.exit_code == 3
