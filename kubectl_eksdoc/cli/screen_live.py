"""What the screens are given of a live cluster: where it is, what it was like, who tells of changes, and the others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_eksdoc.cli.options import GlobalOptions
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.wiring import looking

if TYPE_CHECKING:  # the first paint must not pay for facts and plans
    from kubectl_eksdoc.flows.ports import Field
    from kubectl_eksdoc.tui.opening import Live, Opening


class Pinned:
    """Mutable: once it is known, the context stays the one that it was, whatever is chosen in the kubeconfig since."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = False

    def __call__(self) -> Connection:
        """Raises ConfigError: the kubeconfig cannot be used; it may be mended by the next time."""
        if not self._known:
            self._connection, self._known = looking.pinned(self._connection), True
        return self._connection


def live_of(
    reached: Pinned, options: GlobalOptions, around: Surroundings, opened: Callable[[GlobalOptions, str], Opening]
) -> Live:
    """`opened` gives the same screens with other options, by which a context was chosen."""
    from kubectl_eksdoc.tui.opening import Live

    def watch() -> AbstractContextManager[Field]:
        return around.edges.open_watch(reached())

    return Live(
        where=lambda: looking.whereabouts(reached()),
        last_view=lambda: looking.last_view(options.connection, around.environ),
        remember=lambda cluster: looking.remember(reached(), around.environ, cluster),
        watch=watch,
        contexts=lambda: looking.contexts(options.connection),
        denied=lambda asked: around.edges.denied(reached(), asked),
        at=lambda context: opened(replace(options, connection=at(options.connection, context)), context),
    )


def at(connection: Connection, context: str) -> Connection:
    """`context` of the same kubeconfig; what was said of another server or its user on the command line is not."""
    return Connection(
        kubeconfig=connection.kubeconfig,
        context=context,
        impersonate_user=connection.impersonate_user,
        impersonate_groups=connection.impersonate_groups,
        impersonate_uid=connection.impersonate_uid,
        request_timeout=connection.request_timeout,
        read_timeout=connection.read_timeout,
        disable_compression=connection.disable_compression,
        page_size=connection.page_size,
    )
