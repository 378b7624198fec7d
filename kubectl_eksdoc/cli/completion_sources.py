"""What may follow each flag and each command, where its parser does not say so itself: `knowledge/completion.json`.

A flag that is in none of them, and that is neither a switch nor one of given words, fails a test until somebody
decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.knowledge import file
from kubectl_eksdoc.model.names import NameKind


class OwnNames(Enum):
    """What is known without asking a cluster."""

    FILES = "files"
    CONTEXTS = "contexts of the kubeconfig"
    FORMATS = "output formats of the command"
    FAULTS = "faults"
    FIXES = "fixes of the metadata service"
    ADDONS = "add-ons of EKS"
    ADDON_UPDATES = "updates of add-ons that were begun on this machine"
    METADATA_FIXES = "fixes that were begun on this machine"
    DNS_CHANGES = "changes of CoreDNS that were begun on this machine"
    CHANGES = "changes that were begun on this machine"
    CHANGE_VERBS = "what can be done with them"
    COMMANDS = "words of commands that have rights"


@frozen
class CompletedName:
    """A name of `of`, written with `before` in front of it. `after` goes on behind it, so no space does; `listed`: more
    may follow behind a comma. `where`: the flag that says in which namespace they are, "" for --namespace."""

    of: NameKind | OwnNames
    before: str = ""
    after: str = ""
    listed: bool = False
    where: str = ""


@frozen
class OpenWords:
    """One of these, which more may follow directly."""

    words: Mapping[str, str]


@frozen
class NoOffer:
    """Nothing is offered, and why."""

    why: str


Follows = CompletedName | OpenWords | NoOffer


@frozen
class NamedWords:
    """What words without a flag name, and how many there may be."""

    takes: tuple[CompletedName, ...]
    most: int = 1


def _name(told: Any) -> CompletedName:
    known = OwnNames if told["of"] in OwnNames.__members__ else NameKind
    return CompletedName(**{**told, "of": known[told["of"]]})


def _follows(told: Any) -> Follows:
    return NoOffer(**told) if "why" in told else OpenWords(**told) if "words" in told else _name(told)


_TABLES = file("completion")
FLAGS: Mapping[str, Follows] = {name: _follows(told) for name, told in _TABLES["flags"].items()}
"""By the long name, of every command that has the flag, or by command and name, of that one."""

BY_METAVAR: Mapping[str, Follows] = {name: _follows(told) for name, told in _TABLES["metavars"].items()}
"""Of flags that are not in `FLAGS`, by what help calls their value."""

NAMES: Mapping[str, NamedWords] = {
    command: NamedWords(tuple(map(_name, told["takes"])), told.get("most", 1))
    for command, told in _TABLES["names"].items()
}
"""By command; a flag behind it stands for the command with that flag, and comes first. Others name nothing."""

FORMATS: Mapping[str, str] = _TABLES["formats"]
"""Where the formats of each stand, by command; a flag behind it: as in `NAMES`. Others have none."""
