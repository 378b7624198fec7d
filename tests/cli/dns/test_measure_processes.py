"""Measurements as processes on a served cluster: done, told to end by every signal, and killed outright."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.core.model.api_objects import with_value
from kubectl_eksdoc.core.plan.dns.measuring.manner import OLD_S
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.embedded.asked_dns import PROPAGATION_S
from kubectl_eksdoc.embedded.serving.server import Server
from tests.cli.dns.desks import document
from tests.fakes import kubeconfigs
from tests.flows.dns_labs import DnsLab, a_dns, left_of_measures, until
from tests.flows.probes import TOKEN

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
LONGEST_S = 120.0


@contextmanager
def measuring(server: Server, home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Whatever becomes of it, it is over at the end."""
    home.mkdir()
    config = kubeconfigs.one(home / "config", server.url(TOKEN), name="lab")
    argv = ["coredns-lameduck", *words, "--yes", "--kubeconfig", config]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-m", "kubectl_eksdoc", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environ,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("lameduck", "code"), [("8s", 0), ("0s", 1)])
def test_a_rollout_on_a_served_cluster(tmp_path: Path, lameduck: str, code: int) -> None:
    """Two seconds until the proxies have heard of it, eight or none until it is gone."""
    words = ("--measure=rollout", "--expect-changes", "4", "--for", "90s", "--answer-timeout", "1s", "-o", "json")
    with DnsLab(objects=a_dns(lameduck)).served() as (server, api):
        until(lambda: api.now(lambda plane: plane.agenda.seconds) > 2 * PROPAGATION_S)  # its first pods serve
        with measuring(server, tmp_path / "a", *words) as it:
            out, err = it.communicate(timeout=LONGEST_S)
        assert it.returncode == code, err
        assert left_of_measures(api) == []
    found = document(out)
    assert found["done"]["finished"] is True
    lost = sum(s["total"]["lost"] for z in found["measured"] for s in z["streams"] if s["target"] == "service-v4")
    assert bool(lost) == bool(code)
    assert {each["what"] for each in found["moments"]} >= {"told to end", "gone", "joined the endpoints"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_nothing_is_left(tmp_path: Path, number: signal.Signals) -> None:
    words = ("--measure", "--expect-changes", "2")
    with DnsLab().served() as (server, api), measuring(server, tmp_path / "a", *words) as it:
        until(lambda: len(left_of_measures(api)) == 3)
        it.send_signal(number)
        out, err = it.communicate(timeout=LONGEST_S)
        assert it.returncode == 130, err
        assert "It was interrupted." in " ".join(out.split())
        assert left_of_measures(api) == []


def test_killed_the_next_one_removes_what_is_old(tmp_path: Path) -> None:
    words = ("--measure", "--expect-changes", "2", "--for", "1s", "--answer-timeout", "1s")
    with DnsLab().served() as (server, api):
        with measuring(server, tmp_path / "a", *words) as it:
            until(lambda: len(left_of_measures(api)) == 3)
            it.kill()
            it.communicate(timeout=LONGEST_S)
        owner = next(name for name in left_of_measures(api) if name.count("-") == 3)
        long_ago = datetime.now(timezone.utc) - timedelta(seconds=OLD_S + 60)
        api.now(lambda plane: _made(plane, owner, long_ago))
        with measuring(server, tmp_path / "b", *words, "-o", "json") as it:
            out, err = it.communicate(timeout=LONGEST_S)
        assert owner in err and json.loads(out)["cleanup"]["left"] == []
        until(lambda: left_of_measures(api) == [])


def _made(plane: ControlPlane, name: str, when: datetime) -> None:
    """By the wall's clock, as the server's Date is; the lab's own time is another."""
    item = plane.registry.get("configmaps", ("default", name))
    plane.store.replace(item, with_value(item.doc, ("metadata", "creationTimestamp"), f"{when:%Y-%m-%dT%H:%M:%SZ}"))
