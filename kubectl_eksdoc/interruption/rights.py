"""Rights of Karpenter's role on the queue: which role it is, and what its policies allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kubectl_eksdoc.amazon.iam import IamRequest, PolicyDecision, PolicyRuling, judge_policies
from kubectl_eksdoc.amazon.interruption import QUEUE_ACTIONS
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import kubectl
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Subject
from kubectl_eksdoc.model.interruption import KarpenterInstall, KmsKey, Queue, RolePolicies
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import allow_right
from kubectl_eksdoc.model.nodes import NodeOwner, RoleSource

from .delivery import QUEUE_PLACE_UNKNOWN, QUEUE_UNKNOWN
from .installs import NAME_LABEL, InterruptionFacts, Link, unknown_link

DECRYPT = "kms:Decrypt"


@frozen
class Role:
    """The ARN of the role, and how Karpenter gets it."""

    arn: str
    by: str


def karpenter_role(install: KarpenterInstall, identity: str | Absent | Unknown) -> Role | Unknown:
    """Karpenter's role. If both exist, the ServiceAccount token (IRSA) is used first (default chain of the AWS SDKs).

    `identity`: the role from EKS Pod Identity.
    """
    if install.role_by is RoleSource.KEYS:
        return Unknown("Karpenter calls AWS with access keys from its environment: whose they are is not seen")
    if isinstance(install.irsa, str) and install.role_by is not RoleSource.POD_IDENTITY:
        return Role(install.irsa, "IRSA")
    if isinstance(identity, str):
        return Role(identity, "EKS Pod Identity")
    for role in (install.irsa, identity):
        if isinstance(role, Unknown):
            return replace(role, why=f"which role Karpenter has is not known: {role}")
    if isinstance(install.irsa, str):
        return Role(install.irsa, "IRSA")
    return Unknown("Karpenter has no role of its own (IRSA, EKS Pod Identity), so it has that of its node")


def rights_link(facts: InterruptionFacts, install: KarpenterInstall, remedy: tuple[Remedy, ...]) -> Link:
    role = karpenter_role(install, facts.told.identity)
    subject = Subject("Role", role.arn.rpartition("/")[2] if isinstance(role, Role) else "of Karpenter")
    link = Link(Code.of("interruption-rights"), subject, remedy=remedy)
    if isinstance(role, Unknown):
        return unknown_link(link, role, "interruption-rights/role")
    policies = facts.told.policies
    if isinstance(policies, Unknown):
        return unknown_link(link, policies, "interruption-rights/policies")
    if isinstance(policies, Absent):
        role_text = f"{role.by} names {role.arn}"
        return link.fails("interruption-rights/no-role", role_text, policies.said, role=subject.name)
    if not facts.queue_arn:
        return unknown_link(link, QUEUE_PLACE_UNKNOWN if facts.queue else QUEUE_UNKNOWN, "/queue")
    rulings = dict(_rulings(facts, policies))
    not_allowed = missing_actions(facts, policies)
    denied = {action: each for action, each in rulings.items() if each.decision is PolicyDecision.DENIED}
    if denied:
        action, ruling = next(iter(denied.items()))
        return link.fails("interruption-rights/denied", actions=_joined_names(denied), why=ruling.reason, action=action)
    if not_allowed:
        queue = _joined_names(each for each in not_allowed if each != DECRYPT)
        return link.fails("interruption-rights/lacking", queue=queue, key=DECRYPT in not_allowed)
    for action, ruling in rulings.items():
        if ruling.decision is not PolicyDecision.ALLOWED:
            unreadable = (*policies.unread, *((policies.boundary,) if isinstance(policies.boundary, Unknown) else ()))
            missing = next((each.missing for each in unreadable if each.missing), "")
            why = Unknown(f"whether the role may {action} is not known: {ruling.reason}", missing)
            return unknown_link(link, why, "interruption-rights/meaning")
    return link.passes("interruption-rights/allowed", role=link.subject.name)


def _joined_names(names: Iterable[str]) -> str:
    """``a, b and c``, or ""."""
    *first_names, last = [*names] or [""]
    return f"{', '.join(first_names)} and {last}" if first_names else last


def missing_actions(facts: InterruptionFacts, policies: RolePolicies) -> tuple[str, ...]:
    """The actions that no policy allows: a further statement would help."""
    rulings = _rulings(facts, policies)
    return tuple(action for action, each in rulings if each.decision is PolicyDecision.NOTHING)


def _rulings(facts: InterruptionFacts, policies: RolePolicies) -> Iterator[tuple[str, PolicyRuling]]:
    queue, key = facts.told.queue, facts.told.key
    queue_policy = queue.policy if isinstance(queue, Queue) else None
    for action in QUEUE_ACTIONS:
        yield action, _ruling(facts, policies, action, facts.queue_arn, queue_policy)
    if isinstance(key, KmsKey) and key.manager != "AWS":
        yield DECRYPT, _ruling(facts, policies, DECRYPT, key.arn, key.policy, delegated=True)


def _ruling(
    facts: InterruptionFacts,
    policies: RolePolicies,
    action: str,
    resource: str,
    resource_policy: Doc | Unknown | None,
    delegated: bool = False,
) -> PolicyRuling:
    """The ruling of all policies: in one account either side may allow the action, and both may deny it.

    `delegated`: the role's own policies count only if the resource's policy delegates to the account, as a KMS key's
    does.
    """
    context = {
        "aws:securetransport": "true",
        "aws:principalarn": policies.arn,
        "aws:requestedregion": facts.place.region,
    }
    request = IamRequest(action, resource, (), context)
    root = f"arn:{facts.place.partition}:iam::{facts.place.account}:root"
    as_role = replace(request, principals=(("AWS", policies.arn),))
    as_account = replace(request, principals=(("AWS", policies.arn), ("AWS", root), ("AWS", facts.place.account)))
    role_ruling = _with_unread_policies(judge_policies((doc for _, doc in policies.documents), request), policies)
    if resource_policy is None:
        return _within_boundary(role_ruling, policies, request)
    if isinstance(resource_policy, Unknown):
        resource_ruling = account_ruling = PolicyRuling(PolicyDecision.UNKNOWN, resource_policy.why)
    else:
        resource_ruling, account_ruling = (
            judge_policies([resource_policy], as_role),
            judge_policies([resource_policy], as_account),
        )
    for each in (role_ruling, resource_ruling):
        if each.decision is PolicyDecision.DENIED:
            return each
    if resource_ruling.decision is PolicyDecision.ALLOWED and role_ruling.decision is not PolicyDecision.UNKNOWN:
        return _within_boundary(resource_ruling, policies, request)
    if (
        delegated
        and role_ruling.decision is PolicyDecision.ALLOWED
        and account_ruling.decision is not PolicyDecision.ALLOWED
    ):
        return account_ruling
    if role_ruling.decision is PolicyDecision.NOTHING and resource_ruling.decision is PolicyDecision.UNKNOWN:
        return resource_ruling
    if (
        role_ruling.decision is PolicyDecision.ALLOWED
        and resource_ruling.decision is PolicyDecision.UNKNOWN
        and not delegated
        and "may deny" in resource_ruling.reason
    ):
        return resource_ruling
    return _within_boundary(role_ruling, policies, request)


def _with_unread_policies(ruling: PolicyRuling, policies: RolePolicies) -> PolicyRuling:
    """An unreadable policy may allow the action or deny it."""
    if not policies.unread or ruling.decision is PolicyDecision.DENIED:
        return ruling
    return PolicyRuling(PolicyDecision.UNKNOWN, f"not all of its policies could be read: {policies.unread[0].why}")


def _within_boundary(ruling: PolicyRuling, policies: RolePolicies, request: IamRequest) -> PolicyRuling:
    """A permissions boundary allows nothing by itself, and limits everything else, including what a resource's policy
    allows the role (IAM user guide, permissions boundaries for IAM entities: a grant to the ARN of a role is limited by
    it)."""
    if ruling.decision is not PolicyDecision.ALLOWED or policies.boundary is None:
        return ruling
    if isinstance(policies.boundary, Unknown):
        return PolicyRuling(
            PolicyDecision.UNKNOWN, f"its permissions boundary could not be read: {policies.boundary.why}"
        )
    boundary_ruling = judge_policies([policies.boundary], request)
    if boundary_ruling.decision is PolicyDecision.NOTHING:
        return PolicyRuling(PolicyDecision.DENIED, "its permissions boundary does not allow it")
    return boundary_ruling if boundary_ruling.decision is not PolicyDecision.ALLOWED else ruling


# The AWS Node Termination Handler, which may drain nodes, too. Source: its README (two modes: a DaemonSet that asks the
# instance metadata of its node, and a Deployment that reads a queue), Karpenter's documentation (advises against both).


HANDLER = "aws-node-termination-handler"


@frozen
class Handler:
    """`on`: Spot nodes of Karpenter on which its DaemonSet runs; `ready`: all nodes on which the DaemonSet's pod is
    Ready. A Deployment reads a queue of its own."""

    kind: str
    namespace: str
    name: str
    on: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()

    @property
    def by_node(self) -> bool:
        return self.kind == "DaemonSet"


def find_handlers(cluster: Cluster) -> tuple[Handler, ...]:
    """The handlers, by the label of the chart or by name."""
    karpenter_spot_nodes = {
        node.name for node in cluster.nodes if node.owner is NodeOwner.KARPENTER and node.capacity_type == "spot"
    }
    ready_by_handler: dict[tuple[str, str, str], dict[str, bool]] = {
        (each.kind, each.namespace, each.name): {}
        for each in cluster.workloads
        if each.kind in ("DaemonSet", "Deployment")
        and (each.template_labels.get(NAME_LABEL) == HANDLER or each.name.startswith(HANDLER))
    }
    for pod in cluster.pods:
        if pod.owner is None or pod.owner.kind != "DaemonSet" or pod.finished:
            continue
        key = ("DaemonSet", pod.namespace, pod.owner.name)
        if key in ready_by_handler or pod.labels.get(NAME_LABEL) == HANDLER:
            ready_by_handler.setdefault(key, {})[pod.node] = pod.ready
    return tuple(
        Handler(
            *key,
            tuple(sorted(ready.keys() & karpenter_spot_nodes)),
            tuple(sorted(node for node in ready if ready[node])),
        )
        for key, ready in sorted(ready_by_handler.items())
    )


def handler_findings(
    cluster: Cluster, handlers: tuple[Handler, ...], karpenter_drains: bool | None
) -> Iterator[Finding]:
    for each in handlers:
        subject = Subject(each.kind, each.name, each.namespace)
        if each.by_node and each.on and karpenter_drains is not False:
            yield Finding.of(
                "interruption-node-termination-handler/drains-too",
                subject,
                each.on,
                on_count=len(each.on),
                command=kubectl("get", each.kind.lower(), each.name, each.namespace, "-o", "yaml"),
            )
            continue
        if each.by_node and each.on:
            yield Finding.of("interruption-node-termination-handler/waits", subject, on_count=len(each.on))
        else:
            yield Finding.of(
                "interruption-node-termination-handler/not-on-spot"
                if each.by_node
                else "interruption-node-termination-handler/own-queue",
                subject,
            )
    not_read = cluster.not_read(kinds.DAEMON_SETS)
    if not_read and not handlers:
        yield Finding.of(
            "interruption-node-termination-handler/unknown",
            Subject("DaemonSet", HANDLER),
            remedy=(allow_right(f"list {not_read[0].resource.full_name}"),),
            full_name=not_read[0].resource.full_name,
        )
