"""Decoder of details that few pods have: hostPaths and sockets, branch interfaces, and AWS access."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kubectl_eksdoc.model.nodes import BranchInterface, Calls, Probe, ProbeKind, RoleSource, Volume, VolumeKind
from kubectl_eksdoc.model.workloads import NO_HOST_FILES, HostFiles

from .structs import MAX_CACHE_ENTRIES, NO_RAW, InternedTexts, LeanStruct, RawCache, RawError, with_path


class HostPath(LeanStruct):
    path: str | None = None
    type: str | None = None


class _VolumeEntry(LeanStruct):
    name: str | None = None
    host_path: HostPath | None = None


class Variable(LeanStruct):
    value: str | None = None


class _Container(LeanStruct):
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None


class HostingSpec(LeanStruct):
    """The part of a template's spec that is decoded here."""

    volumes: msgspec.Raw = NO_RAW
    containers: msgspec.Raw = NO_RAW
    init_containers: msgspec.Raw = NO_RAW


_SOCKET = ".sock"


class HostFilesDecoder:
    """Decodes the host files of one observation. Most templates have no hostPath, and their containers are
    not decoded."""

    __slots__ = ("_pool", "_share", "_volumes", "_words")

    def __init__(self, share: InternedTexts) -> None:
        self._share = share
        self._pool: dict[HostFiles, HostFiles] = {}
        each = "$.spec[...]template.spec"
        self._volumes: RawCache[list[_VolumeEntry], tuple[Volume, ...]] = RawCache(
            f"{each}.volumes", list[_VolumeEntry] | None, self._host_paths, ()
        )
        self._words: RawCache[list[_Container], tuple[str, ...]] = RawCache(
            f"{each}.containers", list[_Container] | None, self._socket_words, ()
        )

    def __call__(self, spec: HostingSpec) -> HostFiles:
        """The host files of a template.

        Raises:
            RawError: a lazily decoded part has a wrong type.
        """
        volumes = self._volumes(spec.volumes) if spec.volumes is not NO_RAW else ()
        if not volumes:
            return NO_HOST_FILES
        words = (*self._words(spec.init_containers), *self._words(spec.containers))
        host_files = HostFiles(volumes, tuple(dict.fromkeys(words)))
        return self._pool.setdefault(host_files, host_files)

    def _host_paths(self, entries: list[_VolumeEntry]) -> tuple[Volume, ...]:
        text = self._share.text
        return tuple(
            Volume(
                text(each.name), VolumeKind.HOST_PATH, text(each.host_path.path), path_type=text(each.host_path.type)
            )
            for each in entries
            if each.host_path is not None
        )

    def _socket_words(self, containers: list[_Container]) -> tuple[str, ...]:
        return tuple(word for each in containers for word in _container_words(each) if _SOCKET in word)


def _container_words(container: _Container) -> Iterator[str]:
    yield from container.command or ()
    yield from container.args or ()
    yield from (variable.value for variable in container.env or () if variable.value)


# Branch interfaces of pods with security groups of their own, from their annotation and their probes.


class ContainerProbes(LeanStruct):
    """The probes of a container, raw until they are needed."""

    name: str | None = None
    readiness_probe: msgspec.Raw = NO_RAW
    liveness_probe: msgspec.Raw = NO_RAW
    startup_probe: msgspec.Raw = NO_RAW


class _Interface(LeanStruct):
    private_ip: str | None = None
    ipv6_addr: str | None = None


class _Probe(LeanStruct):
    """Only the presence of each method counts."""

    http_get: msgspec.Raw = NO_RAW
    tcp_socket: msgspec.Raw = NO_RAW
    grpc: msgspec.Raw = NO_RAW
    period_seconds: int | None = None
    failure_threshold: int | None = None


_interfaces = msgspec.json.Decoder(list[_Interface])
_probe = msgspec.json.Decoder(_Probe | None)


def build_branch(address: str, annotation: str | None, containers: Iterable[ContainerProbes]) -> BranchInterface:
    """`annotation`: its text; one that the controller did not write counts as none.

    Raises:
        RawError: a probe has a wrong type.
    """
    return BranchInterface(
        address,
        _interface_address(annotation, address),
        tuple(each for container in containers for each in _network_probes(container)),
    )


def _interface_address(annotation: str | None, address: str) -> str:
    """The interface's address of the same family as the pod's: in an IPv6 cluster an interface has both."""
    try:
        interfaces = _interfaces.decode(annotation or "[]")
    except (msgspec.MsgspecError, RecursionError):
        return ""
    if not interfaces:
        return ""
    return (interfaces[0].ipv6_addr if ":" in address else interfaces[0].private_ip) or ""


