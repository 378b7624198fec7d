"""The arguments of the screens for a live cluster, with a real kubeconfig and a served cluster."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.context import CommandContext, DrainRunEdges
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.embedded.serving.handler import ManualTime
from kubectl_eksdoc.errors import ConfigError, Forbidden
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.journal import JournalEntries, NoteEntry, NoteKind
from kubectl_eksdoc.tui.command.main import PinnedConnection, with_kube_context
from kubectl_eksdoc.tui.opening import LiveClusterAccess, Opening
from tests.builders import NOW
from tests.cli.running import FakeRuns, FakeSource, Terminal
from tests.embedded.clients import worlds
from tests.fakes import kubeconfigs


@dataclass
class Opened:
    """The arguments with which the screens were opened. Mutable."""

    openings: list[Opening] = field(default_factory=list)

    def __call__(self, opening: Opening) -> int:
        self.openings.append(opening)
        return 0


def opened(
    config: str, home: Path, source: FakeSource | None = None, runs: FakeRuns | None = None
) -> tuple[Opening, LiveClusterAccess]:
    screens = Opened()
    environ = {"HOME": str(home), "TERM": "xterm", "USER": "jane", "XDG_CACHE_HOME": str(home / "cache")}
    around = CommandContext(Terminal(), Terminal(), environ, stdin=Terminal(), open_screens=screens)
    around = around if source is None else replace(around, open_reader=source.open)
    around = around if runs is None else replace(around, run_edges=DrainRunEdges(open_runs=runs.open))
    assert run(["--kubeconfig", config], around.stdout, around.stderr, context=around) == 0
    (opening,) = screens.openings
    assert opening.live is not None
    return opening, opening.live


def unheard(kind: str, count: int) -> None:
    """A progress callback that does nothing."""


def test_what_is_read_is_remembered_for_this_context_and_no_other(tmp_path: Path) -> None:
    with worlds.served("small-traps", ManualTime(), pace=None) as (server, _):
        there = {"server": server.url(worlds.ADMIN_TOKEN)}
        contexts = {"blue": ("lab", "me"), "green": ("lab", "me")}
        config = kubeconfigs.many(tmp_path / "config", {"lab": there}, {"me": {}}, contexts, "blue")
        opening, live = opened(config, tmp_path)
        assert live.contexts() == ("blue", "green") and live.address().context == "blue"
        assert live.last_view() is None
        cluster = opening.read(unheard)
        live.remember(cluster)
        view = live.last_view()
        assert view is not None and {node.name for node in view.nodes} == {node.name for node in cluster.nodes}
        other = live.open_context("green")
        assert other.context == "green" and other.live is not None
        assert other.live.address().context == "green" and other.live.last_view() is None
        assert other.read(unheard).identity.context == "green"
        assert live.address().context == "blue", "the one before is as it was"


def test_the_context_stays_whatever_is_chosen_in_the_kubeconfig_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "config"
    pinned = PinnedConnection(Connection(kubeconfig=str(path)))
    with pytest.raises(ConfigError):
        pinned()
    clusters = {"a": {"server": "https://a"}, "b": {"server": "https://b"}}
    kubeconfigs.many(path, clusters, {"u": {}}, {"blue": ("a", "u"), "green": ("b", "u")}, "blue")
    assert pinned().context == "blue", "a kubeconfig that is mended is good enough"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"current-context": "green"}))
    assert pinned().context == "blue"


def test_another_context_is_not_reached_by_what_was_said_of_this_one() -> None:
    given = Connection(
        kubeconfig="/k",
        context="blue",
        cluster="c",
        user="u",
        server="https://tunnel",
        token="secret",
        certificate_authority="ca",
        tls_server_name="name",
        insecure_skip_tls_verify=True,
        client_certificate="cert",
        client_key="key",
        impersonate_user="jane",
        request_timeout=7.0,
        page_size=100,
    )
    wanted = Connection(kubeconfig="/k", context="green", impersonate_user="jane", request_timeout=7.0, page_size=100)
    assert with_kube_context(given, "green") == wanted


def test_stop_times_are_those_of_the_journals_and_why_not_is_a_note_of_the_cluster(tmp_path: Path) -> None:
    config = kubeconfigs.one(tmp_path / "config", "https://a")
    stopped = JournalEntries((NoteEntry(1, NOW, NoteKind.STOPPED, "default/ReplicaSet/web", "3.0"),))
    opening, _ = opened(config, tmp_path, FakeSource(), FakeRuns({"20261120-0800-4f2a": stopped}))
    cluster = opening.read(unheard)
    assert (cluster.stops, cluster.notes) == ((("default/ReplicaSet/web", 3.0),), ())
    refused = FakeRuns(error=Forbidden("https://a refuses list configmaps", "", "list configmaps"))
    cluster = opened(config, tmp_path, FakeSource(), refused)[0].read(unheard)
    why = "stop times in journals of the cluster are not used: https://a refuses list configmaps"
    assert (cluster.stops, cluster.notes) == ((), (why,))


def test_a_right_without_which_nothing_can_be_said_is_explained(tmp_path: Path) -> None:
    source = FakeSource(error=Forbidden("https://a refuses list nodes", "Ask for the right.", "list nodes"))
    config = kubeconfigs.one(tmp_path / "config", "https://a")
    opening, _ = opened(config, tmp_path, source=source)
    with pytest.raises(Forbidden) as refused:
        opening.read(unheard)
    assert "kubectl create clusterrole eksdoc-drain-plan" in refused.value.hint


def test_the_rights_of_a_plan_are_those_of_all_that_it_reads(tmp_path: Path) -> None:
    config = kubeconfigs.one(tmp_path / "config", "https://nowhere")
    opening, _ = opened(config, tmp_path)
    assert opening.required_rights is not None
    needs = opening.required_rights()
    assert [need.permission.resource for need in needs.plan] == list(kinds.ALL)
    assert not {need.permission for need in needs.plan} & {need.permission for need in needs.run}
    assert ("create", "eviction") in {(n.permission.verb, n.permission.subresource) for n in needs.run}
