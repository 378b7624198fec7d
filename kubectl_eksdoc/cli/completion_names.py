"""Where names for completion come from: tables of this package, this machine, the kubeconfig, a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli.called import late, there
from kubectl_eksdoc.cli.completion_candidates import Cursor, for_command
from kubectl_eksdoc.cli.completion_sources import FORMATS, OwnNames
from kubectl_eksdoc.cli.flags import HONOURED, FlagValueKind
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.change_journal import ADDON_UPDATE, DNS_CHANGE, METADATA_FIX
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.names import Name, NameKind
from kubectl_eksdoc.session.sources import SourceChoice

if TYPE_CHECKING:
    from kubectl_eksdoc.kube.target import CredentialContext
    from kubectl_eksdoc.wiring.names import BackgroundReads

_AWS_WAIT_S = 0.3
"""It mostly takes longer, and what it could add is little."""


@frozen
class Looking:
    """`beside`: as of `wiring.names.names_of`."""

    environ: Mapping[str, str]
    home: str
    beside: BackgroundReads | None = None

    def of(self, what: NameKind | OwnNames, cursor: Cursor, where: str = "") -> Iterable[Name]:
        """As `candidates._Names.of`."""
        if isinstance(what, OwnNames):
            return _OWN[what](self, cursor)
        from kubectl_eksdoc.wiring.names import runs_here
        from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE

        if what is NameKind.RUNS:
            kept = self.asked(what, cursor, cursor.last(where) or JOURNAL_NAMESPACE)
            return (*runs_here(self.environ, self.home), *kept)
        return self.asked(what, cursor, cursor.last("--namespace") if what is NameKind.PODS else "")

    def kubeconfig(self) -> CredentialContext:
        from kubectl_eksdoc.kube.target import CredentialContext

        return CredentialContext(self.environ, self.home)

    def asked(self, what: NameKind, cursor: Cursor, namespace: str = "") -> tuple[Name, ...]:
        """Of the cluster that the flags before the cursor lead to."""
        from kubectl_eksdoc.host.signals import begun
        from kubectl_eksdoc.wiring.names import WAIT_S, BackgroundReads, NameQuery, names_of

        source = SourceChoice(snapshot=cursor.last("--snapshot"), demo=cursor.switched("--demo"))
        aws = (cursor.last("--cluster-name"), cursor.last("--region"), cursor.last("--profile"))
        given = aws if what is NameKind.ADDONS else ("", "", "")
        asked = NameQuery(what, source, connection_of(cursor), namespace, given)
        beside = self.beside or BackgroundReads(begun, _AWS_WAIT_S if what is NameKind.ADDONS else WAIT_S)
        try:
            return names_of(asked, self.environ, self.home, beside)
        except EksdocError:
            return ()  # whoever runs the command is told why


def connection_of(cursor: Cursor) -> Connection:
    """By the flags before the cursor; one that is no good is left out."""
    known = {field.name for field in fields(Connection)}
    given: dict[str, object] = {}
    for flag in HONOURED:
        if flag.dest in known and flag.long in cursor.given and flag.takes is not FlagValueKind.SECONDS:
            values = cursor.given[flag.long]
            if flag.takes is FlagValueKind.SWITCH:
                given[flag.dest] = cursor.switched(flag.long)
            else:
                given[flag.dest] = values if flag.takes is FlagValueKind.REPEATED else values[-1]
    return Connection(**given)  # type: ignore[arg-type]


def _of_journals(*kinds: str) -> Callable[[Looking, Cursor], Iterable[Name]]:
    """Of changes of these kinds, or of all."""

    def read(looking: Looking, cursor: Cursor) -> Iterable[Name]:
        from kubectl_eksdoc.wiring.names import changes_here

        return changes_here(looking.environ, looking.home, kinds)

    return read


def _formats(looking: Looking, cursor: Cursor) -> Iterable[Name]:
    place = for_command(FORMATS, cursor)
    found = there(place) if place is not None else ()
    return map(Name, getattr(found, "formats", found))


def _faults(looking: Looking, cursor: Cursor) -> Iterable[Name]:
    from kubectl_eksdoc.cli.options import LIST
    from kubectl_eksdoc.embedded.faults import ALL

    return (Name(LIST, "show all of them"), *(Name(each.name, each.about) for each in ALL))


def _addons(looking: Looking, cursor: Cursor) -> Iterable[Name]:
    from kubectl_eksdoc.amazon.addon_needs import KNOWN

    there = {each.text for each in looking.asked(NameKind.ADDONS, cursor)}
    known = {each.name: each.about for each in KNOWN if each.eks_addon}
    for name in sorted(there | {*known}):
        about = (known.get(name, ""), "in this cluster" if name in there else "")
        yield Name(name, ", ".join(filter(None, about)))


_OWN: Mapping[OwnNames, Callable[[Looking, Cursor], Iterable[Name]]] = {
    OwnNames.FILES: lambda *_: (),  # the shell's own affair
    OwnNames.CONTEXTS: lambda looking, cursor: late("kube.contexts.context_names")(
        cursor.last("--kubeconfig"), looking.kubeconfig()
    ),
    OwnNames.FORMATS: _formats,
    OwnNames.COMMANDS: lambda _, cursor: map(Name, late("permissions.command.rights.next_words")(cursor.names)),
    OwnNames.FAULTS: _faults,
    OwnNames.FIXES: lambda *_: map(Name, there("imds_probe.fix.CARRIED_OUT")),
    OwnNames.ADDONS: _addons,
    OwnNames.ADDON_UPDATES: _of_journals(ADDON_UPDATE),
    OwnNames.METADATA_FIXES: _of_journals(METADATA_FIX),
    OwnNames.DNS_CHANGES: _of_journals(DNS_CHANGE),
    OwnNames.CHANGES: lambda looking, cursor: _of_journals()(looking, cursor) if cursor.names else (),
    OwnNames.CHANGE_VERBS: lambda _, cursor: () if cursor.names else map(Name, there("changes.command.VERBS")),
}
