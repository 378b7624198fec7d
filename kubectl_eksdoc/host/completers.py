"""Completion for kubectl plugins: a link ``kubectl_complete-X`` beside the program ``kubectl-X``.

Source: kubectl, pkg/cmd/plugin/plugin_completion.go: kubectl searches PATH for it by the name of the plugin.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path

from kubectl_eksdoc.frozen import frozen

PROGRAM = "kubectl-eksdoc"
_PROGRAM_NAME = re.compile(r"kubectl-(eksdoc(?:_[a-z0-9_]+)?)(\.exe)?\Z")
_LINK_NAME = re.compile(r"kubectl_complete-(eksdoc(?:_[a-z0-9_]+)?)(\.cmd|\.exe)?\Z")
_MAX_SCRIPT_BYTES = 64 << 10
_SCRIPT_MARKERS = (b"kubectl_eksdoc", b"__complete")
"""Text that identifies a script of this tool: the import in a script of pip, and the argument in a shim."""


class CompleterState(Enum):
    LINK = "link"
    SCRIPT = "script"
    MISSING = "missing"
    DANGLING = "dangling"
    OTHER = "other"


@frozen
class Completer:
    """A completion program. `plugin` as in file names: ``eksdoc_drain``; `target` is the plugin's program, "" if it is
    missing. `shadowed_by`: the path of another completer of that name earlier on PATH, "" for none."""

    plugin: str
    path: Path
    target: str
    state: CompleterState
    shadowed_by: str = ""


@frozen
class InstalledCompleters:
    """`on_path`: kubectl finds the files in `folder`."""

    folder: Path
    on_path: bool
    completers: tuple[Completer, ...]


def program_folder(argv0: str, environ: Mapping[str, str]) -> Path | None:
    """The folder of this program: kubectl runs a plugin by its path. None if it cannot be determined."""
    if _PROGRAM_NAME.match(os.path.basename(argv0)):
        program_path = argv0 if os.path.dirname(argv0) else shutil.which(argv0, path=environ.get("PATH", ""))
    else:  # python -m kubectl_eksdoc
        program_path = shutil.which(PROGRAM, path=environ.get("PATH", ""))
    return Path(os.path.abspath(program_path)).parent if program_path else None


def installed_completers(folder: Path, environ: Mapping[str, str]) -> InstalledCompleters:
    """Raises OSError: the folder cannot be read."""
    names = sorted(os.listdir(folder))
    programs = {match[1]: name for name in names if (match := _PROGRAM_NAME.match(name))}
    linked = {match[1] for name in names if (match := _LINK_NAME.match(name)) and match[1] not in programs}
    completers = [_completer(folder, plugin, program, environ) for plugin, program in programs.items()]
    completers += [_completer(folder, plugin, "", environ) for plugin in sorted(linked)]
    return InstalledCompleters(folder, is_on_path(folder, environ), tuple(completers))


def link_completer(completer: Completer) -> None:
    """Raises OSError: the link cannot be created."""
    if os.name == "nt":  # links require privileges on Windows; kubectl finds .cmd by PATHEXT
        completer.path.write_text(f'@"%~dp0{completer.target}" __complete %*\r\n', encoding="utf-8", newline="")
    else:
        os.symlink(completer.target, completer.path)


def unlink_completer(completer: Completer) -> None:
    """Raises OSError: the link cannot be removed."""
    completer.path.unlink()


def _completer(folder: Path, plugin: str, program: str, environ: Mapping[str, str]) -> Completer:
    path = folder / f"kubectl_complete-{plugin}{'.cmd' if os.name == 'nt' else ''}"
    first = shutil.which(path.name, path=environ.get("PATH", ""))
    shadowed_by = first if first and Path(os.path.abspath(first)).parent != folder else ""
    return Completer(plugin, path, program, _completer_state(path, plugin, program), shadowed_by or "")


def _completer_state(path: Path, plugin: str, program: str) -> CompleterState:
    try:
        link_target = os.readlink(path)
    except FileNotFoundError:
        return CompleterState.MISSING
    except OSError:  # it is no link
        return CompleterState.SCRIPT if is_own_script(path) else CompleterState.OTHER
    if link_target not in (f"kubectl-{plugin}", str(path.with_name(f"kubectl-{plugin}"))):
        return CompleterState.SCRIPT if is_own_script(path) else CompleterState.OTHER
    return CompleterState.LINK if program else CompleterState.DANGLING


def is_own_script(path: Path) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        content = file.read(_MAX_SCRIPT_BYTES)
        return any(marker in content for marker in _SCRIPT_MARKERS)
    return False


def is_on_path(folder: Path, environ: Mapping[str, str]) -> bool:
    folders = filter(None, environ.get("PATH", "").split(os.pathsep))
    return os.path.realpath(folder) in map(os.path.realpath, folders)


# Entry points of single commands: links ``kubectl-eksdoc_X`` to the program ``kubectl-eksdoc`` beside them.
#
# krew installs a separate plugin for each entry point; with links one installation is enough. When krew upgrades, it
# replaces the link ``kubectl-eksdoc`` and keeps other files in its folder (krew, internal/installation/install.go and
# upgrade.go), so links to it point to the new version.


ENTRY_POINT_COMMANDS = ("drain", "addon-diff", "imds-probe", "coredns-lameduck", "interruption", "check")
"""The commands with an entry point, as in plugins.yaml."""
_SUFFIX = ".exe" if os.name == "nt" else ""


class EntryPointState(Enum):
    """INSTALLED: by krew or pip."""

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
    """The entry points of the program in `folder`."""
    paths = {each: folder / f"{PROGRAM}_{each.replace('-', '_')}{_SUFFIX}" for each in ENTRY_POINT_COMMANDS}
    return tuple(EntryPoint(command, path, _entry_point_state(path)) for command, path in paths.items())


def link_entry_point(entry: EntryPoint) -> None:
    """Raises OSError: the link cannot be created."""
    os.symlink(f"{PROGRAM}{_SUFFIX}", entry.path)


def unlink_entry_point(entry: EntryPoint) -> None:
    """Raises OSError: the link cannot be removed."""
    entry.path.unlink()


def _entry_point_state(path: Path) -> EntryPointState:
    if not os.path.lexists(path):
        return EntryPointState.MISSING
    main = path.with_name(f"{PROGRAM}{_SUFFIX}")
    if path.is_symlink() and os.readlink(path) in (main.name, str(main)):
        return EntryPointState.LINK if path.exists() else EntryPointState.DANGLING
    return EntryPointState.INSTALLED if is_own_script(path) else EntryPointState.OTHER
