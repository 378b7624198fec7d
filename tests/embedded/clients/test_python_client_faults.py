"""The official Python client among faults: it lists the same pods, or says plainly that it does not."""

from __future__ import annotations

from functools import partial

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from tests.embedded.clients import worlds
from tests.embedded.clients.among_faults import OF_READING, served
from tests.embedded.clients.programs import at_once

CODES = {"server-error": 500, "server-timeout": 504, "forbidden": 403, "list-expired": 410}
"""Of answers that the client does not try again."""

LISTS = 5


@pytest.fixture(scope="module")
def api() -> Api:
    return worlds.api_of("small-traps", ManualTime(), pace=None)


def listed(core: client.CoreV1Api) -> list[str] | ApiException | HTTPError:
    """The pods' names, or what it says instead."""
    names, token = [], None
    try:
        while token != "":
            page = core.list_pod_for_all_namespaces(limit=50, _continue=token, _request_timeout=(2.0, 0.3))
            names += [pod.metadata.name for pod in page.items]
            token = page.metadata._continue or ""
    except (ApiException, HTTPError) as error:
        return error
    return names


def lists(api: Api, *faults: str) -> list[list[str] | ApiException | HTTPError]:
    with served(api, *faults, seed=3) as server:
        configuration = client.Configuration(host=server.url())
        configuration.api_key["authorization"] = f"Bearer {worlds.ADMIN_TOKEN}"
        with client.ApiClient(configuration) as connected:
            core = client.CoreV1Api(connected)
            return [listed(core) for _ in range(LISTS)]


@pytest.fixture(scope="module")
def whole(api: Api) -> list[str]:
    """The list, of which nothing is lost."""
    first, *others = [each for each in lists(api) if isinstance(each, list)]
    assert others == [first] * (LISTS - 1)
    return first


@pytest.mark.long
def test_a_list_is_whole_or_refused(api: Api, whole: list[str]) -> None:
    at_once(*(partial(among, api, whole, name) for name in sorted(OF_READING - {"throttled", "unavailable"})))


def among(api: Api, whole: list[str], name: str) -> None:
    found = lists(api, f"{name}@30%")
    refused = [each for each in found if not isinstance(each, list)]
    assert all(each == whole for each in found if isinstance(each, list)), name
    assert len(refused) < LISTS, f"{name}: trying again helps"
    if name in CODES:
        assert refused and {getattr(each, "status", None) for each in refused} == {CODES[name]}


@pytest.mark.long
def test_what_says_when_to_come_again_is_asked_again(api: Api, whole: list[str]) -> None:
    """After a second on the wall."""
    at_once(*(partial(patient, api, whole, name) for name in ("throttled", "unavailable")))


def patient(api: Api, whole: list[str], name: str) -> None:
    found = lists(api, f"{name}@30%")
    assert sum(isinstance(each, list) for each in found) >= LISTS - 1
    assert all(each == whole for each in found if isinstance(each, list))
