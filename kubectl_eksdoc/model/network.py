"""Services, EndpointSlices, load balancer targets, and admission webhooks."""

from __future__ import annotations

from dataclasses import field

from kubectl_eksdoc.frozen import frozen

from .selectors import Labels, Selector


@frozen
class Service:
    """`selector` is empty for a Service without one (its endpoints are managed elsewhere).

    `ip_targets`: its load balancer registers pods, not nodes. `local`: a node forwards external traffic only to its own
    pods (externalTrafficPolicy), and so is healthy only with one. `external_ips`: it has some. `ports` are those of the
    Service, not of its pods.
    """

    namespace: str
    name: str
    type: str = "ClusterIP"
    selector: Labels = field(default_factory=dict)
    ip_targets: bool = False
    local: bool = False
    external_ips: bool = False
    ports: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@frozen
class Endpoint:
    """One address of a slice; `pod_uid` is "" if it does not belong to a pod."""

    pod_uid: str = ""
    pod_name: str = ""
    ready: bool = True


@frozen
class EndpointSlice:
    namespace: str
    service: str
    endpoints: tuple[Endpoint, ...] = ()


@frozen
class TargetGroupBinding:
    """The AWS Load Balancer Controller's link from a Service to the target group `arn`; `target_type` ip or
    instance."""

    namespace: str
    name: str
    service: str
    target_type: str = ""
    arn: str = ""


@frozen
class WebhookRule:
    """The requests for which a webhook is called; "*" matches all, as in the API. `scope`: Cluster,
    Namespaced or "*"."""

    operations: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str = "*"


@frozen
class Webhook:
    """One webhook of one configuration. `service` is "" if it is called by `url`. `conditional`: it has
    matchConditions, which are not read and may exclude some requests that its rules match."""

    configuration: str
    configuration_kind: str
    name: str
    fails_closed: bool
    namespace: str = ""
    service: str = ""
    rules: tuple[WebhookRule, ...] = ()
    namespace_selector: Selector = Selector()
    object_selector: Selector = Selector()
    url: str = ""
    conditional: bool = False
    port: int = 443

    @property
    def service_key(self) -> str:
        return f"{self.namespace}/{self.service}"
