"""Names that stand in the kubeconfig, for completion. None where it cannot be read: whoever uses it is told why."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from kubectl_eksdoc.errors import ConfigError
from kubectl_eksdoc.kube import kubeconfig
from kubectl_eksdoc.kube.identity import EksIdentity, identify
from kubectl_eksdoc.kube.kubeconfig import Kubeconfig, choose
from kubectl_eksdoc.kube.target import CredentialContext
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.names import Name


def contexts(path: str, around: CredentialContext) -> tuple[Name, ...]:
    """Each with its cluster; `path` as of --kubeconfig."""
    config = _config(path, around)
    found = []
    for name, entry in sorted(config.contexts.items()):
        cluster = ""
        with suppress(ConfigError):
            cluster = kubeconfig.text(entry.fields, "cluster")
        now = "the current one" if name == config.current_context else ""
        found.append(Name(name, ", ".join(filter(None, (now, cluster if cluster != name else "")))))
    return tuple(found)


def clusters(path: str, around: CredentialContext) -> tuple[Name, ...]:
    return tuple(map(Name, sorted(_config(path, around).clusters)))


def users(path: str, around: CredentialContext) -> tuple[Name, ...]:
    return tuple(map(Name, sorted(_config(path, around).users)))


def eks_clusters(path: str, around: CredentialContext) -> tuple[Name, ...]:
    """Those that its contexts lead to, each with its region."""
    found = {each.identity.cluster: each.region for each in _identities(path, around)}
    return tuple(Name(name, region) for name, region in sorted(found.items()) if name)


def regions(path: str, around: CredentialContext) -> tuple[Name, ...]:
    return tuple(map(Name, sorted({each.region for each in _identities(path, around)} - {""})))


def _config(path: str, around: CredentialContext) -> Kubeconfig:
    try:
        return kubeconfig.load(path, around)
    except ConfigError:
        return Kubeconfig()


def _identities(path: str, around: CredentialContext) -> Iterable[EksIdentity]:
    config = _config(path, around)
    for name in config.contexts:
        with suppress(ConfigError):
            yield identify(choose(Connection(kubeconfig=path, context=name), around, config), around.environ)
