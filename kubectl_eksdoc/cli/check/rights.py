"""The rights that ``check`` may use besides those of the lists it judges by, by what they are needed for."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.cli.rights import Right
from kubectl_eksdoc.core.model.check_needs import Need
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.rules.upgrades.removed_api_rows import READ_TO
from kubectl_eksdoc.core.rules.upgrades.written_kinds import OLDEST, going, gone_before

METRICS = Resource("", "/metrics", namespaced=False)
"""No resource: a path of the server itself (RBAC, nonResourceURLs)."""
SECRETS = Resource("Secret", "secrets")

_UNCOUNTED = "whether the API server has had requests for APIs that go is unknown"
_UNWRITTEN = "in which version these objects were written is unknown, where one of their versions goes on the way"
_REFUSED = "whether manifests of these would be refused today is unknown"
_NO_RELEASES = "which API versions the releases of Helm use is unknown"

BY_NEED: Mapping[Need, tuple[Right, ...]] = {
    Need.API_REQUESTS: (Right("get", METRICS, lost=_UNCOUNTED),),
    Need.API_WRITTEN: tuple(Right("list", each, lost=_UNWRITTEN) for each in going(OLDEST, READ_TO)),
    Need.API_GONE: tuple(Right("list", each, lost=_REFUSED) for each in gone_before(READ_TO)),
    Need.HELM: tuple(Right(verb, SECRETS, lost=_NO_RELEASES) for verb in ("get", "list")),
    Need.MANIFESTS: (),
}
"""Of `API_WRITTEN` and `API_GONE` all that any way needs; one way needs few of them."""
