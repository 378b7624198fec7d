"""Measurements as processes on a served cluster: completed, ended by every signal, and killed."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest

from kubectl_eksdoc.coredns_lameduck.measurement_plan import STALE_AFTER_S
from kubectl_eksdoc.embedded.probed import PROPAGATION_S
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.cli.processes import LONGEST_S, started
from tests.cli.running import called
from tests.coredns_lameduck.command.virtual_measurements import document
from tests.coredns_lameduck.served_clusters import DnsLab, a_dns, left_of_measures, until
from tests.fakes import kubeconfigs
from tests.probes.stand_ins import TOKEN

pytestmark = pytest.mark.long

LAMEDUCK_SHORT = "dns-lameduck-short"


def measuring(server: SimulatedApiServer, home: Path, *words: str) -> AbstractContextManager[subprocess.Popen[str]]:
    home.mkdir()
    config = kubeconfigs.one(home / "config", server.url(TOKEN), name="lab")
    return started(home, "coredns-lameduck", *words, "--yes", "--kubeconfig", config)


@pytest.mark.waits
def test_a_rollout_on_a_served_cluster(tmp_path: Path) -> None:
    """It takes two seconds until the proxies remove an endpoint, eight or none until the pod is gone: both clusters at
    a time."""
    words = ("--measure=rollout", "--expect-changes", "4", "--for", "90s", "--answer-timeout", "1s", "-o", "json")
    with ExitStack() as open_:
        labs = {code: DnsLab(objects=a_dns(lameduck)).served() for code, lameduck in ((0, "8s"), (1, "0s"))}
        served = {code: open_.enter_context(lab) for code, lab in labs.items()}
        for _, api in served.values():
            until(partial(api.run_locked, _first_pods_serve))
        its = {code: open_.enter_context(measuring(at[0], tmp_path / str(code), *words)) for code, at in served.items()}
        told = {code: it.communicate(timeout=LONGEST_S) for code, it in its.items()}
        assert {it.returncode for it in its.values()} == {0, 1}, [err for _, err in told.values()]
        assert [left for _, api in served.values() for left in left_of_measures(api)] == []
        pages = {code: json.loads(_page(tmp_path / str(code))) for code in its}
    for code, (out, err) in told.items():
        assert its[code].returncode == code, err
        found = document(out)
        assert found["done"]["finished"] is True
        lost = sum(s["total"]["lost"] for z in found["measured"] for s in z["streams"] if s["target"] == "service-v4")
        assert bool(lost) == bool(code)
        assert {each["what"] for each in found["moments"]} >= {"told to end", "gone", "joined the endpoints"}
        shutdown, short = pages[code]["shutdown"], [f for f in pages[code]["findings"] if f["code"] == LAMEDUCK_SHORT]
        assert shutdown["propagationMeasuredAt"], "the measurement is kept, and the page judges by it"
        assert shutdown["leastSeconds"] <= 8 if code == 0 else shutdown["propagationSeconds"] > 0, shutdown
        assert [each["status"] for each in short] == (["fail"] if code else [])


def _page(home: Path) -> str:
    """The page for the same cluster, on the same machine."""
    words = ("coredns-lameduck", "--kubeconfig", str(home / "config"), "-o", "json")
    return called(*words, environ={"HOME": str(home)}).out


def _first_pods_serve(plane: ControlPlane) -> bool:
    return plane.virtual_time.seconds > 2 * PROPAGATION_S


def test_killed_the_next_one_removes_what_is_old(tmp_path: Path) -> None:
    words = ("--measure", "--expect-changes", "2", "--for", "1s", "--answer-timeout", "1s")
    with DnsLab().served() as (server, api):
        with measuring(server, tmp_path / "a", *words) as it:
            until(lambda: len(left_of_measures(api)) == 3)
            it.kill()
            it.communicate(timeout=LONGEST_S)
        owner = next(name for name in left_of_measures(api) if name.count("-") == 3)
        long_ago = datetime.now(timezone.utc) - timedelta(seconds=STALE_AFTER_S + 60)
        api.run_locked(lambda plane: _made(plane, owner, long_ago))
        with measuring(server, tmp_path / "b", *words, "-o", "json") as it:
            out, err = it.communicate(timeout=LONGEST_S)
        assert owner in err and json.loads(out)["cleanup"]["left"] == []
        until(lambda: left_of_measures(api) == [])


def _made(plane: ControlPlane, name: str, when: datetime) -> None:
    """The time by the wall clock, as in the server's Date; the lab has another time."""
    item = plane.registry.get("configmaps", ("default", name))
    plane.store.replace(item, with_value(item.doc, ("metadata", "creationTimestamp"), f"{when:%Y-%m-%dT%H:%M:%SZ}"))


def test_told_to_end_nothing_is_left(tmp_path: Path) -> None:
    """One cluster for each signal."""
    words = ("--measure", "--expect-changes", "2")
    with ExitStack() as open_:
        told = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server, api = open_.enter_context(DnsLab().served())
            told.append((number, api, open_.enter_context(measuring(server, tmp_path / number.name, *words))))
        for number, api, it in told:
            until(lambda api=api: len(left_of_measures(api)) == 3)
            it.send_signal(number)
        for _, api, it in told:
            out, err = it.communicate(timeout=LONGEST_S)
            assert it.returncode == 130, err
            assert "It was interrupted." in " ".join(out.split())
            assert left_of_measures(api) == []
