"""kubectl commands that this tool prints for the demo are accepted by kubectl and by the served demo: commands that
write as dry runs, commands that read unchanged. A remedy of a budget or of replicas has the promised effect."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.embedded.demo.reader import DemoReader
from kubectl_eksdoc.embedded.loading import load_observed
from kubectl_eksdoc.embedded.serving.api import Api
from kubectl_eksdoc.embedded.serving.handler import ManualTime, SimulatedApiServer, serving
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.objects.single import RawObjects
from tests.check.command.cached_runs import document
from tests.cli.running import run_cli
from tests.cli.test_connection_flags import commands
from tests.embedded.clients import worlds
from tests.embedded.clients.programs import Kubectl
from tests.fakes import kubeconfigs

WRITES = {"annotate", "cordon", "create", "delete", "label", "patch", "scale", "uncordon"}
READS = {"api-resources", "auth", "describe", "get"}
BY_HAND = {"apply", "convert", "cp", "debug", "drain", "edit", "exec", "kustomize", "logs", "replace", "wait"}
"""They take a file that somebody writes first, an editor, a container, or time."""
NO_DRY_RUN = {"rollout"}
NOT_THERE = {"nodeclaims"}
"""Kinds that the demo does not hold."""


@pytest.fixture
def demo() -> Iterator[SimulatedApiServer]:
    raw = RawObjects()
    loaded = load_observed(DemoReader(raw, "check").read((*kinds.ALL, kinds.DEFINITIONS, kinds.API_SERVICES)), raw)
    with serving(Api(loaded.plane, worlds.SETUP, ManualTime())) as server:
        yield server


@pytest.fixture
def kubectl(program: str, demo: SimulatedApiServer, tmp_path: Path) -> Kubectl:
    """``get --raw`` drops the path of the server's address, which has the token: the kubeconfig also has the token as
    that of a proxy, as in the kubeconfig of ``rehearse --serve``."""
    proxy = demo.url().replace("://", f"://{worlds.ADMIN_TOKEN}@")
    return Kubectl(program, tmp_path, demo.url(worlds.ADMIN_TOKEN), **{"proxy-url": proxy})


def printed() -> list[list[str]]:
    """Each command once, without the file of its redirected output."""
    drain = json.loads(run_cli("drain", "plan", "--nodegroup", "blue", "--demo", "-o", "json").out)
    told = (document("--demo", "--target", "1.34"), drain)
    lines = dict.fromkeys(each.partition(" > ")[0] for one in told for each in commands(one))
    return [shlex.split(each) for each in lines if each.startswith("kubectl ") and " eksdoc " not in each]


@pytest.mark.long
def test_each_is_taken_by_kubectl_and_the_server(kubectl: Kubectl) -> None:
    every, tried, wrong = printed(), set(), []
    for _, verb, *rest in every:
        assert verb in WRITES | READS | BY_HAND | NO_DRY_RUN, verb
        if verb in BY_HAND | NO_DRY_RUN or "-w" in rest or any("$(" in word for word in rest):
            continue
        tried.add(verb)
        ran = kubectl.ran(verb, *rest, *(("--dry-run=server",) if verb in WRITES else ()))
        wrong += [f"{verb} {shlex.join(rest)}: {ran.err[-300:]}"] if ran.code and not NOT_THERE & {*rest} else []
    assert len(every) > 30 and {"patch", "scale", "delete", "get"} <= tried
    assert any("--raw" in words for words in every)
    assert not wrong, "\n".join(wrong)


def plan(server: SimulatedApiServer, folder: Path) -> list[dict[str, Any]]:
    out, err = io.StringIO(), io.StringIO()
    config = kubeconfigs.one(folder / "plan", server.url(worlds.ADMIN_TOKEN), name="lab")
    argv = ["drain", "plan", "--nodegroup", "blue", "-o", "json", "--kubeconfig", config]
    run(argv, out, err, context=CommandContext(out, err, {}))
    assert out.getvalue(), err.getvalue()
    found: list[dict[str, Any]] = json.loads(out.getvalue())["findings"]
    return [each for each in found if each["status"] == "fail"]


@pytest.mark.long
def test_what_blocks_a_drain_is_gone_once_its_remedy_has_been_carried_out(
    kubectl: Kubectl, demo: SimulatedApiServer, tmp_path: Path
) -> None:
    """For each blocker the first remedy that kubectl alone can carry out."""
    before = plan(demo, tmp_path)
    mended = {}
    for each in before:
        for remedy in each["remedy"]:
            words = shlex.split(remedy.get("command", "").partition(" --context ")[0])
            if words[:1] == ["kubectl"] and words[1] in ("patch", "scale") and "&&" not in words:
                kubectl(*words[1:])
                mended[each["code"], json.dumps(each["subject"])] = words
                break
    assert mended
    left = {(each["code"], json.dumps(each["subject"])) for each in plan(demo, tmp_path)}
    assert {key: words for key, words in mended.items() if key in left} == {}
