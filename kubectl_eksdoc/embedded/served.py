"""A simulated cluster made of what was read, behind an API whose time passes as fast as asked."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping

from kubectl_eksdoc.embedded.api.discovery import Build
from kubectl_eksdoc.embedded.loading import Loaded
from kubectl_eksdoc.embedded.probed import AskedDns, MetadataServices, Resolvers, WithProbes
from kubectl_eksdoc.embedded.serving.access import ADMIN, VIEWER, RbacRule, ServedUser, TokenUsers, restricted
from kubectl_eksdoc.embedded.serving.api import Api, Setup
from kubectl_eksdoc.embedded.serving.handler import Scaled
from kubectl_eksdoc.embedded.serving.pod_logs import PodLogs, first_of
from kubectl_eksdoc.kubernetes.addresses import AS
from kubectl_eksdoc.model import versions
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.simulator.kubelets import KubeletTimes
from kubectl_eksdoc.simulator.mishaps import FaultyControlPlane
from kubectl_eksdoc.simulator.workloads.everything import every_controller


def api_of(
    observed: Cluster,
    loaded: Loaded,
    pace: KubeletTimes,
    users: Mapping[str, ServedUser],
    speed: float,
    monotonic: Callable[[], float],
    troubled: FaultyControlPlane | None = None,
    services: MetadataServices | None = None,
    note: Callable[[str], object] = str,
) -> Api:
    """What was `loaded` of a cluster; it says that it is the server that was read. `users` by their tokens; `monotonic`
    gives the wall's seconds; `troubled` is the plane with what is to go wrong in it; `services`: the instance metadata
    services of its nodes, where they are known; `note` is told why nothing is answered any more."""
    plane = loaded.plane
    dns = AskedDns(plane, speed)
    (troubled or plane).start(WithProbes(pace, dns), every_controller)
    said = version_of(observed)
    build = Build(git_version=said) if said else Build()
    resolvers = Resolvers(plane)
    logs = PodLogs(first_of(dns.logs, *(() if services is None else (services.logs,))), resolvers.lines)
    return Api(
        plane, Setup(TokenUsers(users), build, logs=logs, ports=resolvers.answer, note=note), Scaled(monotonic, speed)
    )


def version_of(observed: Cluster) -> str:
    """Of the API server, "" where nothing tells it. In a dump nothing does: then the newest kubelet has it, which is
    never newer."""
    kubelets = [(node.kubelet, node.kubelet_text) for node in observed.nodes if node.kubelet is not None]
    newest = max(kubelets, key=lambda each: each[0])[1] if kubelets else ""
    said = observed.identity.server_version
    return whole(said if versions.parse(said) is not None else newest)


def whole(version: str) -> str:
    """With a patch, where only a minor is known: kubectl takes no version without one."""
    found = versions.parse(version)
    return version if found is None or found.patch is not None else f"{found}.0"


# A kubeconfig for a served cluster, and the tokens of its users.


CONTEXT = "rehearsal"

OPERATOR = restricted(
    "operator",
    (
        RbacRule(("get", "list", "watch"), paths=("*",)),
        RbacRule(("patch", "update"), ("nodes",)),
        RbacRule(("create",), ("pods/eviction",)),
    ),
)
"""May drain nodes, and nothing else."""

USERS = (ADMIN, VIEWER, OPERATOR)


def tokens() -> Mapping[str, ServedUser]:
    """A new token for each user."""
    return {secrets.token_urlsafe(24): user for user in USERS}


def kubeconfig(urls: Mapping[str, str]) -> str:
    """The text of one with a context for each user: `urls` by the user's name, with the token in them.

    The administrator's is the current one. It is JSON, which is YAML as well.

    ``kubectl get --raw`` leaves out the path of the server's address (cli-runtime, RequestURI), and the token with it.
    But credentials of a proxy it always sends: so each server is named as its own proxy, too.
    """
    names = {user: CONTEXT if user == ADMIN.name else f"{CONTEXT}-{user}" for user in urls}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": names[ADMIN.name],
        "clusters": [
            {"name": names[user], "cluster": {"server": url, "proxy-url": _proxy(url)}} for user, url in urls.items()
        ],
        "users": [{"name": name, "user": {}} for name in names.values()],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names.values()],
    }
    return json.dumps(config, indent=2) + "\n"


def _proxy(url: str) -> str:
    """The server of such an address as a proxy that is told the token."""
    server, _, token = url.partition(AS)
    return server.replace("://", f"://{token}@")


def write(text: str, path: str = "") -> str:
    """Write it where only this user can read it, for there are tokens in it; "": a new file. Returns the path.

    Raises:
        OSError: it cannot be written, or is there already.
    """
    if not path:
        handle, path = tempfile.mkstemp(prefix="eksdoc-rehearsal-", suffix=".kubeconfig")
    else:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return path
