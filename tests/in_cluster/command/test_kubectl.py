"""kubectl accepts the printed objects as they are, and the commands in their header work as described."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import SimulatedApiServer
from tests import required_programs
from tests.drain.command.served import Machine
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import Kubectl
from tests.in_cluster.command.test_drain import ours

pytestmark = pytest.mark.long


@pytest.fixture
def kubectl(server: SimulatedApiServer, tmp_path: Path) -> Kubectl:
    return Kubectl(required_programs.kubectl(), tmp_path, server.url(worlds.ADMIN_TOKEN))


def command(text: str, what: str) -> list[str]:
    """The arguments for kubectl in the step with this name."""
    (line,) = (each for each in text.splitlines() if each.startswith(f"# {what}:"))
    words = shlex.split(line.partition(":")[2])
    assert words[0] == "kubectl"
    return words[1:]


CHECK = ("check", "--in-cluster", "--schedule", "@daily", "--cluster-name", "lab", "--region", "eu-west-1")


@pytest.mark.parametrize("words", [("drain", "run", "--nodegroup", "blue", "--in-cluster"), CHECK])
def test_it_is_created_and_taken_away_by_kubectl(
    api: Api, ann: Machine, kubectl: Kubectl, words: tuple[str, ...]
) -> None:
    text = ann.run(*words).out
    kubectl("create", "--dry-run=server", "-f", "-", given=text)
    assert ours(api) == set()
    kubectl("create", "-f", "-", given=text)
    assert ours(api)
    kubectl(*command(text, "remove these objects"))
    ends_s = time.monotonic() + 20.0
    while ours(api):
        assert time.monotonic() < ends_s, ours(api)
        time.sleep(0.05)


def test_a_check_is_made_now_by_hand(ann: Machine, kubectl: Kubectl) -> None:
    text = ann.run(*CHECK).out
    kubectl("create", "-f", "-", given=text)
    made = kubectl(*command(text, "look now"), "--dry-run=client", "-o", "name")
    assert made == "job.batch/eksdoc-check-now\n"
    kubectl(*command(text, "see what it did"))
