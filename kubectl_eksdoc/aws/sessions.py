"""AWS credentials and boto3 clients: one session, and a client for each service, created when first needed."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ProfileNotFound
from botocore.loaders import Loader
from botocore.utils import JSONFileCache

from kubectl_eksdoc import __version__
from kubectl_eksdoc.bounds import PRINTED_BYTES, BoundedResponse, current, listen
from kubectl_eksdoc.held_secrets import hold, hold_environment
from kubectl_eksdoc.model.aws_operations import ALL, AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess

# Models of botocore's clients, reduced to the operations that are used: a client creates a method for each operation,
# of which EC2 alone has 700, and to find one service botocore searches all 400.


BY_CREDENTIALS = frozenset(("signin", "sso", "sso-oidc", "sts"))
"""Services that botocore itself calls to get credentials."""

_OPERATIONS = "service-2"


class Models(Loader):  # type: ignore[misc]
    """Models of `operations` only: clients have no other operation. Mutable: it caches what it has read."""

    def __init__(self, asked: tuple[AwsOperation, ...]) -> None:
        super().__init__()
        self._operations: dict[str, frozenset[str]] = {
            service: frozenset(each.operation for each in asked if each.service == service)
            for service in {each.service for each in asked} - BY_CREDENTIALS
        }

    def list_available_services(self, type_name: str) -> list[str]:
        """All folders of services; whether one contains the requested model is seen when it is read."""
        return sorted({name for path in self.search_paths if os.path.isdir(path) for name in os.listdir(path)})

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        model = super().load_service_model(service_name, type_name, api_version)
        kept = self._operations.get(service_name)
        if type_name != _OPERATIONS or kept is None:
            return model
        known = model["operations"]  # an older botocore knows fewer
        return {**model, "operations": {name: known[name] for name in sorted(kept & known.keys())}}


@cache
def models() -> Models:
    """The models of all operations of the tool. One instance per process: models are read once for all clusters,
    accounts and sessions."""
    return Models(ALL)


_FILES = {"config_file": "AWS_CONFIG_FILE", "credentials_file": "AWS_SHARED_CREDENTIALS_FILE"}
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_TOKENS = ("X-Amz-Security-Token", "x-amz-sso_bearer_token")
"""Headers of requests that contain tokens."""
CONNECT_S, ANSWER_S = 5.0, 30.0


class Clients:
    """Clients by service. Mutable and thread-safe: clients are shared by threads, but created one at a time."""

    def __init__(
        self,
        access: AwsAccess,
        sent: Callable[[str], object],
        tries: int,
        endpoint: str = "",
        ask_person: Callable[[str], str] | None = None,
    ) -> None:
        """`count_request` gets every request, such as ``eks:DescribeAddon``; `max_attempts`: of a request that is
        throttled or lost; `endpoint`: a URL to use instead of AWS's own; `ask_person`: reads an MFA code, None where no
        user can be asked."""
        self._ask_person = ask_person or _nobody
        self._access = access
        self._sent = sent
        self._endpoint = endpoint or None
        self._config = _config(tries)
        self._lock = threading.Lock()
        self._session: boto3.Session | None = None
        self._made: dict[str, Any] = {}
        self._models = models()

    def of(self, service: str) -> Any:
        """The client of a service.

        Raises:
            botocore exceptions, such as for a missing profile.
        """
        with self._lock:
            if service not in self._made:
                if self._session is None:
                    self._session = self._new_session()
                client = self._session.client(service, endpoint_url=self._endpoint, config=self._config)
                self._made[service] = self._bounded(client, service)
            return self._made[service]

    def _bounded(self, client: Any, service: str) -> Any:
        """Limit responses by the bounds of the thread, and count requests.

        Each retry counts. Events contain service names that IAM does not know.
        """
        pools = client._endpoint.http_session._pool_classes_by_scheme  # of proxies, too
        pools.update({scheme: _bounded_pool(pool) for scheme, pool in pools.items()})

        def count(event_name: str, **_: Any) -> None:
            self._sent(f"{service}:{event_name.rpartition('.')[2]}")

        client.meta.events.register("before-send", count)
        return client

    def _new_session(self) -> boto3.Session:
        access = self._access
        source = self._source()
        if not access.role:
            return boto3.Session(botocore_session=source)
        assuming = self._source()  # with the same settings, and only other credentials
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=self._creator(source),
            source_credentials=_credentials(source),
            role_arn=access.role,
            extra_args={
                "RoleSessionName": "kubectl-eksdoc",
                **({"ExternalId": access.external_id} if access.external_id else {}),
            },
        )
        # The setter takes keys that never change; those of a role expire after an hour.
        assuming._credentials = DeferredRefreshableCredentials(
            refresh_using=fetcher.fetch_credentials, method="assume-role"
        )
        return boto3.Session(botocore_session=assuming)

    def _source(self) -> Any:
        """A session with the credentials that the credential plugin of the context would use."""
        access = self._access
        source = botocore.session.Session(profile=access.profile or None)
        source.register_component("data_loader", self._models)
        source.set_config_variable("region", access.region)
        hold_environment(os.environ)
        source.register("before-sign", _hold_keys)
        source.register("before-send", _hold_tokens)
        for variable, name in _FILES.items():
            if access.setting(name):
                source.set_config_variable(variable, access.setting(name))
        key, secret, token = (access.setting(name) for name in _KEYS)
        if key and secret:
            source.set_config_variable("profile", None)  # not even AWS_PROFILE of this environment
            source.set_credentials(key, secret, token or None)
        else:
            # The cache of awscli, which kubectl has just used, so that an MFA code need not be entered again. The
            # providers read the files, whose paths are set by now.
            providers = source.get_component("credential_provider")
            assuming = providers.get_provider("assume-role")
            assuming.cache = _Kept()
            assuming._prompter = self._ask_person
            providers.get_provider("custom-process")._popen = _CredentialProcess
        return source

    def _creator(self, source: Any) -> Any:
        def make(service: str, **keys: Any) -> Any:
            keys.setdefault("region_name", self._access.region)
            client = source.create_client(service, endpoint_url=self._endpoint, config=self._config, **keys)
            return self._bounded(client, service)

        return make


def _hold_keys(request_signer: Any, **_: Any) -> None:
    """Redact the keys of each request, also of those by which botocore gets credentials."""
    found = request_signer._credentials and request_signer._credentials.get_frozen_credentials()
    if found:
        hold(found.secret_key, found.token or "")


def _hold_tokens(request: Any, **_: Any) -> None:
    for name in _TOKENS:
        value = request.headers.get(name, b"")
        hold(value.decode("ascii", "replace") if isinstance(value, bytes) else value)


def _bounded_pool(pool: Any) -> Any:
    connection = type("Connection", (pool.ConnectionCls,), {"response_class": BoundedResponse})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})


def region_of(profile: str, files: Mapping[str, str]) -> str:
    """The region of a profile in AWS's configuration, "" without one. `files`: paths by the names of their variables,
    where they are not the default paths."""
    session = botocore.session.Session(profile=profile or None)
    for variable, name in _FILES.items():
        if files.get(name):
            session.set_config_variable(variable, files[name])
    try:
        return str(session.get_scoped_config().get("region", ""))
    except ProfileNotFound:  # reported where the profile is used
        return ""


_CLI_CACHE = os.path.join("~", ".aws", "cli", "cache")


class _Kept(dict[str, Any]):
    """Credentials of assumed roles: the files of awscli's cache, and those of this process, which are not written."""

    def __init__(self) -> None:
        super().__init__()
        self._of_cli = JSONFileCache(os.path.expanduser(_CLI_CACHE))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._of_cli

    def __missing__(self, key: str) -> Any:
        return self._of_cli[key]


