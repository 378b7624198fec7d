"""``plugins.yaml``: its own rules, and that all generated files match it."""

from __future__ import annotations

import configparser
import importlib
import subprocess
from pathlib import Path

import pytest

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.entry_point import COMPLETE, PROG, program_name
from kubectl_eksdoc.cli.main import command_parser
from tests import required_programs
from tests.yaml_reader import yaml_of
from tools import from_registry
from tools.krew.lint.command import lint, page
from tools.krew.platforms import MACHINES
from tools.registry import PATH, ROOT, Plugin, read

REGISTRY = read()
EACH = pytest.mark.parametrize("plugin", REGISTRY.plugins, ids=lambda plugin: plugin.name)


def test_it_says_in_its_first_line_what_it_is_not() -> None:
    assert "not a k9s plugins file" in PATH.read_text(encoding="utf-8").splitlines()[0]


def test_the_entry_points_are_these() -> None:
    assert [plugin.binary for plugin in REGISTRY.plugins] == [
        "kubectl-eksdoc",
        "kubectl-eksdoc_drain",
        "kubectl-eksdoc_addon_diff",
        "kubectl-eksdoc_imds_probe",
        "kubectl-eksdoc_coredns_lameduck",
        "kubectl-eksdoc_interruption",
        "kubectl-eksdoc_check",
    ]


@EACH
def test_a_plugin_keeps_the_rules_of_its_kind(plugin: Plugin) -> None:
    assert len(plugin.short) <= 50 and not plugin.short.endswith(".")
    assert max(map(len, plugin.description.splitlines())) <= 80
    assert PROG not in plugin.description, "krew's reviewers take no examples there"
    assert "-" not in plugin.binary.removeprefix("kubectl-"), "kubectl would take it for a command below"
    assert callable(importlib.import_module(plugin.module).main)


@EACH
def test_what_it_is_called_as_is_a_command(plugin: Plugin) -> None:
    words = (plugin.command,) if plugin.command else ()
    assert program_name(f"/x/bin/{plugin.binary}").implied_words == words
    assert program_name(f"/x/bin/{plugin.completer}").implied_words == (COMPLETE, *words)
    assert not words or plugin.command in command_parser().commands()


def test_no_plugin_hides_a_command_of_kubectl(tmp_path: Path) -> None:
    kubectl = required_programs.kubectl()
    env = {"PATH": str(Path(kubectl).parent), "HOME": str(tmp_path)}
    command = (kubectl, "__complete", "")
    listed = subprocess.run(command, capture_output=True, text=True, env=env, timeout=30, check=True)
    built_in = {line.split("\t")[0] for line in listed.stdout.splitlines()}
    assert "drain" in built_in and not built_in & {plugin.name for plugin in REGISTRY.plugins}


def test_pip_installs_each_by_the_name_that_krew_gives_it() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = config["options.entry_points"]["console_scripts"].strip().splitlines()
    scripts = dict(tuple(part.strip() for part in line.split("=")) for line in lines)
    names = {name for plugin in REGISTRY.plugins for name in (plugin.binary, plugin.completer)}
    assert scripts == dict.fromkeys(names, "kubectl_eksdoc.launch:main")


def test_nothing_that_is_made_of_it_is_stale() -> None:
    stale = [p for p, text in from_registry.made().items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    assert stale == []
    for folder in ("completions", ".krew", "plugins"):
        assert set((ROOT / folder).iterdir()) <= set(from_registry.made()), "left over from a plugin"


def test_the_rights_of_all_are_in_the_first() -> None:
    entries = yaml_of(PATH.read_text(encoding="utf-8"))["plugins"]
    whole, *others = ({*entry["rbac"], *entry["rbac_to_change"]} for entry in entries)
    assert set().union(*others) <= whole == {str(each) for held in rights.BY_COMMAND.values() for each in held}
    asked = {action for each in rights.AWS_OPERATIONS.values() for question in each for action in question.actions}
    assert {*entries[0]["aws"], *entries[0]["aws_to_change"]} == asked


def test_what_changes_something_stands_apart() -> None:
    entries = {entry["name"]: entry for entry in yaml_of(PATH.read_text(encoding="utf-8"))["plugins"]}
    for entry in entries.values():
        assert {right.split()[0] for right in entry["rbac"]} <= {"get", "list", "watch"}, entry["name"]
    assert "create pods/eviction" in entries["eksdoc-drain"]["rbac_to_change"]
    assert "eks:UpdateAddon" in entries["eksdoc-addon-diff"]["aws_to_change"]
    assert "eks:StartInsightsRefresh" in entries["eksdoc-check"]["aws_to_change"]
    assert entries["eksdoc-interruption"]["rbac_to_change"] == entries["eksdoc-interruption"]["aws_to_change"] == []


def test_there_is_an_archive_for_each_platform() -> None:
    assert [(each.os, each.arch) for each in REGISTRY.platforms] == [(each.os, each.arch) for each in MACHINES]


@EACH
def test_the_manifests_of_this_index_are_taken_by_krew(plugin: Plugin) -> None:
    found = lint(str(from_registry.INDEX / f"{plugin.name}.yaml"), ())
    assert not found.fails, "\n".join(page(found))


def test_the_snippet_for_k9s_gives_words_and_no_text_of_a_shell() -> None:
    for entry in yaml_of(from_registry.k9s(REGISTRY))["plugins"].values():
        script, _, *words = entry["args"][1:]
        assert entry["command"] == "sh" and "$NAME" not in script and "$CONTEXT" not in script
        assert (
            words[0] == "eksdoc" and words[1] in command_parser().commands() and words[-2:] == ["--context", "$CONTEXT"]
        )
