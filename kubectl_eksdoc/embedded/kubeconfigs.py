"""A kubeconfig for a served cluster, and the tokens of its users."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Mapping

from kubectl_eksdoc.core.rules.addresses import AS
from kubectl_eksdoc.embedded.serving.access import ADMIN, VIEWER, Rule, User, restricted

CONTEXT = "rehearsal"

OPERATOR = restricted(
    "operator",
    (
        Rule(("get", "list", "watch"), paths=("*",)),
        Rule(("patch", "update"), ("nodes",)),
        Rule(("create",), ("pods/eviction",)),
    ),
)
"""May drain nodes, and nothing else."""

USERS = (ADMIN, VIEWER, OPERATOR)


def tokens() -> Mapping[str, User]:
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
