"""Many clusters: which contexts there are, what a file names, and the processes that judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubectl_eksdoc.fleet.members import Members
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.fleet import Member


def kubeconfig_contexts(connection: Connection) -> tuple[str, ...]:
    """Those of the kubeconfig, sorted. One without a name cannot be asked for: it would be the current one.

    Raises:
        ConfigError: it cannot be used.
    """
    from kubectl_eksdoc.kube import kubeconfig
    from kubectl_eksdoc.kube.target import of_this_process

    return tuple(sorted(filter(None, kubeconfig.load(connection.kubeconfig, of_this_process()).contexts)))


def whose(member: Member, connection: Connection) -> Identity:
    """What the kubeconfig says of it; nothing is asked, and no credential plugin runs."""
    from kubectl_eksdoc.errors import ConfigError
    from kubectl_eksdoc.kube.identity import identify
    from kubectl_eksdoc.kube.kubeconfig import choose
    from kubectl_eksdoc.kube.target import of_this_process
    from kubectl_eksdoc.model.cluster import Identity

    around = of_this_process()
    found = Identity(member.context)
    if not member.snapshot:
        with suppress(ConfigError):  # its own process has said so
            found = identify(choose(connection, around), around.environ).identity
    return found.called(member.cluster, member.region)


def open_members(
    words: Callable[[Member], Sequence[str]], kind: str, environ: Mapping[str, str], timeout_s: float
) -> Members:
    """`words`: the command line for one of them, without the program; `kind`: of document it prints."""
    from kubectl_eksdoc.host.fleet import MemberProcess, MemberProcesses, environment_of, own_program

    def environment(member: Member) -> dict[str, str]:
        return environment_of(member, environ, _source(member.profile))

    return MemberProcesses(MemberProcess(words, kind, environment, timeout_s, own_program()))


def _source(profile: str) -> str:
    if not profile:
        return ""
    from kubectl_eksdoc.aws.sessions import source_of

    return source_of(profile)
