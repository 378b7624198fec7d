"""Which clusters a fleet has: from what was given to a flag, or from the entries of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from kubectl_eksdoc.core.model.fleet import Member
from kubectl_eksdoc.core.model.spelling import maybe
from kubectl_eksdoc.errors import UsageError

FLAG = "--fleet"
KEYS = {
    "name": "name",
    "context": "context",
    "kubeconfig": "kubeconfig",
    "cluster-name": "cluster",
    "region": "region",
    "profile": "profile",
    "snapshot": "snapshot",
}
"""Of an entry of a file, and the fields of a member that they fill."""

WANTED = (
    f"{FLAG} takes names of contexts with commas between them, a pattern such as 'prod-*', or a file: a list of names, "
    f"or of entries with {', '.join(KEYS)}."
)
_GLOB = re.compile(r"[*?\[]")
_SHOWN = 10


def named(text: str, contexts: Sequence[str]) -> tuple[Member, ...]:
    """Contexts and patterns behind commas: ``prod-eu,prod-us``, ``prod-*``. What a pattern matches comes sorted, and
    once however many do. A context with commas in its name is itself.

    Raises:
        UsageError: nothing is named, something twice, or no context is called so.
    """
    names = [text] if text in contexts else [part.strip() for part in text.split(",")]
    given = [name for name in names if name]
    if not given:
        raise UsageError(f"{FLAG} names no cluster", WANTED)
    found = _Members()
    for name in given:
        if name not in contexts and not _GLOB.search(name):
            what = "no context, and no file here," if len(given) == 1 else "no context"
            raise UsageError(f"{FLAG}: {what} is called {name!r}{maybe(name, contexts)}", _known(contexts))
        found.add_text(name, FLAG, contexts)
    return found.all


def listed(entries: Sequence[object], contexts: Sequence[str], where: str) -> tuple[Member, ...]:
    """The entries of a file, each a name, a pattern, or an object with `KEYS`. A context that the kubeconfig does not
    have is a member all the same: that it cannot be asked is what its row says. `where`: as in ``--fleet prod.yaml``.

    Raises:
        UsageError: there is none, one is named twice, an entry is not as it must be; the error names it.
    """
    found = _Members()
    for number, entry in enumerate(entries, 1):
        at = f"{where}, entry {number}"
        if isinstance(entry, str) and entry.strip():
            found.add_text(entry.strip(), at, contexts)
        elif isinstance(entry, Mapping):
            found.add(_member(entry, at), at)
        else:
            raise UsageError(f"{at} is neither a name nor an object", WANTED)
    if not found.all:
        raise UsageError(f"{where} names no cluster", WANTED)
    return found.all


class _Members:
    """Mutable: those that were chosen so far, by their names."""

    def __init__(self) -> None:
        self._by_name: dict[str, Member] = {}
        self._matched: set[str] = set()

    @property
    def all(self) -> tuple[Member, ...]:
        return tuple(self._by_name.values())

    def add_text(self, text: str, at: str, contexts: Sequence[str]) -> None:
        """A context, or what a pattern matches."""
        if text in contexts or not _GLOB.search(text):
            self.add(Member(text, text), at)
            return
        matching = sorted(name for name in contexts if fnmatchcase(name, text))
        if not matching:
            plain = re.sub(r"[*?\[\]]", "", text)
            raise UsageError(f"{at}: no context matches {text!r}{maybe(plain, contexts)}", _known(contexts))
        for name in matching:
            self._by_name.setdefault(name, Member(name, name))
        self._matched.update(matching)

    def add(self, member: Member, at: str) -> None:
        """One that was named; that a pattern matches it, too, does not make it two."""
        there = self._by_name.get(member.name)
        if there is not None and (there != member or member.name not in self._matched):
            raise UsageError(f"{at}: {member.name!r} is named twice", "Name it once, or give one of them another name.")
        self._by_name[member.name] = member
        self._matched.discard(member.name)


def _member(entry: Mapping[object, object], at: str) -> Member:
    strange = [str(key) for key in entry if key not in KEYS]
    if strange:
        raise UsageError(f"{at} has {strange[0][:60]!r}, which is not known{maybe(strange[0], KEYS)}", WANTED)
    fields = {field: _text(entry, key, at) for key, field in KEYS.items() if key in entry}
    if not (fields.keys() & {"context", "kubeconfig", "snapshot"}):
        raise UsageError(f"{at} says neither context nor snapshot", "Say which context of the kubeconfig it is.")
    beside = [key for key, field in KEYS.items() if field in fields and field not in ("name", "snapshot")]
    if "snapshot" in fields and beside:
        raise UsageError(f"{at} has {beside[0]} beside snapshot, and of a snapshot no cluster is asked")
    name = next(fields[key] for key in ("name", "context", "snapshot", "kubeconfig") if key in fields)
    return Member(**{"name": name, **fields})


def _text(entry: Mapping[object, object], key: str, at: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip():
        quote = " (put it in quotes)" if isinstance(value, (int, float)) else ""
        raise UsageError(f"{at}: {key} is no text{quote}", WANTED)
    if "\0" in value:
        raise UsageError(f"{at}: {key} has a character in it that no name has (NUL)", WANTED)
    return value.strip()


def _known(contexts: Iterable[str]) -> str:
    names = sorted(contexts)
    if not names:
        return "The kubeconfig has no contexts: get one with aws eks update-kubeconfig --name CLUSTER --region REGION."
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Contexts: {', '.join(names[:_SHOWN])}{more}"
