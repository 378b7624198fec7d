"""What kubectl runs for completions: a link ``kubectl_complete-X`` beside the program ``kubectl-X``.

Source: kubectl, pkg/cmd/plugin/plugin_completion.go: it is looked for on PATH, under the name of the plugin.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path

from kubectl_eksdoc.errors import cause_of
from kubectl_eksdoc.frozen import frozen

PROGRAM = "kubectl-eksdoc"
_NAME = re.compile(r"kubectl-(eksdoc(?:_[a-z0-9_]+)?)(\.exe)?\Z")
_LINKED = re.compile(r"kubectl_complete-(eksdoc(?:_[a-z0-9_]+)?)(\.cmd|\.exe)?\Z")
_LARGEST = 64 << 10
_MARKS = (b"kubectl_eksdoc", b"__complete")
"""What a script of pip imports, and what a shim of this tool or of a packager says."""


class CompleterState(Enum):
    LINK = "link"
    SCRIPT = "script"
    MISSING = "missing"
    DANGLING = "dangling"
    OTHER = "other"


@frozen
class Completer:
    """`plugin` as in the names of files: ``eksdoc_drain``; `target` is its program, "" where that is gone. `other`: the
    path of another completer of that name that comes earlier on PATH, "" for none."""

    plugin: str
    path: Path
    target: str
    state: CompleterState
    other: str = ""


@frozen
class Installed:
    """`on_path`: kubectl finds what lies in `folder`."""

    folder: Path
    on_path: bool
    completers: tuple[Completer, ...]


def folder_of(argv0: str, environ: Mapping[str, str]) -> Path | None:
    """Where this program was found: kubectl runs a plugin by its path. None: nowhere that could be told."""
    if _NAME.match(os.path.basename(argv0)):
        found = argv0 if os.path.dirname(argv0) else shutil.which(argv0, path=environ.get("PATH", ""))
    else:  # python -m kubectl_eksdoc
        found = shutil.which(PROGRAM, path=environ.get("PATH", ""))
    return Path(os.path.abspath(found)).parent if found else None


def installed_in(folder: Path, environ: Mapping[str, str]) -> Installed:
    """Raises OSError: the folder cannot be read."""
    names = sorted(os.listdir(folder))
    programs = {match[1]: name for name in names if (match := _NAME.match(name))}
    linked = {match[1] for name in names if (match := _LINKED.match(name)) and match[1] not in programs}
    completers = [_completer(folder, plugin, program, environ) for plugin, program in programs.items()]
    completers += [_completer(folder, plugin, "", environ) for plugin in sorted(linked)]
    return Installed(folder, on_path(folder, environ), tuple(completers))


def link(completer: Completer) -> None:
    """Raises OSError: it cannot be made."""
    if os.name == "nt":  # links need rights there; kubectl finds .cmd by PATHEXT
        completer.path.write_text(f'@"%~dp0{completer.target}" __complete %*\r\n', encoding="utf-8", newline="")
    else:
        os.symlink(completer.target, completer.path)


def unlink(completer: Completer) -> None:
    """Raises OSError: it cannot be removed."""
    completer.path.unlink()


def _completer(folder: Path, plugin: str, program: str, environ: Mapping[str, str]) -> Completer:
    path = folder / f"kubectl_complete-{plugin}{'.cmd' if os.name == 'nt' else ''}"
    first = shutil.which(path.name, path=environ.get("PATH", ""))
    other = first if first and Path(os.path.abspath(first)).parent != folder else ""
    return Completer(plugin, path, program, _state(path, plugin, program), other or "")


def _state(path: Path, plugin: str, program: str) -> CompleterState:
    try:
        leads = os.readlink(path)
    except FileNotFoundError:
        return CompleterState.MISSING
    except OSError:  # it is no link
        return CompleterState.SCRIPT if is_ours(path) else CompleterState.OTHER
    if leads not in (f"kubectl-{plugin}", str(path.with_name(f"kubectl-{plugin}"))):
        return CompleterState.SCRIPT if is_ours(path) else CompleterState.OTHER
    return CompleterState.LINK if program else CompleterState.DANGLING


def is_ours(path: Path) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        content = file.read(_LARGEST)
        return any(mark in content for mark in _MARKS)
    return False


def on_path(folder: Path, environ: Mapping[str, str]) -> bool:
    folders = filter(None, environ.get("PATH", "").split(os.pathsep))
    return os.path.realpath(folder) in map(os.path.realpath, folders)


# The plugins that stand for one command each: links ``kubectl-eksdoc_X`` to the program ``kubectl-eksdoc`` beside it.
#
# krew installs a plugin of its own for each of them; with links one installation is enough. krew replaces the link
# ``kubectl-eksdoc`` when it upgrades and leaves other files in its folder alone (krew, internal/installation/install.go
# and upgrade.go), so that links to it lead to the new version.


COMMANDS = ("drain", "addon-diff", "imds-probe", "coredns-lameduck", "interruption", "check")
"""Those that have an entry point, as in plugins.yaml."""
_SUFFIX = ".exe" if os.name == "nt" else ""


class EntryPointState(Enum):
    """INSTALLED: krew or pip made it."""

    LINK = "link"
    INSTALLED = "installed"
    MISSING = "missing"
    DANGLING = "dangling"
    OTHER = "other"


@frozen
class EntryPoint:
    command: str
    path: Path
    state: EntryPointState


def entry_points(folder: Path) -> tuple[EntryPoint, ...]:
    """Those of the program in `folder`."""
    paths = {each: folder / f"{PROGRAM}_{each.replace('-', '_')}{_SUFFIX}" for each in COMMANDS}
    return tuple(EntryPoint(command, path, _entry_points_state(path)) for command, path in paths.items())


def link_plugins(entry: EntryPoint) -> None:
    """Raises OSError: it cannot be made."""
    os.symlink(f"{PROGRAM}{_SUFFIX}", entry.path)


def unlink_plugins(entry: EntryPoint) -> None:
    """Raises OSError: it cannot be removed."""
    entry.path.unlink()


def _entry_points_state(path: Path) -> EntryPointState:
    if not os.path.lexists(path):
        return EntryPointState.MISSING
    main = path.with_name(f"{PROGRAM}{_SUFFIX}")
    if path.is_symlink() and os.readlink(path) in (main.name, str(main)):
        return EntryPointState.LINK if path.exists() else EntryPointState.DANGLING
    return EntryPointState.INSTALLED if is_ours(path) else EntryPointState.OTHER


# The user's file of keys for the screens.
#
# ``$XDG_CONFIG_HOME/eksdoc/keys.json``, or else ``~/.config/eksdoc/keys.json``.


MOST_BYTES = 1 << 20

WANTED = 'write {"mark": "v"}: the name of an action, and its key or several with commas'


def path_of(environ: Mapping[str, str]) -> Path | None:
    """None where neither variable says where; a relative XDG_CONFIG_HOME counts as none, as its specification says."""
    configured, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if Path(configured).is_absolute():
        return Path(configured, "eksdoc", "keys.json")
    return Path(home, ".config", "eksdoc", "keys.json") if home else None


def read_keymap(environ: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The keys by the names of their actions, and what is wrong with the file, a sentence each.

    Without a file there are none and nothing is wrong.
    """
    path = path_of(environ)
    try:
        if path is None or not path.is_file():
            return {}, ()
        with path.open("rb") as file:
            text = file.read(MOST_BYTES)
        found = json.loads(text.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        return {}, (f"{path} cannot be read, so all keys are as they come: {cause_of(error)}",)
    if not isinstance(found, dict):
        return {}, (f"{path} is no object, so all keys are as they come: {WANTED}",)
    keys = {name: key for name, key in found.items() if isinstance(key, str)}
    return keys, tuple(f"{path}: the key of {name!r} is no text; {WANTED}" for name in found if name not in keys)
