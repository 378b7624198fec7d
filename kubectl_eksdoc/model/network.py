"""What sends traffic to pods, and what the API server calls before it creates one."""

from __future__ import annotations

from dataclasses import field

from kubectl_eksdoc.frozen import frozen

from .selectors import Labels, Selector


@frozen
class Service:
    """`selector` is empty for a Service without one (its endpoints are somebody else's).

    `ip_targets`: its load balancer is told to register pods, not nodes. `local`: a node hands what comes from outside
    only to pods of its own (externalTrafficPolicy), and so is healthy only with one. `external_ips`: it has some.
    `ports` are its own, not those of its pods.
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
    """One address of a slice; `pod_uid` is "" when it is not a pod's."""

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
    """The AWS load balancer controller's link from a Service to a target group, called `arn` by AWS; `target_type` ip
    or instance."""

    namespace: str
    name: str
    service: str
    target_type: str = ""
    arn: str = ""


@frozen
class WebhookRule:
    """What one webhook is called for; "*" stands for all, as in the API. `scope`: Cluster, Namespaced or "*"."""

    operations: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str = "*"


@frozen
class Webhook:
    """One webhook of one configuration. `service` is "" when it is called by `url`. `conditional`: its matchConditions,
    which are not read, may leave out some of what its rules name."""

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
