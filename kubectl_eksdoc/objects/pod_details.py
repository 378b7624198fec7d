"""Decoder of details that few pods have: hostPaths and sockets, branch interfaces, and AWS access."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from kubectl_eksdoc.model.nodes import Asks, Branch, Calls, Probe, RoleBy, Volume, VolumeKind
from kubectl_eksdoc.model.workloads import NO_HOST_FILES, HostFiles

from .structs import MOST, NO_RAW, InternedTexts, Lean, RawCache, RawError, placed


class HostPath(Lean):
    path: str | None = None
    type: str | None = None


class _VolumeEntry(Lean):
    name: str | None = None
    host_path: HostPath | None = None


class Variable(Lean):
    value: str | None = None


class _Container(Lean):
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None


class HostingSpec(Lean):
    """The part of a template's spec that is decoded here."""

    volumes: msgspec.Raw = NO_RAW
    containers: msgspec.Raw = NO_RAW
    init_containers: msgspec.Raw = NO_RAW


_SOCKET = ".sock"


class HostPaths:
    """Decodes the host files of one observation. Most templates have no hostPath, and their containers are
    not decoded."""

    __slots__ = ("_pool", "_share", "_volumes", "_words")

    def __init__(self, share: InternedTexts) -> None:
        self._share = share
        self._pool: dict[HostFiles, HostFiles] = {}
        each = "$.spec[...]template.spec"
        self._volumes: RawCache[list[_VolumeEntry], tuple[Volume, ...]] = RawCache(
            f"{each}.volumes", list[_VolumeEntry] | None, self._paths, ()
        )
        self._words: RawCache[list[_Container], tuple[str, ...]] = RawCache(
            f"{each}.containers", list[_Container] | None, self._named, ()
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
        found = HostFiles(volumes, tuple(dict.fromkeys(words)))
        return self._pool.setdefault(found, found)

    def _paths(self, given: list[_VolumeEntry]) -> tuple[Volume, ...]:
        text = self._share.text
        return tuple(
            Volume(
                text(each.name), VolumeKind.HOST_PATH, text(each.host_path.path), path_type=text(each.host_path.type)
            )
            for each in given
            if each.host_path is not None
        )

    def _named(self, given: list[_Container]) -> tuple[str, ...]:
        return tuple(word for each in given for word in _words(each) if _SOCKET in word)


def _words(of: _Container) -> Iterator[str]:
    yield from of.command or ()
    yield from of.args or ()
    yield from (variable.value for variable in of.env or () if variable.value)


# Branch interfaces of pods with security groups of their own, from their annotation and their probes.


class Probing(Lean):
    """The probes of a container, raw until they are needed."""

    name: str | None = None
    readiness_probe: msgspec.Raw = NO_RAW
    liveness_probe: msgspec.Raw = NO_RAW
    startup_probe: msgspec.Raw = NO_RAW


class _Interface(Lean):
    private_ip: str | None = None
    ipv6_addr: str | None = None


class _Probe(Lean):
    """Only the presence of each method counts."""

    http_get: msgspec.Raw = NO_RAW
    tcp_socket: msgspec.Raw = NO_RAW
    grpc: msgspec.Raw = NO_RAW
    period_seconds: int | None = None
    failure_threshold: int | None = None


_interfaces = msgspec.json.Decoder(list[_Interface])
_probe = msgspec.json.Decoder(_Probe | None)


def branch(address: str, noted: str | None, containers: Iterable[Probing]) -> Branch:
    """`annotation`: its text; one that the controller did not write counts as none.

    Raises:
        RawError: a probe has a wrong type.
    """
    return Branch(address, _interface(noted, address), tuple(each for one in containers for each in _probes(one)))


def _interface(noted: str | None, address: str) -> str:
    """The interface's address of the same family as the pod's: in an IPv6 cluster an interface has both."""
    try:
        found = _interfaces.decode(noted or "[]")
    except (msgspec.MsgspecError, RecursionError):
        return ""
    if not found:
        return ""
    return (found[0].ipv6_addr if ":" in address else found[0].private_ip) or ""


def _probes(container: Probing) -> Iterator[Probe]:
    for asks, raw in (
        (Asks.READINESS, container.readiness_probe),
        (Asks.LIVENESS, container.liveness_probe),
        (Asks.STARTUP, container.startup_probe),
    ):
        given = bytes(raw)
        if not given:
            continue
        try:
            decoded = _probe.decode(given)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RawError(placed(error, f"$.spec.containers[...].{asks.value}Probe")) from error
        if decoded is None:
            continue
        ways = (("httpGet", decoded.http_get), ("tcpSocket", decoded.tcp_socket), ("grpc", decoded.grpc))
        by = next((way for way, said in ways if bytes(said) not in (b"", b"null")), "")
        if by:  # an exec probe runs inside the container
            # Defaults of core/v1 Probe; the server has filled them in, a dump written by hand may lack them.
            yield Probe(container.name or "", asks, by, decoded.period_seconds or 10, decoded.failure_threshold or 3)


# How a pod calls AWS: its network, its service account, the variables that give it a role, its images.


class Calling(Probing):
    """The container fields for this; variables are searched, not decoded: few of them matter."""

    image: str | None = None
    env: msgspec.Raw = NO_RAW


_NAMES = {
    b"AWS_WEB_IDENTITY_TOKEN_FILE": RoleBy.IRSA,
    b"AWS_CONTAINER_CREDENTIALS_FULL_URI": RoleBy.POD_IDENTITY,
    b"AWS_ACCESS_KEY_ID": RoleBy.KEYS,
}
# Only as names: inside a value quotes are escaped, so nothing else matches.
_ROLE = re.compile(rb'"name":\s*"(' + b"|".join(_NAMES) + rb')"')


_KEY = b"AWS_ACCESS_KEY_ID"
_SECRETS = {"AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"}


class _KeyRef(Lean):
    optional: bool | None = None


class _From(Lean):
    secret_key_ref: _KeyRef | None = None
    config_map_key_ref: _KeyRef | None = None


class _Variable(Lean):
    name: str | None = None
    value_from: _From | None = None


_VARIABLES = msgspec.json.Decoder(list[_Variable])


def _has_keys(container: Calling) -> bool:
    """Whether access keys are certainly set. An optional key is set only if its Secret exists, and charts name one that
    usually does not (aws-ebs-csi-driver, templates/controller.yaml: aws-secret). Without the secret key an SDK may
    still use IMDS (aws-sdk-go-v2, config/resolve_credentials.go: HasKeys)."""
    if _KEY not in bytes(container.env):
        return False
    try:
        variables = _VARIABLES.decode(container.env)
    except msgspec.ValidationError:
        return True
    names = {each.name for each in variables if not _optional(each.value_from)}
    return _KEY.decode() in names and not names.isdisjoint(_SECRETS)


def _optional(given: _From | None) -> bool:
    refs = (given.secret_key_ref, given.config_map_key_ref) if given is not None else ()
    return any(ref is not None and ref.optional is True for ref in refs)


class Callers:
    """Decodes the AWS access of the pods of one observation: equal values are one object. Mutable."""

    __slots__ = ("_known", "_pool", "_share")

    def __init__(self, share: InternedTexts) -> None:
        self._share = share
        self._known: dict[object, Calls] = {}
        self._pool: dict[Calls, Calls] = {}

    def __call__(self, host_network: bool | None, account: str | None, containers: Sequence[Calling]) -> Calls:
        if len(containers) == 1:  # the usual case
            (only,) = containers
            key: object = (host_network, account, only.image, bytes(only.env))
        else:
            key = (host_network, account, *((each.image, bytes(each.env)) for each in containers))
        try:
            return self._known[key]
        except KeyError:
            return self._learn(key, host_network is True, account, containers)

    def _learn(self, key: object, host_network: bool, account: str | None, containers: Sequence[Calling]) -> Calls:
        found = {match.group(1) for each in containers for match in _ROLE.finditer(each.env)}
        if _KEY in found and not all(map(_has_keys, containers)):
            found.discard(_KEY)  # keys of one container are not keys of another
        role = next((by for name, by in _NAMES.items() if name in found), RoleBy.NOBODY)
        text = self._share.text
        calls = Calls(host_network, text(account), role, tuple(text(each.image) for each in containers))
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = calls = self._pool.setdefault(calls, calls)
        return calls
