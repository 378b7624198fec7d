"""This project's own reader with injected faults: it reads the same facts, or reports in one sentence why not, and
never returns a part as the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.exchanges import RetryPolicy, Timing
from kubectl_eksdoc.kube.reader import LiveReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.kinds import ReadState, Resource
from tests.embedded.clients import worlds
from tests.embedded.clients.among_faults import MET, OF_READING, served
from tests.examples import one_in
from tests.fakes import kubeconfigs

PAGE = 50
HASTY = RetryPolicy(silence_timeout=0.3)
NO_TIME = Timing(sleep=lambda seconds: None)

OVERCOME = OF_READING - {"forbidden"}
"""Those that trying again gets the better of, unless there are too many."""


@pytest.fixture(scope="module")
def api() -> Api:
    return worlds.api_of("small-traps", ManualTime(), pace=None)


def read(api: Api, folder: Path, *faults: str, seed: int = 0, resources: Sequence[Resource] = kinds.ALL) -> Cluster:
    with served(api, *faults, seed=seed) as server:
        config = kubeconfigs.one(folder / "config", server.url(worlds.ADMIN_TOKEN))
        patience = HASTY if faults else RetryPolicy()  # without a fault nothing is given up on a busy machine
        reader = LiveReader(Connection(kubeconfig=config, page_size=PAGE), retry_policy=patience, timing=NO_TIME)
        return reader.read(resources)


@pytest.fixture(scope="module")
def without(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The facts that are read without a fault."""
    yield read(api, tmp_path_factory.mktemp("whole"))


def facts(cluster: Cluster) -> Cluster:
    """The facts, without data on how they were read."""
    return replace(cluster, reads=(), identity=replace(cluster.identity, server_version=""), observed_at=worlds.START)


def read_well(cluster: Cluster) -> list[Resource]:
    return [each.resource for each in cluster.reads if each.state is ReadState.READ]


def tried(api: Api, folder: Path, fault: str, seed: int) -> Cluster | None:
    """The facts, complete or marked as incomplete; None where the reader failed with one sentence."""
    try:
        found = read(api, folder, fault, seed=seed)
    except ClusterError as error:
        assert type(error) is not ClusterError and error.exit_code == 3
        assert "\n" not in error.message and "Traceback" not in str(error) and len(error.message) > 20
        return None
    assert all(each.detail for each in found.reads if each.state in (ReadState.FAILED, ReadState.FORBIDDEN))
    alone = read(api, folder, resources=read_well(found))
    assert facts(found) == facts(alone), "of a resource there is all or nothing"
    return found


@pytest.mark.parametrize("name", one_in(4, sorted(OF_READING)))
@pytest.mark.parametrize("share", ["5%", *(pytest.param(share, marks=pytest.mark.long) for share in ("30%", "60%"))])
def test_the_same_facts_or_a_sentence(api: Api, without: Cluster, tmp_path: Path, name: str, share: str) -> None:
    for seed in (1,) if share == "5%" else (1, 2):
        found = tried(api, tmp_path, f"{name}@{share}", seed)
        if share == "5%" and name in OVERCOME:
            assert found is not None and facts(found) == facts(without), "so few are overcome"


def test_faults_of_writes_evictions_and_watches_are_not_met(api: Api, without: Cluster, tmp_path: Path) -> None:
    others = [f"{name}@30%" for name in MET if name not in OF_READING]
    assert len(others) > 10 and facts(read(api, tmp_path, *others, seed=1)) == facts(without)
    assert facts(read(api, tmp_path, "list-expired")) == facts(without), "it is read in one answer"


@pytest.mark.parametrize("name", sorted(OF_READING - {"slow", "list-expired"}))
def test_where_every_request_meets_it_the_reader_gives_up(api: Api, tmp_path: Path, name: str) -> None:
    with pytest.raises(ClusterError):
        read(api, tmp_path, name)


def test_one_resource_that_is_refused_is_named_and_the_others_are_read(api: Api, tmp_path: Path) -> None:
    found = read(api, tmp_path, "forbidden=poddisruptionbudgets.policy")
    refused = [each for each in found.reads if each.state is ReadState.FORBIDDEN]
    assert [each.resource for each in refused] == [kinds.BUDGETS] and not found.budgets
    assert "list poddisruptionbudgets.policy" in refused[0].detail
