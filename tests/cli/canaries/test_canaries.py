"""Run every command with secrets planted in a cluster, an account, a kubeconfig and an environment: no output and no
written file has one of them."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from kubectl_eksdoc.cli.commands import COMMANDS, Command
from kubectl_eksdoc.cli.completion_sources import FORMATS_BY_COMMAND
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.faults import EVICTIONS, BrokenConnection, Fault, FaultMoment, FaultyHandler
from kubectl_eksdoc.embedded.serving.handler import ScaledTime, serving
from kubectl_eksdoc.embedded.serving.requests import ADMIN, TokenUsers
from tests.aws.test_live import prod
from tests.cli.canaries import places
from tests.cli.canaries.canaries import Canaries
from tests.cli.canaries.places import Place
from tests.cli.running import Ran, run_cli
from tests.drain.command.served import EVICTED, Machine
from tests.embedded.clients import worlds
from tests.host.terraform_plans import a_change, a_plan, an_addon, written
from tests.permissions.command.served_users import NAME

if TYPE_CHECKING:
    from tests.aws.world.server import World

__all__ = ["prod"]

_UNKNOWN = "addon-object-unread,addon-corefile-refused,addon-field-unknown,addon-values-refused"
SURE = f"--yes --accept-unknown {_UNKNOWN} --expect-changes"
APPLIED = {
    "addon-diff": f"addon-diff coredns --configuration-values VALUES --apply {SURE} 2",
    "coredns-lameduck": f"coredns-lameduck --set lameduck=20s --apply {SURE} 2",
}
"""A change that is made, and follows an update to its end."""
AGAIN = {"addon-diff": "addon-diff coredns", "coredns-lameduck": "coredns-lameduck"}
MORE = {
    "drain plan": ("drain plan --nodegroup blue", "drain plan -l !none --since DUMP"),
    "drain run": ("drain run --nodegroup blue --dry-run", "drain run --nodegroup blue --in-cluster"),
    "drain status --attach": ("drain status old-1 --attach",),
    "rehearse": ("rehearse --nodegroup blue",),
    "check": (
        "check --target 1.37",
        "check --target 1.37 --since DUMP --changed-since 24h",
        "check --in-cluster --schedule @daily",
    ),
    "check --fleet": ("check --only kubelet-skew --fleet lab",),
    "addon-diff": ("addon-diff --all", "addon-diff vpc-cni --each-step --since-when"),
    "addon-diff --apply": ("addon-diff coredns --apply --dry-run",),
    "addon-diff --after": ("addon-diff --all --after",),
    "addon-diff --tf-plan": ("addon-diff --tf-plan TF",),
    "imds-probe --active": ("imds-probe --active --dry-run=server",),
    "imds-probe --apply": ("imds-probe --apply --fix instance-options --dry-run",),
    "coredns-lameduck --measure": ("coredns-lameduck --measure --dry-run",),
    "coredns-lameduck --set": ("coredns-lameduck --set lameduck=20s",),
    "coredns-lameduck --place": ("coredns-lameduck --place on-demand",),
    "coredns-lameduck --autoscale": ("coredns-lameduck --autoscale 2:6",),
    "interruption": ("interruption", *(f"interruption --print {what}" for what in ("stack", "commands", "iam"))),
    "snapshot": ("snapshot HOME/lab.eksdoc --overwrite",),
    "permissions --check": ("permissions drain run --check",),
    "completion": ("completion bash",),
}
"""What a command needs beside its name, where that alone says nothing."""

AS_ANOTHER = {
    "plugins": "it reads no cluster, and no AWS",
    "drain rehearse": "rehearse",
    **{f"drain {name}": "on a run that was cut off, below" for name in ("resume", "rollback", "pause", "abort")},
    "addon-diff --fleet": "check --fleet",
    "imds-probe --fleet": "check --fleet",
    **{f"{name} --resume": "on a change that was cut off, below" for name in ("addon-diff", "coredns-lameduck")},
    "addon-diff --update": "addon-diff --after",
    "options": "has no --debug, and reads nothing",
}
"""Not run here, and why."""

IN_JSON = ("snapshot", "check --fleet", "drain status --attach")
"""They take long, and say little."""

LIVE = ("--in-cluster", "--apply", "--active", "--measure", "--fleet", "snapshot HOME")
"""Of no file."""
OF_AWS = (
    "addon-diff",
    "interruption --print",
    *(f"coredns-lameduck --{each}" for each in ("set", "place", "autoscale")),
)
"""Of no file without answers of AWS."""


def commands(among: Sequence[Command] = COMMANDS, path: str = "") -> Iterator[str]:
    """All commands, without those that only have subcommands."""
    for each in among:
        name = f"{path} {each.name}".strip()
        yield from commands(each.subcommands, name) if each.subcommands else (name,)


def formats(command: str) -> Sequence[str]:
    module, _, name = FORMATS_BY_COMMAND[command].rpartition(".") if command in FORMATS_BY_COMMAND else ("", "", "")
    found = getattr(importlib.import_module(f"kubectl_eksdoc.{module}"), name) if module else ()
    return tuple(getattr(found, "formats", found))


def lines(source: str = "", among: Sequence[str] = ()) -> Iterator[str]:
    """Each command in each format: on the live cluster as wide table and JSON, and on a file, if it reads one, in the
    other formats. With more flags, and where `IN_JSON` says so, only as JSON. The wide table includes the table, and
    YAML is the same document as JSON."""
    for command in among or [
        each for each in dict.fromkeys((*FORMATS_BY_COMMAND, *commands())) if each not in AS_ANOTHER
    ]:
        for number, words in enumerate(MORE.get(command, (command,))):
            of_a_file = not words.startswith(OF_AWS) and not any(each in words for each in LIVE)
            of_a_file = of_a_file and "--snapshot" in helped(command.partition(" --")[0])
            if source and not of_a_file:
                continue
            left_out = {"table", "yaml", "wide" if source else ""}
            if number or command in IN_JSON:
                left_out |= {*formats(command)} - {"json"}
            elif of_a_file and not source:
                left_out |= {*formats(command)} - {"wide", "json"}
            wanted = [each for each in formats(command) if each not in left_out]
            yield from [f"{words} {source} -o {each}" for each in wanted] or [f"{words} {source}".strip()]


@cache
def helped(command: str) -> str:
    return run_cli(*command.split(), "--help").out


DONE = (0, 1, 5, 6)


def leaks(place: Place, config: str, names: Mapping[str, str], among: Iterable[str]) -> Iterator[str]:
    """Each command line must succeed: a refused or unreachable one would leak nothing."""
    for line in among:
        words = line
        for name, value in names.items():
            words = words.replace(name, value)
        ran = place.run(words, config)
        assert ran.code in DONE, f"{line}: {ran.code}: {ran.err[-400:]}"
        yield from place.leaks(line, ran)


@pytest.mark.long
def test_no_command_prints_or_writes_one(prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the live cluster and on a dump; a snapshot that is taken meanwhile has no secret either."""
    with places.served(places.plane("rich")) as site:
        place, configs = places.planted_place(site, prod, tmp_path, monkeypatch)
        before, given = places.counted(site.api), tmp_path / "given"
        names = {
            "DUMP": places.dump(given / "dump.tar.gz", places.documents("rich")),
            "HOME": str(place.home),
            "TF": terraform(given),
            "VALUES": values(prod, given),
        }
        sources = ("", "--snapshot DUMP")
        found = [leak for of in sources for leak in leaks(place, configs.of_plugin(), names, lines(of))]
        found += place.kept() + places.written_in(site.api, before, place.more)
    assert found == [], "\n".join(found)


