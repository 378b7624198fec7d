"""Rights of Karpenter's role on the queue: which role it is, and what its policies allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kubectl_eksdoc.amazon.iam import IamRequest, PolicyDecision, Ruling, judged
from kubectl_eksdoc.amazon.interruption import ACTIONS
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import kubectl
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Subject
from kubectl_eksdoc.model.interruption import KarpenterInstall, KmsKey, Queue, RolePolicies
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import allow
from kubectl_eksdoc.model.nodes import NodeOwner, RoleBy

from .delivery import NAMELESS, NOWHERE
from .installs import NAME_LABEL, InterruptionFacts, Link, unknown

DECRYPT = "kms:Decrypt"


@frozen
class Role:
    """The ARN of the role, and how Karpenter gets it."""

    arn: str
    by: str


def role_of(install: KarpenterInstall, identity: str | Absent | Unknown) -> Role | Unknown:
    """Karpenter's role. If both exist, the ServiceAccount token (IRSA) is used first (default chain of the AWS SDKs).

    `identity`: the role from EKS Pod Identity.
    """
    if install.role_by is RoleBy.KEYS:
        return Unknown("Karpenter calls AWS with access keys from its environment: whose they are is not seen")
    if isinstance(install.irsa, str) and install.role_by is not RoleBy.POD_IDENTITY:
        return Role(install.irsa, "IRSA")
    if isinstance(identity, str):
        return Role(identity, "EKS Pod Identity")
    for said in (install.irsa, identity):
        if isinstance(said, Unknown):
            return replace(said, why=f"which role Karpenter has is not known: {said}")
    if isinstance(install.irsa, str):
        return Role(install.irsa, "IRSA")
    return Unknown("Karpenter has no role of its own (IRSA, EKS Pod Identity), so it has that of its node")


def rights_link(facts: InterruptionFacts, install: KarpenterInstall, remedy: tuple[Remedy, ...]) -> Link:
    role = role_of(install, facts.told.identity)
    subject = Subject("Role", role.arn.rpartition("/")[2] if isinstance(role, Role) else "of Karpenter")
    link = Link(Code.of("interruption-rights"), subject, remedy=remedy)
    if isinstance(role, Unknown):
        return unknown(link, role, "interruption-rights/role")
    policies = facts.told.policies
    if isinstance(policies, Unknown):
        return unknown(link, policies, "interruption-rights/policies")
    if isinstance(policies, Absent):
        named = f"{role.by} names {role.arn}"
        return link.fails("interruption-rights/no-role", named, policies.said, role=subject.name)
    if not facts.queue_arn:
        return unknown(link, NOWHERE if facts.queue else NAMELESS, "/queue")
    rulings = dict(_rulings(facts, policies))
    lacking = lacking_of(facts, policies)
    denied = {action: each for action, each in rulings.items() if each.says is PolicyDecision.DENIED}
    if denied:
        action, ruling = next(iter(denied.items()))
        return link.fails("interruption-rights/denied", actions=_listed(denied), why=ruling.why, action=action)
    if lacking:
        queue = _listed(each for each in lacking if each != DECRYPT)
        return link.fails("interruption-rights/lacking", queue=queue, key=DECRYPT in lacking)
    for action, ruling in rulings.items():
        if ruling.says is not PolicyDecision.ALLOWED:
            unread = (*policies.unread, *((policies.boundary,) if isinstance(policies.boundary, Unknown) else ()))
            missing = next((each.missing for each in unread if each.missing), "")
            why = Unknown(f"whether the role may {action} is not known: {ruling.why}", missing)
            return unknown(link, why, "interruption-rights/meaning")
    return link.passes("interruption-rights/allowed", role=link.subject.name)


def _listed(names: Iterable[str]) -> str:
    """``a, b and c``, or ""."""
    *most, last = [*names] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def lacking_of(facts: InterruptionFacts, policies: RolePolicies) -> tuple[str, ...]:
    """The actions that no policy allows: a further statement would help."""
    rulings = _rulings(facts, policies)
    return tuple(action for action, each in rulings if each.says is PolicyDecision.NOTHING)


def _rulings(facts: InterruptionFacts, policies: RolePolicies) -> Iterator[tuple[str, Ruling]]:
    queue, key = facts.told.queue, facts.told.key
    by_queue = queue.policy if isinstance(queue, Queue) else None
    for action in ACTIONS:
        yield action, _ruling(facts, policies, action, facts.queue_arn, by_queue)
    if isinstance(key, KmsKey) and key.manager != "AWS":
        yield DECRYPT, _ruling(facts, policies, DECRYPT, key.arn, key.policy, delegated=True)


def _ruling(
    facts: InterruptionFacts,
    policies: RolePolicies,
    action: str,
    resource: str,
    by_resource: Doc | Unknown | None,
    delegated: bool = False,
) -> Ruling:
    """The ruling of all policies: in one account either side may allow the action, and both may deny it.

    `delegated`: the role's own policies count only if the resource's policy delegates to the account, as a KMS key's
    does.
    """
    context = {
        "aws:securetransport": "true",
        "aws:principalarn": policies.arn,
        "aws:requestedregion": facts.place.region,
    }
    own = IamRequest(action, resource, (), context)
    root = f"arn:{facts.place.partition}:iam::{facts.place.account}:root"
    as_role = replace(own, principals=(("AWS", policies.arn),))
    as_account = replace(own, principals=(("AWS", policies.arn), ("AWS", root), ("AWS", facts.place.account)))
    mine = _and_unread(judged((doc for _, doc in policies.documents), own), policies)
    if by_resource is None:
        return _bounded(mine, policies, own)
    if isinstance(by_resource, Unknown):
        theirs = handed = Ruling(PolicyDecision.UNKNOWN, by_resource.why)
    else:
        theirs, handed = judged([by_resource], as_role), judged([by_resource], as_account)
    for each in (mine, theirs):
        if each.says is PolicyDecision.DENIED:
            return each
    if theirs.says is PolicyDecision.ALLOWED and mine.says is not PolicyDecision.UNKNOWN:
        return _bounded(theirs, policies, own)
    if delegated and mine.says is PolicyDecision.ALLOWED and handed.says is not PolicyDecision.ALLOWED:
        return handed
    if mine.says is PolicyDecision.NOTHING and theirs.says is PolicyDecision.UNKNOWN:
        return theirs
    if (
        mine.says is PolicyDecision.ALLOWED
        and theirs.says is PolicyDecision.UNKNOWN
        and not delegated
        and "may deny" in theirs.why
    ):
        return theirs
    return _bounded(mine, policies, own)


def _and_unread(ruling: Ruling, policies: RolePolicies) -> Ruling:
    """An unreadable policy may allow the action or deny it."""
    if not policies.unread or ruling.says is PolicyDecision.DENIED:
        return ruling
    return Ruling(PolicyDecision.UNKNOWN, f"not all of its policies could be read: {policies.unread[0].why}")


def _bounded(ruling: Ruling, policies: RolePolicies, asked: IamRequest) -> Ruling:
    """A permissions boundary allows nothing by itself, and limits everything else, including what a resource's policy
    allows the role (IAM user guide, permissions boundaries for IAM entities: a grant to the ARN of a role is limited by
    it)."""
    if ruling.says is not PolicyDecision.ALLOWED or policies.boundary is None:
        return ruling
    if isinstance(policies.boundary, Unknown):
        return Ruling(PolicyDecision.UNKNOWN, f"its permissions boundary could not be read: {policies.boundary.why}")
    within = judged([policies.boundary], asked)
    if within.says is PolicyDecision.NOTHING:
        return Ruling(PolicyDecision.DENIED, "its permissions boundary does not allow it")
    return within if within.says is not PolicyDecision.ALLOWED else ruling


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


def handlers(cluster: Cluster) -> tuple[Handler, ...]:
    """The handlers, by the label of the chart or by name."""
    karpenters = {
        node.name for node in cluster.nodes if node.owner is NodeOwner.KARPENTER and node.capacity_type == "spot"
    }
    found: dict[tuple[str, str, str], dict[str, bool]] = {
        (each.kind, each.namespace, each.name): {}
        for each in cluster.workloads
        if each.kind in ("DaemonSet", "Deployment")
        and (each.template_labels.get(NAME_LABEL) == HANDLER or each.name.startswith(HANDLER))
    }
    for pod in cluster.pods:
        if pod.owner is None or pod.owner.kind != "DaemonSet" or pod.finished:
            continue
        key = ("DaemonSet", pod.namespace, pod.owner.name)
        if key in found or pod.labels.get(NAME_LABEL) == HANDLER:
            found.setdefault(key, {})[pod.node] = pod.ready
    return tuple(
        Handler(*key, tuple(sorted(ready.keys() & karpenters)), tuple(sorted(node for node in ready if ready[node])))
        for key, ready in sorted(found.items())
    )


def handler_findings(cluster: Cluster, there: tuple[Handler, ...], karpenter_drains: bool | None) -> Iterator[Finding]:
    for each in there:
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
    unread = cluster.unread(kinds.DAEMON_SETS)
    if unread and not there:
        yield Finding.of(
            "interruption-node-termination-handler/unknown",
            Subject("DaemonSet", HANDLER),
            remedy=(allow(f"list {unread[0].resource.full_name}"),),
            full_name=unread[0].resource.full_name,
        )
