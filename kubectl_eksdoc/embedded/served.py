"""A simulated cluster made of what was read, behind an API whose time passes as fast as asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubectl_eksdoc.core.model import versions
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.sim.cluster.kubelets import Pace
from kubectl_eksdoc.core.sim.cluster.troubles import Troubled
from kubectl_eksdoc.core.sim.cluster.workloads.everything import every_controller
from kubectl_eksdoc.embedded.api.discovery import Build
from kubectl_eksdoc.embedded.asked_dns import AskedDns
from kubectl_eksdoc.embedded.loading import Loaded
from kubectl_eksdoc.embedded.probed import MetadataServices, WithProbes
from kubectl_eksdoc.embedded.resolvers import Resolvers
from kubectl_eksdoc.embedded.serving.access import Access, User
from kubectl_eksdoc.embedded.serving.api import Api, Setup
from kubectl_eksdoc.embedded.serving.clockwork import Scaled
from kubectl_eksdoc.embedded.serving.pod_logs import PodLogs, first_of


def api_of(
    observed: Cluster,
    loaded: Loaded,
    pace: Pace,
    users: Mapping[str, User],
    speed: float,
    monotonic: Callable[[], float],
    troubled: Troubled | None = None,
    services: MetadataServices | None = None,
    note: Callable[[str], object] = str,
) -> Api:
    """What was `loaded` of a cluster; it says that it is the server that was read. `users` by their tokens; `monotonic`
    gives the wall's seconds; `troubled` is the plane with what is to go wrong in it; `services`: the instance metadata
    services of its nodes, where they are known; `note` is told why nothing is answered any more."""
    plane = loaded.plane
    dns = AskedDns(plane, speed)
    (troubled or plane).start(WithProbes(pace, dns), every_controller)
    said = observed.identity.server_version
    build = Build(git_version=whole(said)) if versions.parse(said) is not None else Build()
    resolvers = Resolvers(plane)
    logs = PodLogs(first_of(dns.logs, *(() if services is None else (services.logs,))), resolvers.lines)
    return Api(
        plane, Setup(Access(users), build, logs=logs, ports=resolvers.answer, note=note), Scaled(monotonic, speed)
    )


def whole(version: str) -> str:
    """With a patch, where only a minor is known: kubectl takes no version without one."""
    found = versions.parse(version)
    return version if found is None or found.patch is not None else f"{found}.0"