def test_a_few_commands_print_and_write_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With each kubeconfig, for a reachable server and an unreachable one."""
    with places.served(places.plane("small-traps")) as site:
        place, configs = places.planted_cluster(site.url(places.TOKEN), tmp_path, monkeypatch)
        few = list(lines(among=("drain plan",)))[:1] + ["drain status -o json", "permissions drain run --check -o json"]
        found = list(leaks(place, configs.of_token(), {"DUMP": ""}, few))
        for config in (configs.of_password(), configs.of_broken_key(), configs.of_plugin("sys.exit(3)\n")):
            found += place.leaks(config, place.run(few[-1], config))
    away = replace(configs, url=configs.url.replace(str(urlsplit(configs.url).port), "9"))
    refused = place.run("permissions drain run --check", away.of_token())
    assert refused.code == 3
    found += place.leaks("a server that is away", refused) + place.kept()
    assert found == [], "\n".join(found)


LOST = (
    Fault(BrokenConnection(), EVICTIONS, "POST", share=0.3),
    Fault(BrokenConnection(FaultMoment.AFTER), EVICTIONS, "POST", share=0.3),
)


@pytest.mark.parametrize("goes_on", ("resume", pytest.param("rollback", marks=pytest.mark.long)))
@pytest.mark.long
def test_a_run_that_is_cut_off_writes_none(goes_on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections break during its evictions, the run is stopped in the middle, and another machine resumes it or rolls
    it back."""
    api = Api(
        places.running("small-traps"),
        ApiSetup(TokenUsers({places.TOKEN: ADMIN})),
        ScaledTime(time.monotonic, worlds.SPEED),
    )
    with serving(FaultyHandler(api, LOST, time.sleep)) as server:
        place, configs = places.planted_cluster(server.url(places.TOKEN), tmp_path, monkeypatch)
        config, before, ran = configs.of_plugin(), places.counted(api), []
        ann, ben = (Machine(place.home / name, config) for name in ("ann", "ben"))
        for each in (ann, ben):
            each.home.mkdir()
        words = ("--nodegroup", "blue", "--yes", "--expect-nodes", "1", "--debug")
        with ann.running("drain", "run", *words):
            ann.out.until(EVICTED)
            ann.times_told = lambda: 1
        ran.append(Ran(ann.code, ann.out.getvalue(), ann.err.getvalue()))
        ran.append(ben.run("drain", "status", "-o", "json", "--debug"))
        run = json.loads(ran[-1].out)["runs"][0]["run"]
        ran += [ben.run("drain", each, run, "--debug") for each in ("pause", "abort")]
        ran.append(
            ben.goes_on(run, "--yes", "--expect-nodes", "1", "--debug", "-o", "markdown")
            if goes_on == "resume"
            else ben.run("drain", "rollback", run, "--yes", "--expect-nodes", "1", "--debug")
        )
        found = [leak for each in ran for leak in place.leaks("drain", each)]
        found += place.kept() + places.written_in(api, before, place.more)
        journals = [path for path in place.home.rglob("*") if path.is_file()]
    assert ran[0].code == 6, ran[0].err
    assert len(journals) >= 2
    assert found == [], "\n".join(found)


