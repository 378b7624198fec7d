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
from kubectl_eksdoc.bounds import MAX_OUTPUT_BYTES, BoundedResponse, capture_stream, current_limits
from kubectl_eksdoc.held_secrets import register_environment_secrets, register_secrets
from kubectl_eksdoc.model.aws_operations import ALL, AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess

# Models of botocore's clients, reduced to the operations that are used: a client creates a method for each operation,
# of which EC2 alone has 700, and to find one service botocore searches all 400.


CREDENTIAL_SERVICES = frozenset(("signin", "sso", "sso-oidc", "sts"))
"""Services that botocore itself calls to get credentials."""

_OPERATIONS = "service-2"


class OperationModels(Loader):  # type: ignore[misc]
    """Models of `operations` only: clients have no other operation. Mutable: it caches what it has read."""

    def __init__(self, operations: tuple[AwsOperation, ...]) -> None:
        super().__init__()
        self._operations: dict[str, frozenset[str]] = {
            service: frozenset(each.operation for each in operations if each.service == service)
            for service in {each.service for each in operations} - CREDENTIAL_SERVICES
        }

    def list_available_services(self, type_name: str) -> list[str]:
        """All folders of services; whether one contains the requested model is seen when it is read."""
        return sorted({name for path in self.search_paths if os.path.isdir(path) for name in os.listdir(path)})

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        model = super().load_service_model(service_name, type_name, api_version)
        used_operations = self._operations.get(service_name)
        if type_name != _OPERATIONS or used_operations is None:
            return model
        all_operations = model["operations"]  # an older botocore knows fewer
        return {
            **model,
            "operations": {name: all_operations[name] for name in sorted(used_operations & all_operations.keys())},
        }


@cache
def operation_models() -> OperationModels:
    """The models of all operations of the tool. One instance per process: models are read once for all clusters,
    accounts and sessions."""
    return OperationModels(ALL)


_FILE_VARIABLES = {"config_file": "AWS_CONFIG_FILE", "credentials_file": "AWS_SHARED_CREDENTIALS_FILE"}
_KEY_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_TOKEN_HEADERS = ("X-Amz-Security-Token", "x-amz-sso_bearer_token")
"""Headers of requests that contain tokens."""
CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 5.0, 30.0


class ServiceClients:
    """Clients by service. Mutable and thread-safe: clients are shared by threads, but created one at a time."""

    def __init__(
        self,
        access: AwsAccess,
        count_request: Callable[[str], object],
        max_attempts: int,
        endpoint: str = "",
        ask_person: Callable[[str], str] | None = None,
    ) -> None:
        """`count_request` gets every request, such as ``eks:DescribeAddon``; `max_attempts`: of a request that is
        throttled or lost; `endpoint`: a URL to use instead of AWS's own; `ask_person`: reads an MFA code, None where no
        user can be asked."""
        self._ask_person = ask_person or _cannot_ask
        self._access = access
        self._count_request = count_request
        self._endpoint = endpoint or None
        self._config = _client_config(max_attempts)
        self._lock = threading.Lock()
        self._session: boto3.Session | None = None
        self._clients: dict[str, Any] = {}
        self._models = operation_models()

    def for_service(self, service: str) -> Any:
        """The client of a service.

        Raises:
            botocore exceptions, such as for a missing profile.
        """
        with self._lock:
            if service not in self._clients:
                if self._session is None:
                    self._session = self._new_session()
                client = self._session.client(service, endpoint_url=self._endpoint, config=self._config)
                self._clients[service] = self._limit_client(client, service)
            return self._clients[service]

    def _limit_client(self, client: Any, service: str) -> Any:
        """Limit responses by the bounds of the thread, and count requests.

        Each retry counts. Events contain service names that IAM does not know.
        """
        pools = client._endpoint.http_session._pool_classes_by_scheme  # of proxies, too
        pools.update({scheme: _limit_pool(pool) for scheme, pool in pools.items()})

        def count(event_name: str, **_: Any) -> None:
            self._count_request(f"{service}:{event_name.rpartition('.')[2]}")

        client.meta.events.register("before-send", count)
        return client

    def _new_session(self) -> boto3.Session:
        access = self._access
        source = self._source_session()
        if not access.role:
            return boto3.Session(botocore_session=source)
        role_session = self._source_session()  # with the same settings, and only other credentials
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=self._client_creator(source),
            source_credentials=_require_credentials(source),
            role_arn=access.role,
            extra_args={
                "RoleSessionName": "kubectl-eksdoc",
                **({"ExternalId": access.external_id} if access.external_id else {}),
            },
        )
        # The setter takes keys that never change; those of a role expire after an hour.
        role_session._credentials = DeferredRefreshableCredentials(
            refresh_using=fetcher.fetch_credentials, method="assume-role"
        )
        return boto3.Session(botocore_session=role_session)

    def _source_session(self) -> Any:
        """A session with the credentials that the credential plugin of the context would use."""
        access = self._access
        source = botocore.session.Session(profile=access.profile or None)
        source.register_component("data_loader", self._models)
        source.set_config_variable("region", access.region)
        register_environment_secrets(os.environ)
        source.register("before-sign", _hold_keys)
        source.register("before-send", _hold_tokens)
        for variable, name in _FILE_VARIABLES.items():
            if access.setting(name):
                source.set_config_variable(variable, access.setting(name))
        key, secret, token = (access.setting(name) for name in _KEY_VARIABLES)
        if key and secret:
            source.set_config_variable("profile", None)  # not even AWS_PROFILE of this environment
            source.set_credentials(key, secret, token or None)
        else:
            # The cache of awscli, which kubectl has just used, so that an MFA code need not be entered again. The
            # providers read the files, whose paths are set by now.
            providers = source.get_component("credential_provider")
            assume_role_provider = providers.get_provider("assume-role")
            assume_role_provider.cache = _CredentialCache()
            assume_role_provider._prompter = self._ask_person
            providers.get_provider("custom-process")._popen = _CredentialProcess
        return source

    def _client_creator(self, source: Any) -> Any:
        def make(service: str, **keys: Any) -> Any:
            keys.setdefault("region_name", self._access.region)
            client = source.create_client(service, endpoint_url=self._endpoint, config=self._config, **keys)
            return self._limit_client(client, service)

        return make