_KILL_S = 0.3
"""How long before the end of the read time the program is killed."""


class _CredentialProcess(subprocess.Popen[bytes]):
    """The program that a profile's ``credential_process`` names, within the bounds of the thread."""

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Raises OSError: the output is too large for credentials."""
        bounds = current()
        if bounds is not None and bounds.left_s < threading.TIMEOUT_MAX:
            timer = threading.Timer(bounds.left_s - _KILL_S, self.kill)
            timer.daemon = True
            timer.start()
        output, complaint = bytearray(), bytearray()
        listener = threading.Thread(target=listen, args=(self, self.stderr, complaint), daemon=True)
        listener.start()
        listen(self, self.stdout, output)
        self.wait()
        listener.join()
        if max(len(output), len(complaint)) > PRINTED_BYTES:
            raise OSError(f"the credential_process printed more than {PRINTED_BYTES >> 20} MiB")
        return bytes(output), bytes(complaint)


def _nobody(prompt: str) -> str:
    raise RuntimeError(f"a person would have to answer {prompt.strip()!r}, which is not possible here")


def _credentials(source: Any) -> Any:
    from botocore.exceptions import NoCredentialsError

    found = source.get_credentials()
    if found is None:
        raise NoCredentialsError()
    return found


def _config(tries: int) -> Config:
    """Adaptive retries: the request rate is reduced after throttling."""
    return Config(
        retries={"mode": "adaptive", "total_max_attempts": tries},
        connect_timeout=CONNECT_S,
        read_timeout=ANSWER_S,
        user_agent_extra=f"kubectl-eksdoc/{__version__}",
        max_pool_connections=16,
    )


# The source of the credentials with which a profile assumes its role.
#
# Source: the AWS SDKs' reference, "Assume role credential provider": `source_profile` names another profile,
# `credential_source` a source outside of all profiles (Environment, Ec2InstanceMetadata, EcsContainer).


def source_of(profile: str) -> str:
    """The `credential_source` at the end of its chain of profiles, "" where there is none or it cannot be read."""
    try:
        profiles = botocore.session.Session().full_config.get("profiles", {})
    except BotoCoreError:  # reported where the profile is used
        return ""
    seen: set[str] = set()
    while profile not in seen:
        seen.add(profile)
        settings = profiles.get(profile, {})
        if settings.get("credential_source"):
            return str(settings["credential_source"])
        profile = settings.get("source_profile", profile)
    return ""
