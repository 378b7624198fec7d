"""What this program was called as: every entry point of ``plugins.yaml`` is the same program under another name;
and what is loaded only when it is called."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, NamedTuple

from kubectl_eksdoc import __version__

PROG = "kubectl eksdoc"
VERSION = f"{PROG} {__version__}\n"
"""What ``--version`` says, of every entry point and of every command."""
COMPLETE = "__complete"
"""The hidden command that answers kubectl's questions for completions."""

_PLUGIN = "kubectl-eksdoc"
_COMPLETER = "kubectl_complete-eksdoc"


class ProgramName(NamedTuple):  # a dataclass would cost whoever asks for the version as much as all else
    """`prog`: how the user calls it; `before`: the words that its name stands for, ahead of those that were typed."""

    prog: str = PROG
    before: tuple[str, ...] = ()


def called_as(argv0: str) -> ProgramName:
    """krew links the plugin ``eksdoc-drain`` as ``kubectl-eksdoc_drain``, which kubectl runs as ``kubectl
    eksdoc-drain``: it is ``kubectl eksdoc drain``, and says so. For its completions kubectl runs
    ``kubectl_complete-eksdoc_drain``."""
    name = os.path.basename(argv0).removesuffix(".exe")
    for whole, first in ((_PLUGIN, ()), (_COMPLETER, (COMPLETE,))):
        if name == whole:
            return ProgramName(before=first)
        if name.startswith(f"{whole}_"):
            return ProgramName(before=(*first, name[len(whole) + 1 :].replace("_", "-")))
    if name.startswith("kubectl-"):
        return ProgramName(f"kubectl {name[len('kubectl-') :].replace('_', '-')}")
    return ProgramName()


def command_line(argv: list[str]) -> tuple[ProgramName, list[str]]:
    """The words behind ``kubectl eksdoc``; `argv` with the program. Packagers' completers run ``kubectl-eksdoc_drain
    __complete``, which asks for what follows ``drain``."""
    called = called_as(argv[0])
    if argv[1:2] == [COMPLETE] and called.before[:1] != (COMPLETE,):
        return called, [COMPLETE, *called.before, *argv[2:]]
    return called, [*called.before, *argv[1:]]


def late(place: str) -> Any:
    """The function at `place` of this package, whose module is loaded when it is called first."""
    return lambda *args, **kwargs: there(place)(*args, **kwargs)


def there(place: str) -> Any:
    """What stands at `place` of this package, whose module is loaded for it."""
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"kubectl_eksdoc.{module}"), name)