def values(aws: World, folder: Path) -> str:
    """A file with the configuration values of CoreDNS, and one more value."""
    addon = aws.client("eks").describe_addon(clusterName=NAME, addonName="coredns")["addon"]
    found = {**json.loads(addon["configurationValues"]), "replicaCount": 3}
    folder.mkdir(exist_ok=True)
    path = folder / "values.json"
    path.write_text(json.dumps(found))
    return str(path)


def terraform(folder: Path) -> str:
    """A plan that gives an add-on other values; its sensitive values are marked, and the others are readable."""
    of = Canaries("terraform")
    env = [{"MY_TOKEN": of.any(), "SITE": places.BY_CHANCE[number:], "ENABLE_POD_ENI": "true"} for number in range(2)]
    values = [json.dumps({"env": each}) for each in env]
    before = an_addon(cluster_name=NAME, configuration_values=values[0], tags={"password": of.any()})
    after = {**before, "addon_version": "v1.12.6-eksbuild.1", "configuration_values": values[1]}
    return written(folder, a_plan(a_change(before, after, "update")))


@pytest.mark.long
@pytest.mark.parametrize("command", APPLIED)
def test_a_change_that_is_cut_off_and_resumed_writes_none(
    command: str, prod: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS's answer to the update is lost, and the update is looked up later."""
    with places.served(places.plane("rich")) as site:
        place, configs = places.planted_place(site, prod, tmp_path, monkeypatch)
        config, before = configs.of_plugin(), places.counted(site.api)
        prod.hang_up("eks:UpdateAddon")
        words = APPLIED[command].replace("VALUES", values(prod, tmp_path / "given"))
        ran = [place.run(f"{words} -o json", config)]
        prod.allow()
        assert ran[0].code == 4, ran[0].err
        (journal,) = place.home.rglob("changes/*.jsonl")
        ran.append(place.run(f"{AGAIN[command]} --apply --resume {journal.stem} -o json", config))
        found = [leak for each in ran for leak in place.leaks(command, each)]
        found += place.kept() + places.written_in(site.api, before, place.more)
    assert [each.code for each in ran] == [4, 6], "\n".join(each.err for each in ran)
    assert found == [], "\n".join(found)
