"""The plugins that stand for one command each: links ``kubectl-eksdoc_X`` to the program ``kubectl-eksdoc`` beside it.

krew installs a plugin of its own for each of them; with links one installation is enough. krew replaces the link
``kubectl-eksdoc`` when it upgrades and leaves other files in its folder alone (krew, internal/installation/install.go
and upgrade.go), so that links to it lead to the new version.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kubectl_eksdoc.host.completers import PROGRAM, is_ours

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


@dataclass(frozen=True, slots=True)
class EntryPoint:
    command: str
    path: Path
    state: EntryPointState


def entry_points(folder: Path) -> tuple[EntryPoint, ...]:
    """Those of the program in `folder`."""
    paths = {each: folder / f"{PROGRAM}_{each.replace('-', '_')}{_SUFFIX}" for each in COMMANDS}
    return tuple(EntryPoint(command, path, _state(path)) for command, path in paths.items())


def link(entry: EntryPoint) -> None:
    """Raises OSError: it cannot be made."""
    os.symlink(f"{PROGRAM}{_SUFFIX}", entry.path)


def unlink(entry: EntryPoint) -> None:
    """Raises OSError: it cannot be removed."""
    entry.path.unlink()


def _state(path: Path) -> EntryPointState:
    if not os.path.lexists(path):
        return EntryPointState.MISSING
    main = path.with_name(f"{PROGRAM}{_SUFFIX}")
    if path.is_symlink() and os.readlink(path) in (main.name, str(main)):
        return EntryPointState.LINK if path.exists() else EntryPointState.DANGLING
    return EntryPointState.INSTALLED if is_ours(path) else EntryPointState.OTHER
