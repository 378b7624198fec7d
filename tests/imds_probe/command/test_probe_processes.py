"""Probes as processes: ended by every signal, by repeated signals, and killed."""

from __future__ import annotations

import signal
import subprocess
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.probed import MetadataServices
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from kubectl_eksdoc.model.api_objects import with_value
from kubectl_eksdoc.model.machines import MetadataOptions
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from tests.cli.processes import LONGEST_S, started, until
from tests.fakes import kubeconfigs
from tests.probes.stand_ins import TOKEN, Kubelet, Lab, a_node, there

pytestmark = pytest.mark.long

NODES = tuple(a_node(f"n{number}") for number in range(3))
SERVICES = MetadataServices({f"n{number}": MetadataOptions("required", 2) for number in range(3)})


def probing(server: SimulatedApiServer, home: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """``imds-probe --active`` on every node."""
    home.mkdir()
    config = kubeconfigs.one(home / "config", server.url(TOKEN), name="lab")
    words = ("--active", "--all-nodes", "--yes", "--expect-nodes", "3")
    return started(home, "imds-probe", *words, "--kubeconfig", config)


def nothing_left(api: Api) -> bool:
    return not there(api, "pods") and not there(api, "configmaps")


def test_told_to_end_nothing_is_left(tmp_path: Path) -> None:
    """One cluster for each signal."""
    with ExitStack() as open_:
        told = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server, api = open_.enter_context(Lab(NODES, SERVICES, pace=Kubelet(start=1e6)).served())
            told.append((number, api, open_.enter_context(probing(server, tmp_path / number.name))))
        for number, api, it in told:
            until(lambda api=api: len(there(api, "pods")) >= 6)
            it.send_signal(number)
        for _, api, it in told:
            out, err = it.communicate(timeout=LONGEST_S)
            assert it.returncode == 130, err
            assert "It was interrupted." in " ".join(out.split())
            assert nothing_left(api)


def test_killed_the_next_one_removes_what_is_old(tmp_path: Path) -> None:
    lab = Lab(NODES, SERVICES)
    with lab.served() as (server, api):
        with probing(server, tmp_path / "a") as it:
            until(lambda: len(there(api, "configmaps")) == 1)
            it.kill()
            it.communicate(timeout=LONGEST_S)
        (left,) = there(api, "configmaps")
        api.run_locked(lambda plane: _made(plane, left, datetime.now(timezone.utc)))
        with probing(server, tmp_path / "b") as it:
            _, err = it.communicate(timeout=LONGEST_S)
        assert it.returncode == 0 and f"may be running: {left}" in " ".join(err.split())
        assert there(api, "configmaps") == [left], "it is young, and may be somebody's"
        api.run_locked(lambda plane: _made(plane, left, datetime.now(timezone.utc) - timedelta(hours=1)))
        with probing(server, tmp_path / "c") as it:
            _, err = it.communicate(timeout=LONGEST_S)
        assert it.returncode == 0 and left in err
        until(lambda: nothing_left(api))


def _made(plane: ControlPlane, name: str, when: datetime) -> None:
    """The time by the wall clock, as in the server's Date; the lab has another time."""
    item = plane.registry.get("configmaps", ("default", name))
    text = f"{when:%Y-%m-%dT%H:%M:%SZ}"
    plane.store.replace(item, with_value(item.doc, ("metadata", "creationTimestamp"), text))
