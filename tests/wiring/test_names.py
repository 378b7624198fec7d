"""Names for completion: requested once, cached, and offered if the source gives no answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.completion_names import (
    OFFLINE_VARIABLE,
    BackgroundReads,
    NameQuery,
    cached_names,
    local_changes,
    local_runs,
)
from kubectl_eksdoc.host.cache import NameCache, decode_names, encode_names
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.names import CompletionName, NameKind
from kubectl_eksdoc.session.sources import SourceChoice
from tests.fakes import kubeconfigs
from tests.fakes.apiserver import ApiServer, Reply, json_reply

NODES = (CompletionName("n-0"), CompletionName("n-1"))


@dataclass
class Desk:
    """A user's home. `begun`: the background tasks, which run at once unless it is `late`."""

    home: Path
    server: ApiServer
    late: bool = False
    begun: list[Callable[[], object]] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kubeconfigs.one(self.home / ".kube" / "config", self.server.url)
        self.server.lists[kinds.NODES] = [{"metadata": {"name": name.text}} for name in NODES]

    def begin(self, work: Callable[[], object], wait_s: float, longest_s: float) -> None:
        self.begun.append(work)
        if not self.late:
            work()

    def asks(self, kind: NameKind = NameKind.NODES, **connection: str) -> tuple[CompletionName, ...]:
        asked = NameQuery(kind, SourceChoice(), Connection(**connection))  # type: ignore[arg-type]
        return cached_names(asked, self.environ, str(self.home), BackgroundReads(self.begin, 0.1))

    def aged(self, asked_s: float, seen_s: float) -> None:
        """Make the cached names that much older."""
        for path in (self.home / ".cache" / "eksdoc").glob("*.names"):
            known = decode_names(path.read_bytes())
            assert known is not None
            path.write_bytes(
                encode_names(
                    replace(known, requested_at=known.requested_at - asked_s, received_at=known.received_at - seen_s)
                )
            )
        for path in (self.home / ".cache" / "eksdoc").glob("*.asking"):
            path.unlink()

    def begun_earlier(self, by_s: float) -> None:
        """Set the start of the current request that much earlier."""
        for path in (self.home / ".cache" / "eksdoc").glob("*.asking"):
            path.write_text(repr(float(path.read_text()) - by_s))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with ApiServer() as server:
        yield Desk(tmp_path, server)


def test_it_is_asked_once_a_minute(desk: Desk) -> None:
    assert desk.asks() == desk.asks() == NODES and len(desk.begun) == 1
    desk.aged(61, 61)
    desk.server.lists[kinds.NODES] = []
    assert desk.asks() == () and len(desk.begun) == 2


def test_what_was_seen_is_offered_while_nobody_answers(desk: Desk) -> None:
    desk.asks()
    desk.aged(61, 61)
    desk.late = True
    assert desk.asks() == NODES
    desk.late = False
    desk.server.forbidden.add(kinds.NODES)
    desk.aged(0, 0)
    assert desk.asks() == NODES, "it is refused now"
    desk.aged(61, 86_400)
    assert desk.asks() == (), "a day is too old"
    assert desk.asks() == () and len(desk.begun) == 4, "a refusal is remembered, too"


def test_another_cluster_user_or_file_is_another_question(desk: Desk) -> None:
    assert desk.asks() == NODES
    for other in ({"context": "test"}, {"impersonate_user": "x"}, {"token": "y"}, {"server": desk.server.url}):
        before = len(desk.begun)
        assert desk.asks(**other) == NODES and len(desk.begun) == before + 1
    os.utime(desk.home / ".kube" / "config", ns=(1, 1))
    before = len(desk.begun)
    assert desk.asks() == NODES and len(desk.begun) == before + 1, "its context may be another one now"
    desk.environ["AWS_PROFILE"] = "prod"
    assert desk.asks() == NODES and len(desk.begun) == before + 2


def test_whoever_presses_again_asks_no_second_time(desk: Desk) -> None:
    desk.late = True
    assert desk.asks() == desk.asks() == () and len(desk.begun) == 1
    desk.begun[0]()
    assert desk.asks() == NODES and len(desk.begun) == 1


def test_what_was_ended_before_it_had_an_answer_is_not_begun_again_at_once(desk: Desk) -> None:
    """For a cluster that cannot be reached there is no answer: the look-up is ended from outside."""
    desk.late = True
    desk.asks()
    for older_s, begun in ((11, 1), (11, 1), (4, 2)):
        desk.begun_earlier(older_s)
        assert desk.asks() == () and len(desk.begun) == begun


@pytest.mark.parametrize("older_s", [16, 61])
def test_a_failure_is_remembered_for_some_seconds(desk: Desk, older_s: int) -> None:
    desk.server.forbidden.add(kinds.NODES)
    assert desk.asks() == desk.asks() == () and len(desk.begun) == 1
    desk.server.forbidden.clear()
    desk.aged(older_s, 0)
    assert desk.asks() == NODES


def test_offline_what_is_remembered_is_offered(desk: Desk) -> None:
    desk.environ[OFFLINE_VARIABLE] = "1"
    assert desk.asks() == () and desk.begun == []
    del desk.environ[OFFLINE_VARIABLE]
    assert desk.asks() == NODES
    desk.aged(61, 61)
    desk.environ[OFFLINE_VARIABLE] = "1"
    assert desk.asks() == NODES and len(desk.begun) == 1


def test_what_may_break(desk: Desk) -> None:
    desk.server.script(kinds.NODES.path, Reply(500), json_reply([]))
    assert desk.asks() == () == desk.asks(kubeconfig="/nowhere") == desk.asks(context="none")
    desk.aged(61, 61)
    assert desk.asks() == (), "that is no list"
    assert NameCache(Path("/proc/nowhere")).read("ab" * 20) is None


DEMO = SourceChoice(demo=True)


def nobody(work: Callable[[], object], wait_s: float, longest_s: float) -> None:
    raise AssertionError("nothing is done beside this process")


@pytest.mark.parametrize("kind", list(NameKind))
def test_the_demo(kind: NameKind, tmp_path: Path) -> None:
    found = cached_names(NameQuery(kind, DEMO, Connection(), "shop"), {}, str(tmp_path), BackgroundReads(nobody))
    assert bool(found) is (kind is not NameKind.RUNS), "it has no journal"
    assert list(tmp_path.iterdir()) == [], "nothing is written for it"


def test_what_was_begun_on_this_machine(tmp_path: Path) -> None:
    for folder, read in (
        ("runs", local_runs),
        ("changes", local_changes),
    ):
        assert read({}, str(tmp_path)) == () == read({}, "")
        there = tmp_path / ".local" / "state" / "eksdoc" / folder
        there.mkdir(parents=True)
        for ident in ("20261119-1930-4f2a", "20261120-1930-4f2a"):
            (there / f"{ident}.jsonl").touch()
        assert [each.text for each in read({}, str(tmp_path))] == ["20261120-1930-4f2a", "20261119-1930-4f2a"]
