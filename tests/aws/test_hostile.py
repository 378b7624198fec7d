"""An AWS whose answers never end: every request ends within the time limit for reading, with an error of this tool."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_eksdoc.aws import refusals
from kubectl_eksdoc.aws.asking import ask_concurrently, describe_cluster, get_caller
from kubectl_eksdoc.aws.refusals import LiveAws
from kubectl_eksdoc.bounds import ReadTime
from kubectl_eksdoc.errors import AwsError, AwsRefused
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.eks import AwsAccess
from tests.aws.answers import Scripted
from tests.fakes.apiserver import ApiServer, Reply, Request, json_reply
from tests.fakes.programs import program
from tests.kube.test_hostile import OK, for_ever

KEYS = (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"))
NO_FILES = (("AWS_CONFIG_FILE", "/dev/null"), ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"))
CNI = {"clusterName": "prod", "addonName": "vpc-cni"}


class Endpoint(ApiServer):
    def __init__(self, answering: Callable[[Request], Reply]) -> None:
        super().__init__()
        self._answering = answering

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        return self._answering(request)


def asked(url: str, read_s: float = 0.0, read_time: ReadTime | None = None, tries: int = 1) -> LiveAws:
    access = AwsAccess("prod", "eu-west-1", settings=(*KEYS, *NO_FILES))
    return LiveAws(access, url, tries, read_time=read_time, read_timeout=read_s)


SLOW = {
    "a body": (OK + b"\r\n", b"{"),
    "headers": (OK, b"X-A: b\r\n"),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.parametrize(
    "begin, part",
    [pytest.param(*each, marks=() if name == "a body" else pytest.mark.long, id=name) for name, each in SLOW.items()],
)
def test_what_drips_ends_with_the_time_for_reading(begin: bytes, part: bytes) -> None:
    with Endpoint(lambda _: Reply(raw=for_ever(begin, part), drip=0.01)) as server:
        aws, begun = asked(server.url, 0.5), time.monotonic()
        with pytest.raises(AwsError, match=r"AWS and the cluster cannot be read within 0.5 s") as caught:
            aws.ask(questions.ADDON, CNI)
    assert caught.value.exit_code == 4 and "--read-timeout" in caught.value.hint
    assert time.monotonic() - begun < 10


@pytest.mark.long
def test_an_answer_larger_than_any() -> None:
    server = Endpoint(lambda _: Reply(raw=for_ever(OK + b"\r\n", b" " * 60_000)))
    with server, pytest.raises(AwsError, match=r"the answer to eks:DescribeAddon has more than 128 MiB"):
        asked(server.url).ask(questions.ADDON, CNI)


def pages(token: Callable[[int], str]) -> Callable[[Request], Reply]:
    count = itertools.count()

    def page(_request: Request) -> Reply:
        number = next(count)
        return json_reply({"addons": [f"a{number}"], "nextToken": token(number)})

    return page


def test_a_token_that_comes_twice() -> None:
    with Endpoint(pages(lambda _: "t")) as server:
        with pytest.raises(AwsError, match="next token was received twice"):
            asked(server.url, 20.0).ask(questions.ADDONS, {"clusterName": "prod"})
        assert len(server.requests) == 2


def test_pages_without_an_end() -> None:
    with Endpoint(pages(lambda number: f"t{number}")) as server:
        with pytest.raises(AwsError, match=r"cannot be read within 0.5 s"):
            asked(server.url, 0.5).ask(questions.ADDONS, {"clusterName": "prod"})
        assert len(server.requests) > 2


@pytest.mark.long
def test_what_is_asked_at_once_has_the_time_together() -> None:
    """More requests than run at once: a request that waits for the others does not get a new time limit."""
    with Endpoint(lambda _: Reply(delay=30.0)) as server:
        aws, begun = asked(server.url, 1.0), time.monotonic()
        with pytest.raises(AwsError, match="cannot be read within 1 s"):
            ask_concurrently(range(30), lambda _: aws.ask(questions.ADDON, CNI))
        assert len(server.requests) <= refusals.MAX_CONCURRENT_REQUESTS
    assert time.monotonic() - begun < 10


def test_what_reading_the_cluster_took_is_not_there_for_aws() -> None:
    now = [0.0]
    read_time = ReadTime(lambda: now[0])
    with Endpoint(lambda _: json_reply({"addon": {}})) as server:
        aws = asked(server.url, 10.0, read_time)
        assert aws.ask(questions.ADDON, CNI) == {"addon": {}}
        with read_time.counting():
            now[0] += 11.0
        with pytest.raises(AwsError, match="cannot be read within 10 s"):
            aws.ask(questions.ADDON, CNI)
        assert len(server.requests) == 1


def test_the_first_observation_includes_what_came_before_it() -> None:
    now = [0.0]
    read_time = ReadTime(lambda: now[0])
    with read_time.counting():
        now[0] += 4.0
    read_time.start_observation()
    assert read_time.left_s(10.0) == 6.0, "AWS was asked before, by the same command"
    read_time.start_observation()
    assert read_time.left_s(10.0) == 10.0


@pytest.mark.parametrize("body", [b"[" * 100_000, b"[]"])
def test_an_answer_that_is_none(body: bytes) -> None:
    server = Endpoint(lambda _: Reply(200, {"Content-Type": "application/json"}, body))
    with server, pytest.raises(AwsRefused, match=r"the answer to eks:DescribeAddon is not what it should be"):
        asked(server.url).ask(questions.ADDON, CNI)


@pytest.mark.parametrize(("status", "body"), [(200, b""), (403, b"<html><p>Sign in"), (500, b"\0" * 10_000)])
def test_an_answer_that_is_no_xml(status: int, body: bytes) -> None:
    """The answer of a login page, for example: STS, EC2 and SQS answer in XML."""
    with Endpoint(lambda _: Reply(status, {}, body)) as server, pytest.raises(AwsError) as caught:
        asked(server.url).ask(questions.CALLER, {})
    assert caught.value.exit_code == 4 and len(caught.value.message) < 500


@pytest.mark.long
@pytest.mark.parametrize("source", ["time.sleep(60)", "[print('x' * 65536) for _ in range(10**6)]"])
def test_a_credential_process_without_an_end(tmp_path: Path, source: str) -> None:
    noted = tmp_path / "pid"
    begin = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); "
    script = program(tmp_path / "credentials", sys.executable, "-c", begin + source)
    config = tmp_path / "config"
    config.write_text(f"[default]\ncredential_process = {json.dumps(str(script))}\n")
    access = AwsAccess("prod", "eu-west-1", settings=(("AWS_CONFIG_FILE", str(config)), NO_FILES[1]))
    aws, begun = LiveAws(access, "http://127.0.0.1:9", 1, read_timeout=4.0), time.monotonic()
    with pytest.raises(AwsError) as caught:
        aws.ask(questions.ADDON, CNI)
    endless = "printed more than 1 MiB" if "print" in source else "cannot be"
    assert endless in caught.value.message and caught.value.exit_code == 4
    assert time.monotonic() - begun < 20
    assert not Path(f"/proc/{noted.read_text()}").exists(), "nor does it go on"


@pytest.mark.parametrize("field", ["endpoint", "createdAt"])
def test_a_cluster_that_is_described_with_lists(field: str) -> None:
    """A snapshot that a user has edited may contain any values."""
    edited = Scripted({"eks:DescribeCluster": {"cluster": {"name": "prod", "version": "1.33", field: ["x"]}}})
    with pytest.raises(AwsRefused, match=f"the answer to eks:DescribeCluster is not what it should be.*{field}"):
        describe_cluster(edited, "prod")


def test_a_caller_that_is_described_with_lists() -> None:
    with pytest.raises(AwsRefused, match="Arn is a text"):
        get_caller(Scripted({"sts:GetCallerIdentity": {"Account": "111122223333", "Arn": ["x"]}}))
