"""Files that are generated from ``plugins.yaml``: scripts, completion shims, krew's templates and manifests, a snippet
for k9s, and the rights in the registry itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path

import yaml

from kubectl_eksdoc import __version__
from kubectl_eksdoc.cli import rights
from tools import tables
from tools.krew import manifests
from tools.registry import PATH, PLACEHOLDER, ROOT, Plugin, Registry, read
from tools.release.prepare import with_image

INDEX = ROOT / "plugins"
"""This repository is its own index for krew."""

VERSION = f"v{__version__}"
"""As in a tag."""
ADDRESSED = (
    ".github/CODEOWNERS",
    ".github/ISSUE_TEMPLATE/config.yml",
    "CODE_OF_CONDUCT.md",
    "Dockerfile",
    "SECURITY.md",
    "deploy/kustomization.yaml",
    "kubectl_eksdoc/in_cluster/command.py",
    "mkdocs.yml",
    "setup.cfg",
)
"""Files besides the pages that name this repository and its image."""

_UNRELEASED = {
    "en": "OWNER is a placeholder: there is no release yet. Until then: `make krew`, and\n"
    "`kubectl krew install --manifest plugins/eksdoc.yaml --archive dist/…`.\n",
    "ko": "OWNER는 자리 표시이고 아직 릴리스가 없습니다. 그때까지는 `make krew`가 아카이브를 만듭니다.\n",
}
_REPOSITORY = re.compile(
    r"(?<=\bgithub\.com/)[\w-]+(?=/kubectl-eksdoc\b)|(?<=--repo )[\w-]+(?=/kubectl-eksdoc\b)|(?<=^\* @)[\w-]+$",
    re.MULTILINE,
)
_USED = re.compile(r"(?<=uses: )[\w-]+/kubectl-eksdoc@v[\w.]+")
_BASE = re.compile(r"(?<=/kubectl-eksdoc//deploy\?ref=)v[\w.]+")
_REVISION = re.compile(r"(/kubectl-eksdoc\n +rev: )v[\w.]+")
_TAGGED = re.compile(r"(/kubectl-eksdoc\n +newTag: )\S+")
_SCRIPTS = re.compile(r"(?<=^console_scripts =\n)(?:    .+\n)+", re.MULTILINE)
_ENTRY = re.compile(r"^(?=  - name: )", re.MULTILINE)
_MADE = re.compile(r"^    rbac:\n.*", re.MULTILINE | re.DOTALL)
_READING = ("get", "list", "watch")
_TOLD = ("Describe", "Get", "List")
"""Prefixes of AWS actions that only read."""


def made() -> dict[Path, str]:
    """Every generated file, up to date."""
    registry = read()
    setup = ROOT / "setup.cfg"
    files = {ROOT / name: addressed((ROOT / name).read_text(encoding="utf-8"), registry) for name in ADDRESSED}
    files |= {
        PATH: with_rights(PATH.read_text(encoding="utf-8"), registry),
        setup: _SCRIPTS.sub(scripts(registry), files[setup]),
        ROOT / "docs" / "k9s-plugins.yaml": k9s(registry),
    }
    for plugin in registry.plugins:
        if plugin.completion:
            files[ROOT / "completions" / plugin.completer] = shim(plugin)
        if plugin.krew:
            files[ROOT / ".krew" / f"{plugin.name}.yaml"] = template(plugin, registry)
            index = INDEX / f"{plugin.name}.yaml"
            if index.exists():
                files[index] = manifest(plugin, registry, _sums(index))
    return files


def addressed(text: str, registry: Registry, version: str = VERSION) -> str:
    """The text with the owner wherever it names this repository or its image, and the version where one is to be
    used."""
    text = _REPOSITORY.sub(registry.owner, text)
    if registry.owner != PLACEHOLDER:
        text = with_image(text, registry.owner)
    text = _USED.sub(f"{registry.owner}/kubectl-eksdoc@{version}", text)
    text = _BASE.sub(version, text)
    text = _TAGGED.sub(rf"\g<1>{version}", text)
    return _REVISION.sub(rf"\g<1>{version}", text)


def scripts(registry: Registry) -> str:
    """The scripts that pip installs: they have the names of krew, as kubectl takes a dash for a subcommand."""
    return "".join(
        f"    {name} = {plugin.module}:main\n"
        for plugin in registry.plugins
        for name in (plugin.binary, *((plugin.completer,) if plugin.completion else ()))
    )


def shim(plugin: Plugin) -> str:
    """For packagers: the program that kubectl runs for completions, beside the main program in one folder of PATH."""
    return f'#!/bin/sh\nexec "$(dirname "$0")/{plugin.binary}" __complete "$@"\n'


def k9s(registry: Registry) -> str:
    """A plugins file of k9s. k9s passes the value of ``$NAME`` as one word, not as text of a shell."""
    entries: dict[str, object] = {}
    for plugin in registry.plugins:
        for each in plugin.shortcuts:
            words = [plugin.name, *each.args, "--context", "$CONTEXT"]
            plain = takewhile(lambda word: "$" not in word, each.args)
            entries["-".join((plugin.name, *plain))] = {
                "shortCut": each.key,
                "description": each.what,
                "scopes": list(each.scopes),
                "command": "sh",
                "background": False,
                "args": ["-c", 'kubectl "$@" 2>&1 | less -R', "sh", *words],
            }
    head = (
        "# A k9s plugins file, generated from plugins.yaml: add it to $XDG_CONFIG_HOME/k9s/plugins.yaml.\n"
        "# The keys are proposals, which no k9s has seen yet: change what is taken in yours.\n"
    )
    return head + manifests.as_yaml({"plugins": entries})


def table() -> str:
    """The question that each plugin answers, and how krew installs it."""
    rows = []
    for plugin in read().plugins:
        page = f"{plugin.command}.md" if plugin.command and plugin.command != "drain" else "index.md"
        rows.append(
            (f"[`kubectl {plugin.name}`](docs/{page})", plugin.short, f"`kubectl krew install eksdoc/{plugin.name}`")
        )
    return tables.table(("plugin", "what it does", "with krew"), rows)


def unreleased(language: str, owner: str = "") -> str:
    """A paragraph for pages about the installation; "" once there is an owner: ``make release`` requires one."""
    return _UNRELEASED[language] if (owner or read().owner) == PLACEHOLDER else ""


def manifest(plugin: Plugin, registry: Registry, sums: Mapping[str, str]) -> str:
    """As in the index of this repository; `sums`: the checksum of each platform's archive, by its uri.

    Raises:
        ValueError: one is missing.
    """
    uris = {each: registry.uri_of(VERSION, each, plugin) for each in registry.platforms}
    if not {*uris.values()} <= {*sums}:
        raise ValueError(f"no checksums of {VERSION} are known for {plugin.name}: run make krew")
    program = registry.bin_of(plugin)
    platforms = (manifests.Platform(each.os, each.arch, uri, sums[uri], program) for each, uri in uris.items())
    return manifests.rendered(_manifest(plugin, registry, VERSION, *platforms))


def _manifest(plugin: Plugin, registry: Registry, version: str, *platforms: manifests.Platform) -> manifests.Manifest:
    return manifests.Manifest(
        plugin.name, version, plugin.short, plugin.description, registry.homepage, platforms, plugin.caveats
    )


def _sums(path: Path) -> dict[str, str]:
    """The checksums in a manifest: ``make krew`` computes them when it builds the archives."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {each["uri"]: each["sha256"] for each in found["spec"]["platforms"]}


