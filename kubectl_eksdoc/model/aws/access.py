"""As whom, where and about which cluster AWS is asked."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AwsAccess:
    """Of the context that was chosen, unless the command line says otherwise; "" for what nothing tells.

    `server` is the address of the API server that kubectl talks to, `ca` its authority as PEM, and `account` the one
    that the kubeconfig names: by these it is seen whether AWS describes the same cluster. `role` is assumed first, as
    the credential plugin of the context does; `settings` are its own environment, as far as AWS's tools read it.
    """

    cluster: str
    region: str
    profile: str = ""
    role: str = ""
    external_id: str = ""  # which the role may want
    account: str = ""
    server: str = ""
    server_name: str = ""  # which TLS expects instead of the URL's host
    ca: str = ""
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def setting(self, name: str) -> str:
        return next((value for key, value in self.settings if key == name), "")
