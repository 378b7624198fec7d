"""What is typed behind the colon: names of pages and of what keys do, by k9s' names and by how they begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.model.spelling import matches

THEMES = ("dark", "light")


@dataclass(frozen=True, slots=True)
class _Command:
    """`names`: the first is the one that is shown; `key`: the id of the key that does the same, "" for one that is
    only a command; `values`: what may stand behind it, none for nothing."""

    names: tuple[str, ...]
    key: str = ""
    values: tuple[str, ...] = ()


COMMANDS: tuple[_Command, ...] = (
    _Command(("nodes", "no", "node", "plan"), "plan"),
    _Command(("pdb", "pdbs", "poddisruptionbudgets", "budgets", "headroom"), "headroom"),
    _Command(("waves", "wave", "gantt"), "waves"),
    _Command(("blockers", "block", "findings"), "blockers"),
    _Command(("what-if", "what", "whatif", "compare"), "compare"),
    _Command(("knobs", "options"), "knobs"),
    _Command(("run", "drain"), "run"),
    _Command(("dry-run",), "dry-run"),
    _Command(("log", "journal"), "show-run"),
    _Command(("runs",), "runs"),
    _Command(("context", "ctx", "contexts"), "context"),
    _Command(("rights", "rbac", "permissions"), "rights"),
    _Command(("faults",), "faults"),
    _Command(("wide",), "wide"),
    _Command(("filter",), "filter"),
    _Command(("copy", "command"), "command"),
    _Command(("undo",), "undo"),
    _Command(("redo",), "redo"),
    _Command(("theme", "colours", "colors"), values=THEMES),
    _Command(("reload", "refresh"), "reload"),
    _Command(("help", "h", "?"), "help"),
    _Command(("quit", "q", "q!", "exit"), "quit"),
)


@dataclass(frozen=True, slots=True)
class Typed:
    """A command with what stands behind it, "" for nothing."""

    command: _Command
    value: str = ""


def read(text: str, known: Sequence[_Command] = COMMANDS) -> Typed | str:
    """The command that is meant, or why none is. A name may be cut short as long as only one command begins so."""
    words = text.strip().lower().split()
    if not words:
        return "nothing was typed"
    word, rest = words[0], words[1:]
    found = _named(word, known)
    if isinstance(found, str):
        return found
    name = found.names[0]
    if not found.values:
        return Typed(found) if not rest else f":{name} takes nothing behind it"
    meant = [value for value in found.values if len(rest) == 1 and value.startswith(rest[0])]
    if len(meant) != 1:
        return f"write :{name} {' or '.join(found.values)}"
    return Typed(found, meant[0])


def begins(text: str, known: Sequence[_Command] = COMMANDS) -> tuple[str, ...]:
    """The names that can be meant by what is typed so far, as they are shown."""
    word = text.strip().lower()
    return tuple(each.names[0] for each in known if any(name.startswith(word) for name in each.names))


def _named(word: str, known: Sequence[_Command]) -> _Command | str:
    exact = [each for each in known if word in each.names]
    if exact:
        return exact[0]
    begun = [each for each in known if any(name.startswith(word) for name in each.names)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        return f":{word} could be {' or '.join(each.names[0] for each in begun)}"
    shown = {name: each.names[0] for each in known for name in each.names}
    near = matches(word, shown)
    meant = (
        f": did you mean :{shown[near[0]]}?" if near else f": there are {', '.join(each.names[0] for each in known)}"
    )
    return f"there is no :{word}{meant}"
