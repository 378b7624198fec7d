"""With what a pod calls AWS: its network, its service account, the variables that give it a role, its images."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from kubectl_eksdoc.core.model.pods import Calls, RoleBy
from kubectl_eksdoc.objects.branches import Probing
from kubectl_eksdoc.objects.caches import Texts
from kubectl_eksdoc.objects.structs import NO_RAW


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


class Callers:
    """The calls of one observation: equal ones are one object. Mutable."""

    __slots__ = ("_known", "_share")

    def __init__(self, share: Texts) -> None:
        self._share = share
        self._known: dict[tuple[object, ...], Calls] = {}

    def __call__(self, host_network: bool | None, account: str | None, containers: Sequence[Calling]) -> Calls:
        found = {match.group(1) for each in containers for match in _ROLE.finditer(each.env)}
        role = next((by for name, by in _NAMES.items() if name in found), RoleBy.NOBODY)
        key = (host_network is True, account, role, *(each.image for each in containers))
        known = self._known.get(key)
        if known is None:
            text = self._share.text
            images = tuple(text(each.image) for each in containers)
            known = self._known[key] = Calls(host_network is True, text(account), role, images)
        return known
