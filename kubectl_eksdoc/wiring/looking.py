"""What screens of a live cluster need besides reading it: where it is, which others there are, what it was like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.core.model.last_view import LastView
    from kubectl_eksdoc.core.model.whereabouts import Whereabouts
    from kubectl_eksdoc.host.cache.last_views import LastViews


def pinned(connection: Connection) -> Connection:
    """The same cluster and user from now on, whatever context is chosen in the kubeconfig.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import config
    from kubectl_eksdoc.kube.surroundings import of_this_process

    return config.pinned(connection, of_this_process())


def whereabouts(connection: Connection) -> Whereabouts:
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import whereabouts
    from kubectl_eksdoc.kube.surroundings import of_this_process

    return whereabouts.whereabouts(connection, of_this_process())


def contexts(connection: Connection) -> tuple[str, ...]:
    """Those of the kubeconfig, sorted."""
    from kubectl_eksdoc.kube import whereabouts
    from kubectl_eksdoc.kube.surroundings import of_this_process

    return whereabouts.contexts(connection, of_this_process())


def last_view(connection: Connection, environ: Mapping[str, str]) -> LastView | None:
    """What the cluster was like when it was read last on this machine; None where that is not known."""
    from kubectl_eksdoc.errors import ConfigError

    views = _views(environ)
    try:
        return None if views is None else views.of(whereabouts(connection).key)
    except ConfigError:
        return None


def remember(connection: Connection, environ: Mapping[str, str], cluster: Cluster) -> None:
    """For the next time."""
    from kubectl_eksdoc.core.model.last_view import last_view_of
    from kubectl_eksdoc.errors import ConfigError

    views = _views(environ)
    try:
        if views is not None:
            views.keep(whereabouts(connection).key, last_view_of(cluster))
    except ConfigError:
        return  # the kubeconfig was changed meanwhile


def _views(environ: Mapping[str, str]) -> LastViews | None:
    import os

    from kubectl_eksdoc.host.cache.files import cache_folder
    from kubectl_eksdoc.host.cache.last_views import LastViews

    folder = cache_folder(environ, environ.get("HOME") or os.path.expanduser("~"))
    return None if folder is None else LastViews(folder)