def _hold_keys(request_signer: Any, **_: Any) -> None:
    """Redact the keys of each request, also of those by which botocore gets credentials."""
    credentials = request_signer._credentials and request_signer._credentials.get_frozen_credentials()
    if credentials:
        register_secrets(credentials.secret_key, credentials.token or "")


def _hold_tokens(request: Any, **_: Any) -> None:
    for name in _TOKEN_HEADERS:
        value = request.headers.get(name, b"")
        register_secrets(value.decode("ascii", "replace") if isinstance(value, bytes) else value)


def _limit_pool(pool: Any) -> Any:
    connection = type("Connection", (pool.ConnectionCls,), {"response_class": BoundedResponse})
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})


def profile_region(profile: str, files: Mapping[str, str]) -> str:
    """The region of a profile in AWS's configuration, "" without one. `files`: paths by the names of their variables,
    where they are not the default paths."""
    session = botocore.session.Session(profile=profile or None)
    for variable, name in _FILE_VARIABLES.items():
        if files.get(name):
            session.set_config_variable(variable, files[name])
    try:
        return str(session.get_scoped_config().get("region", ""))
    except ProfileNotFound:  # reported where the profile is used
        return ""


_CLI_CACHE = os.path.join("~", ".aws", "cli", "cache")


class _CredentialCache(dict[str, Any]):
    """Credentials of assumed roles: the files of awscli's cache, and those of this process, which are not written."""

    def __init__(self) -> None:
        super().__init__()
        self._cli_cache = JSONFileCache(os.path.expanduser(_CLI_CACHE))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._cli_cache

    def __missing__(self, key: str) -> Any:
        return self._cli_cache[key]


_KILL_MARGIN_S = 0.3
"""How long before the end of the read time the program is killed."""


class _CredentialProcess(subprocess.Popen[bytes]):
    """The program that a profile's ``credential_process`` names, within the bounds of the thread."""

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Raises OSError: the output is too large for credentials."""
        bounds = current_limits()
        if bounds is not None and bounds.left_s < threading.TIMEOUT_MAX:
            timer = threading.Timer(bounds.left_s - _KILL_MARGIN_S, self.kill)
            timer.daemon = True
            timer.start()
        output, error_output = bytearray(), bytearray()
        listener = threading.Thread(target=capture_stream, args=(self, self.stderr, error_output), daemon=True)
        listener.start()
        capture_stream(self, self.stdout, output)
        self.wait()
        listener.join()
        if max(len(output), len(error_output)) > MAX_OUTPUT_BYTES:
            raise OSError(f"the credential_process printed more than {MAX_OUTPUT_BYTES >> 20} MiB")
        return bytes(output), bytes(error_output)


def _cannot_ask(prompt: str) -> str:
    raise RuntimeError(f"a person would have to answer {prompt.strip()!r}, which is not possible here")


def _require_credentials(source: Any) -> Any:
    from botocore.exceptions import NoCredentialsError

    credentials = source.get_credentials()
    if credentials is None:
        raise NoCredentialsError()
    return credentials


def _client_config(max_attempts: int) -> Config:
    """Adaptive retries: the request rate is reduced after throttling."""
    return Config(
        retries={"mode": "adaptive", "total_max_attempts": max_attempts},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        user_agent_extra=f"kubectl-eksdoc/{__version__}",
        max_pool_connections=16,
    )


# The source of the credentials with which a profile assumes its role.
#
# Source: the AWS SDKs' reference, "Assume role credential provider": `source_profile` names another profile,
# `credential_source` a source outside of all profiles (Environment, Ec2InstanceMetadata, EcsContainer).


def credential_source(profile: str) -> str:
    """The `credential_source` at the end of its chain of profiles, "" where there is none or it cannot be read."""
    try:
        profiles = botocore.session.Session().full_config.get("profiles", {})
    except BotoCoreError:  # reported where the profile is used
        return ""
    visited: set[str] = set()
    while profile not in visited:
        visited.add(profile)
        settings = profiles.get(profile, {})
        if settings.get("credential_source"):
            return str(settings["credential_source"])
        profile = settings.get("source_profile", profile)
    return ""
