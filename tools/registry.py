"""Reader for ``plugins.yaml``, the registry of entry points from which all other lists of them are generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PATH = ROOT / "plugins.yaml"
PLACEHOLDER = "OWNER"
"""The owner of a repository that is not published yet."""


@dataclass(frozen=True, slots=True)
class Platform:
    """As Go and krew name it."""

    os: str
    arch: str


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A key in k9s, its views, and the words after the plugin."""

    key: str
    scopes: tuple[str, ...]
    what: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plugin:
    """`name` as in krew: kebab-case, ``eksdoc`` or ``eksdoc-`` and a command."""

    name: str
    module: str
    short: str
    description: str
    krew: bool
    completion: bool
    since: str
    caveats: str
    shortcuts: tuple[Shortcut, ...] = ()

    @property
    def binary(self) -> str:
        """krew's link (krew, internal/installation: ``-`` becomes ``_``)."""
        return f"kubectl-{self.name.replace('-', '_')}"

    @property
    def completer(self) -> str:
        """The program that kubectl runs for its completions (kubectl, pkg/cmd/plugin/plugin_completion.go)."""
        return f"kubectl_complete-{self.name.replace('-', '_')}"

    @property
    def command(self) -> str:
        """The command that it stands for, "" for all commands."""
        return self.name.partition("-")[2]


@dataclass(frozen=True, slots=True)
class Registry:
    """`archive` and `uri` have the placeholders ``{version}``, ``{os}``, ``{arch}``, ``{archive}`` and ``{owner}``."""

    owner: str
    homepage: str
    archive: str
    uri: str
    bin: str
    entry_archive: str
    entry_bin: str
    platforms: tuple[Platform, ...]
    plugins: tuple[Plugin, ...]

    def archive_of(self, version: str, platform: Platform, plugin: Plugin | None = None) -> str:
        """The archive of the program; of a `plugin` that stands for one command its launcher, one for all platforms."""
        name = self.entry_archive if plugin and plugin.command else self.archive
        return name.format(version=version, os=platform.os, arch=platform.arch)

    def uri_of(self, version: str, platform: Platform, plugin: Plugin | None = None) -> str:
        return self.uri.format(owner=self.owner, version=version, archive=self.archive_of(version, platform, plugin))

    def bin_of(self, plugin: Plugin) -> str:
        return self.entry_bin if plugin.command else self.bin


@cache
def read(path: Path = PATH) -> Registry:
    """The registry of a file.

    Raises:
        KeyError, TypeError: it is invalid.
    """
    found: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    defaults = found["defaults"]
    return Registry(
        owner=defaults["owner"],
        homepage=defaults["homepage"].format(owner=defaults["owner"]),
        archive=defaults["archive"],
        uri=defaults["uri"],
        bin=defaults["bin"],
        entry_archive=defaults["entry_archive"],
        entry_bin=defaults["entry_bin"],
        platforms=tuple(Platform(**each) for each in defaults["platforms"]),
        plugins=tuple(_plugin(each, defaults["caveats"]) for each in found["plugins"]),
    )


def _plugin(entry: Mapping[str, Any], caveats: str) -> Plugin:
    shortcuts: Sequence[Mapping[str, Any]] = entry.get("k9s", ())
    return Plugin(
        name=entry["name"],
        module=entry["module"],
        short=entry["short"],
        description=entry["description"],
        krew=entry["krew"],
        completion=entry["completion"],
        since=entry["since"],
        caveats=entry.get("caveats", caveats),
        shortcuts=tuple(
            Shortcut(each["key"], tuple(each["scopes"]), each["what"], tuple(each["args"])) for each in shortcuts
        ),
    )
