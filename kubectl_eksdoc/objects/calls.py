"""With what a pod calls AWS: its network, its service account, the variables that give it a role, its images."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from kubectl_eksdoc.core.model.pods import Calls, RoleBy
from kubectl_eksdoc.objects.branches import Probing
from kubectl_eksdoc.objects.caches import MOST, Texts
from kubectl_eksdoc.objects.structs import NO_RAW, Lean


class Calling(Probing):
    """What of a container tells it; its variables are searched, not decoded: most have none that matter."""

    image: str | None = None
    env: msgspec.Raw = NO_RAW


_NAMES = {
    b"AWS_WEB_IDENTITY_TOKEN_FILE": RoleBy.IRSA,
    b"AWS_CONTAINER_CREDENTIALS_FULL_URI": RoleBy.POD_IDENTITY,
    b"AWS_ACCESS_KEY_ID": RoleBy.KEYS,
}
# As names only: inside a value quotes are escaped, so nothing else matches.
_ROLE = re.compile(rb'"name":\s*"(' + b"|".join(_NAMES) + rb')"')


_KEY = b"AWS_ACCESS_KEY_ID"


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
    """Surely: a key that is optional is there only if somebody has made its Secret, and charts name one that nobody
    has (aws-ebs-csi-driver, templates/controller.yaml: aws-secret)."""
    if _KEY not in bytes(container.env):
        return False
    try:
        variables = _VARIABLES.decode(container.env)
    except msgspec.ValidationError:
        return True
    return any(each.name == _KEY.decode() and not _optional(each.value_from) for each in variables)


def _optional(given: _From | None) -> bool:
    refs = (given.secret_key_ref, given.config_map_key_ref) if given is not None else ()
    return any(ref is not None and ref.optional is True for ref in refs)


class Callers:
    """The calls of one observation: equal ones are one object. Mutable."""

    __slots__ = ("_known", "_pool", "_share")

    def __init__(self, share: Texts) -> None:
        self._share = share
        self._known: dict[object, Calls] = {}
        self._pool: dict[Calls, Calls] = {}

    def __call__(self, host_network: bool | None, account: str | None, containers: Sequence[Calling]) -> Calls:
        if len(containers) == 1:  # as a rule
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
        if _KEY in found and not any(map(_has_keys, containers)):
            found.discard(_KEY)
        role = next((by for name, by in _NAMES.items() if name in found), RoleBy.NOBODY)
        text = self._share.text
        calls = Calls(host_network, text(account), role, tuple(text(each.image) for each in containers))
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = calls = self._pool.setdefault(calls, calls)
        return calls
