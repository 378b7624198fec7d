"""How the user asked to reach a cluster: kubectl's global flags, parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

IN_CLUSTER = "in-cluster"
"""What stands for a context in a pod, where there is no kubeconfig: no flag leads there from anywhere else."""

REQUEST_TIMEOUT_S = 75.0
"""A kube-apiserver ends its own requests, watches excepted, after 60 s (its --request-timeout, which EKS leaves as it
is): an answer that is not there by then does not come. The rest is for the connection."""

READ_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Connection:
    """Empty means "as the kubeconfig says". `request_timeout` is for one answer, `read_timeout` for all that one
    observation of the cluster reads, in seconds; 0 means none.

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
    request_timeout: float = REQUEST_TIMEOUT_S
    read_timeout: float = READ_TIMEOUT_S
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    tls_server_name: str = ""
    client_certificate: str = ""
    client_key: str = ""
    disable_compression: bool = False
    page_size: int = 2000


@dataclass(frozen=True, slots=True)
class OutageLimits:
    """How long reads wait for a cluster that has answered before and does not answer now: `away_s`, in which `tell` is
    told every minute what is waited for. `answered`: it has answered already when the first of them is made."""

    away_s: float
    tell: Callable[[str], object]
    answered: bool = True