def _network_probes(container: ContainerProbes) -> Iterator[Probe]:
    for kind, raw in (
        (ProbeKind.READINESS, container.readiness_probe),
        (ProbeKind.LIVENESS, container.liveness_probe),
        (ProbeKind.STARTUP, container.startup_probe),
    ):
        body = bytes(raw)
        if not body:
            continue
        try:
            decoded = _probe.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RawError(with_path(error, f"$.spec.containers[...].{kind.value}Probe")) from error
        if decoded is None:
            continue
        methods = (("httpGet", decoded.http_get), ("tcpSocket", decoded.tcp_socket), ("grpc", decoded.grpc))
        method = next((way for way, method_raw in methods if bytes(method_raw) not in (b"", b"null")), "")
        if method:  # an exec probe runs inside the container
            # Defaults of core/v1 Probe; the server has filled them in, a dump written by hand may lack them.
            yield Probe(
                container.name or "", kind, method, decoded.period_seconds or 10, decoded.failure_threshold or 3
            )


# How a pod calls AWS: its network, its service account, the variables that give it a role, its images.


class AwsCallingContainer(ContainerProbes):
    """The container fields for this; variables are searched, not decoded: few of them matter."""

    image: str | None = None
    env: msgspec.Raw = NO_RAW


_ROLE_VARIABLES = {
    b"AWS_WEB_IDENTITY_TOKEN_FILE": RoleSource.IRSA,
    b"AWS_CONTAINER_CREDENTIALS_FULL_URI": RoleSource.POD_IDENTITY,
    b"AWS_ACCESS_KEY_ID": RoleSource.KEYS,
}
# Only as names: inside a value quotes are escaped, so nothing else matches.
_ROLE_VARIABLE = re.compile(rb'"name":\s*"(' + b"|".join(_ROLE_VARIABLES) + rb')"')


_KEY = b"AWS_ACCESS_KEY_ID"
_SECRETS = {"AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"}


class _KeyRef(LeanStruct):
    optional: bool | None = None


class _ValueFrom(LeanStruct):
    secret_key_ref: _KeyRef | None = None
    config_map_key_ref: _KeyRef | None = None


class _Variable(LeanStruct):
    name: str | None = None
    value_from: _ValueFrom | None = None


_VARIABLES = msgspec.json.Decoder(list[_Variable])


def _has_access_keys(container: AwsCallingContainer) -> bool:
    """Whether access keys are certainly set. An optional key is set only if its Secret exists, and charts name one that
    usually does not (aws-ebs-csi-driver, templates/controller.yaml: aws-secret). Without the secret key an SDK may
    still use IMDS (aws-sdk-go-v2, config/resolve_credentials.go: HasKeys)."""
    if _KEY not in bytes(container.env):
        return False
    try:
        variables = _VARIABLES.decode(container.env)
    except msgspec.ValidationError:
        return True
    names = {each.name for each in variables if not _is_optional(each.value_from)}
    return _KEY.decode() in names and not names.isdisjoint(_SECRETS)


def _is_optional(value_from: _ValueFrom | None) -> bool:
    refs = (value_from.secret_key_ref, value_from.config_map_key_ref) if value_from is not None else ()
    return any(ref is not None and ref.optional is True for ref in refs)


class AwsAccessDecoder:
    """Decodes the AWS access of the pods of one observation: equal values are one object. Mutable."""

    __slots__ = ("_by_key", "_pool", "_share")

    def __init__(self, share: InternedTexts) -> None:
        self._share = share
        self._by_key: dict[object, Calls] = {}
        self._pool: dict[Calls, Calls] = {}

    def __call__(
        self, host_network: bool | None, account: str | None, containers: Sequence[AwsCallingContainer]
    ) -> Calls:
        if len(containers) == 1:  # the usual case
            (only,) = containers
            key: object = (host_network, account, only.image, bytes(only.env))
        else:
            key = (host_network, account, *((each.image, bytes(each.env)) for each in containers))
        try:
            return self._by_key[key]
        except KeyError:
            return self._build(key, host_network is True, account, containers)

    def _build(
        self, key: object, host_network: bool, account: str | None, containers: Sequence[AwsCallingContainer]
    ) -> Calls:
        variables = {match.group(1) for each in containers for match in _ROLE_VARIABLE.finditer(each.env)}
        if _KEY in variables and not all(map(_has_access_keys, containers)):
            variables.discard(_KEY)  # keys of one container are not keys of another
        role = next((by for name, by in _ROLE_VARIABLES.items() if name in variables), RoleSource.NONE)
        text = self._share.text
        access = Calls(host_network, text(account), role, tuple(text(each.image) for each in containers))
        if len(self._by_key) >= MAX_CACHE_ENTRIES:
            self._by_key.clear()
        self._by_key[key] = access = self._pool.setdefault(access, access)
        return access
