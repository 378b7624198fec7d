"""What a live cluster tells of its past: revisions of pod templates, and Events."""

from __future__ import annotations

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.changes import ChangesTold, Revision
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.core.model.kinds import EVENTS, HISTORY_OF
from kubectl_eksdoc.kube.namespace_lists import EVERY, NamespaceLists
from kubectl_eksdoc.kube.surroundings import Surroundings
from kubectl_eksdoc.objects.changes import event, revision


class Past:
    """Mutable: it holds a connection."""

    def __init__(self, connection: Connection, around: Surroundings | None = None) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._lists = NamespaceLists(connection, around)

    def told(self) -> ChangesTold:
        """Raises ClusterError: the cluster cannot be talked to."""
        revisions: dict[str, tuple[Revision, ...] | Unknown] = {}
        for kind, kept in HISTORY_OF.items():
            docs = self._lists.listed(kept, EVERY)
            if isinstance(docs, Unknown):
                revisions[kind] = docs
                continue
            made = (revision(doc) for doc in docs)
            revisions[kind] = tuple(each for each in made if each is not None and each.of.kind == kind)
        docs = self._lists.listed(EVENTS, EVERY)
        events = docs if isinstance(docs, Unknown) else tuple(e for doc in docs if (e := event(doc)) is not None)
        return ChangesTold(revisions, events)

    def close(self) -> None:
        self._lists.close()
