"""Sources of completion values for flags and commands whose parser has none: `knowledge/completion.json`.

A test fails for a flag without a source, unless it is a switch or takes one of given words.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.knowledge import knowledge_file
from kubectl_eksdoc.model.names import NameKind


class OwnNames(Enum):
    """Names that are known without a request to the cluster."""

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
    """A name of the kind `of`, with `before` in front of it. `after` follows directly, without a space; `listed`: more
    names may follow after a comma. `where`: the flag that has their namespace, "" for --namespace."""

    of: NameKind | OwnNames
    before: str = ""
    after: str = ""
    listed: bool = False
    where: str = ""


@frozen
class OpenWords:
    """One of these words; more text may follow directly."""

    words: Mapping[str, str]


@frozen
class NoCompletion:
    """No completion, and the reason."""

    why: str


CompletionSource = CompletedName | OpenWords | NoCompletion


@frozen
class NamedWords:
    """The kinds of names for words without a flag, and the maximum number of words."""

    takes: tuple[CompletedName, ...]
    most: int = 1


def _completed_name(record: Any) -> CompletedName:
    kinds = OwnNames if record["of"] in OwnNames.__members__ else NameKind
    return CompletedName(**{**record, "of": kinds[record["of"]]})


def _completion_source(record: Any) -> CompletionSource:
    return (
        NoCompletion(**record)
        if "why" in record
        else OpenWords(**record)
        if "words" in record
        else _completed_name(record)
    )


_TABLES = knowledge_file("completion")
SOURCE_BY_FLAG: Mapping[str, CompletionSource] = {
    name: _completion_source(told) for name, told in _TABLES["flags"].items()
}
"""By long name, for every command that has the flag, or by command and name, for that command."""

SOURCE_BY_METAVAR: Mapping[str, CompletionSource] = {
    name: _completion_source(told) for name, told in _TABLES["metavars"].items()
}
"""For flags that are not in `SOURCE_BY_FLAG`, by the metavar of their value."""

WORDS_BY_COMMAND: Mapping[str, NamedWords] = {
    command: NamedWords(tuple(map(_completed_name, told["takes"])), told.get("most", 1))
    for command, told in _TABLES["names"].items()
}
"""By command; a flag after it stands for the command with that flag, and comes first. Other commands take no names."""

FORMATS_BY_COMMAND: Mapping[str, str] = _TABLES["formats"]
"""The place of the list of output formats, by command; a flag after it: as in `WORDS_BY_COMMAND`. Other commands have
none."""
