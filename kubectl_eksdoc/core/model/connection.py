"""How the user asked to reach a cluster: kubectl's global flags, parsed."""

from __future__ import annotations

from dataclasses import dataclass

IN_CLUSTER = "in-cluster"
"""What stands for a context in a pod, where there is no kubeconfig: no flag leads there from anywhere else."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Empty means "as the kubeconfig says". `request_timeout` in seconds, 0 means none.

    `page_size` is the `limit` of list requests, at least 1.
    """

    kubeconfig: str = ""
    context: str = ""
    cluster: str = ""
    user: str = ""
    server: str = ""
    token: str = ""
    impersonate_user: str = ""
    impersonate_groups: tuple[str, ...] = ()
    impersonate_uid: str = ""
    request_timeout: float = 0.0
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    tls_server_name: str = ""
    client_certificate: str = ""
    client_key: str = ""
    disable_compression: bool = False
    page_size: int = 2000