def template(plugin: Plugin, registry: Registry) -> str:
    """For krew-release-bot (pkg/source/template.go), which fills in the uris and checksums of a release's archives."""
    tag = "{{ .TagName }}"
    head = manifests.rendered(_manifest(plugin, registry, tag))
    program = registry.bin_of(plugin)
    # The checksum gets a line of its own, indented by four spaces like the other fields of a list entry.
    entries = (
        f"  - selector:\n      matchLabels:\n        os: {each.os}\n        arch: {each.arch}\n"
        f'    {{{{addURIAndSha "{registry.uri_of(tag, each, plugin)}" .TagName }}}}\n    bin: {program}\n'
        for each in registry.platforms
    )
    return f"{head}  platforms:\n{''.join(entries)}"


def with_rights(text: str, registry: Registry) -> str:
    """The registry with the rights of each plugin's commands: those of commands that only read, and the additional ones
    of the others."""
    head, *entries = _ENTRY.split(text)
    lists = [_rights(plugin) for plugin in registry.plugins]
    return head + "".join(_MADE.sub("", entry) + more for entry, more in zip(entries, lists, strict=True))


def _rights(plugin: Plugin) -> str:
    known = dict.fromkeys((*rights.BY_COMMAND, *rights.AWS_OPERATIONS))
    names = [name for name in known if not plugin.command or name.split()[0] == plugin.command]
    reading = [name for name in names if _reads(name)]
    rbac, aws = _of_rbac(reading), _of_aws(reading)
    return "".join(
        (
            _listed("rbac", rbac),
            _listed("rbac_to_change", (each for each in _of_rbac(names) if each not in rbac)),
            _listed("aws", aws),
            _listed("aws_to_change", (each for each in _of_aws(names) if each not in aws)),
        )
    )


def _reads(command: str) -> bool:
    return all(right.verb in _READING for right in rights.BY_COMMAND.get(command, ())) and all(
        question.operation.startswith(_TOLD) for question in rights.AWS_OPERATIONS.get(command, ())
    )


def _of_rbac(commands: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(str(right) for name in commands for right in rights.BY_COMMAND.get(name, ())))


def _of_aws(commands: Iterable[str]) -> list[str]:
    asked = (question for name in commands for question in rights.AWS_OPERATIONS.get(name, ()))
    return sorted({action for question in asked for action in question.actions})


def _listed(key: str, items: Iterable[str]) -> str:
    lines = list(_indented(items))
    return f"    {key}:\n{''.join(lines)}" if lines else f"    {key}: []\n"


def _indented(items: Iterable[str]) -> Iterator[str]:
    return (f"      - {each}\n" for each in items)
