"""Register the EKS calls that moto lacks, or answers wrongly, in moto's own EKS.

Of moto's internals: a method of EKSResponse named like the operation is that operation's answer; `parse_parameters`
reads a request by botocore's model; ActionResult is serialised by that model; `url_paths` lists the existing paths,
and is read at the first request to the service.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.aws.world import eks_addons, eks_updates, identities, insights
from tests.aws.world.eks_state import EksState, state_of

Answer = Callable[[EksState, dict[str, Any]], dict[str, Any]]

ANSWERS: tuple[Answer, ...] = (
    eks_addons.create_addon,
    eks_addons.list_addons,
    eks_addons.describe_addon,
    eks_addons.update_addon,
    eks_addons.describe_addon_versions,
    eks_addons.describe_addon_configuration,
    eks_updates.update_nodegroup_version,
    eks_updates.list_updates,
    eks_updates.describe_update,
    eks_updates.list_nodegroups,
    insights.list_insights,
    insights.describe_insight,
    insights.start_insights_refresh,
    insights.describe_insights_refresh,
    insights.describe_cluster_versions,
    identities.create_pod_identity_association,
    identities.list_pod_identity_associations,
    identities.describe_pod_identity_association,
)


def register() -> None:
    """Register the calls, once per process, before the server answers its first request."""
    from botocore import xform_name
    from moto.core.utils import get_service_model
    from moto.eks import urls
    from moto.eks.responses import EKSResponse

    model = get_service_model("eks")
    operations = {xform_name(name): model.operation_model(name) for name in model.operation_names}
    for answer in ANSWERS:
        setattr(EKSResponse, answer.__name__, _method(answer))
        path = operations[answer.__name__].http["requestUri"]
        urls.url_paths.setdefault("{0}" + _pattern(path) + "$", urls.response.dispatch)


def _method(answer: Answer) -> Callable[[Any], Any]:
    from moto.core.responses import ActionResult

    def method(response: Any) -> Any:
        response.parse_parameters(response.normalized_request)
        state = state_of(response.eks_backend)
        with state.lock:
            return ActionResult(answer(state, {k: v for k, v in response.params.items() if v is not None}))

    method.__name__ = answer.__name__
    return method


def _pattern(path: str) -> str:
    """``/clusters/{name}/addons`` as moto writes it: ``/clusters/(?P<name>[^/]+)/addons``."""
    return path.replace("{", "(?P<").replace("}", ">[^/]+)")
