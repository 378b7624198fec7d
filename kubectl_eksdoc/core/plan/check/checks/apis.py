"""APIs that Kubernetes stops serving on the way: who asks for them, and what is written in them."""

from __future__ import annotations

from kubectl_eksdoc.core.model.check_codes import apis as codes
from kubectl_eksdoc.core.model.check_needs import Need
from kubectl_eksdoc.core.plan.check.areas import Area, Gate
from kubectl_eksdoc.core.plan.check.checking import Check
from kubectl_eksdoc.core.plan.check.checks import api_manifests, api_objects, api_requests

_GATE = Gate.BEFORE_CONTROL_PLANE

CHECKS = (
    Check((codes.REQUESTED,), Area.APIS, _GATE, api_requests.judge, needs=(Need.API_REQUESTS,)),
    Check((codes.WRITTEN,), Area.APIS, _GATE, api_objects.judge, needs=(Need.API_WRITTEN,)),
    Check((codes.IN_HELM,), Area.APIS, _GATE, api_manifests.judge_releases, needs=(Need.HELM,)),
    Check((codes.IN_MANIFEST,), Area.APIS, _GATE, api_manifests.judge_files, needs=(Need.MANIFESTS,)),
    # What is refused today is so with or without an upgrade.
    Check((codes.REFUSED,), Area.APIS, None, api_objects.judge_refused, needs=(Need.API_GONE,)),
    Check((codes.IN_HELM,), Area.APIS, None, api_manifests.judge_releases_today, needs=(Need.HELM,)),
    Check((codes.IN_MANIFEST,), Area.APIS, None, api_manifests.judge_files_today, needs=(Need.MANIFESTS,)),
)
