"""Program names, command lines and lazy imports. Every entry point of ``plugins.yaml`` is the same program under
another name."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, NamedTuple

from kubectl_eksdoc import __version__

PROG = "kubectl eksdoc"
VERSION = f"{PROG} {__version__}\n"
"""The output of ``--version``, of every entry point and of every command."""
COMPLETE = "__complete"
"""The hidden command that answers kubectl's requests for completions."""

_PLUGIN = "kubectl-eksdoc"
_COMPLETER = "kubectl_complete-eksdoc"


class ProgramName(NamedTuple):  # a dataclass would double the time of --version
    """`prog`: the command as the user calls it; `implied_words`: words that the program name stands for, before the
    typed ones."""

    prog: str = PROG
    implied_words: tuple[str, ...] = ()


def program_name(argv0: str) -> ProgramName:
    """The name for argv[0]. krew links the plugin ``eksdoc-drain`` as ``kubectl-eksdoc_drain``, which kubectl runs as
    ``kubectl eksdoc-drain``: it stands for ``kubectl eksdoc drain``, and shows that name. For its completions kubectl
    runs ``kubectl_complete-eksdoc_drain``."""
    name = os.path.basename(argv0).removesuffix(".exe")
    for plugin, words in ((_PLUGIN, ()), (_COMPLETER, (COMPLETE,))):
        if name == plugin:
            return ProgramName(implied_words=words)
        if name.startswith(f"{plugin}_"):
            return ProgramName(implied_words=(*words, name[len(plugin) + 1 :].replace("_", "-")))
    if name.startswith("kubectl-"):
        return ProgramName(f"kubectl {name[len('kubectl-') :].replace('_', '-')}")
    return ProgramName()


def split_command_line(argv: list[str]) -> tuple[ProgramName, list[str]]:
    """The program, and the words after ``kubectl eksdoc``; `argv` with the program. Completers of packagers run
    ``kubectl-eksdoc_drain __complete``, which asks for the words after ``drain``."""
    program = program_name(argv[0])
    if argv[1:2] == [COMPLETE] and program.implied_words[:1] != (COMPLETE,):
        return program, [COMPLETE, *program.implied_words, *argv[2:]]
    return program, [*program.implied_words, *argv[1:]]


def lazy_call(path: str) -> Any:
    """A function that imports the function at `path` of this package on its first call, and calls it."""
    return lambda *args, **kwargs: load_object(path)(*args, **kwargs)


def load_object(path: str) -> Any:
    """The object at `path` of this package; its module is imported."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"kubectl_eksdoc.{module}"), name)
