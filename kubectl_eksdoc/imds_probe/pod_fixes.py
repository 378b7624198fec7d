"""Fixes of pods, independent of their nodes: roles, flags and environment variables instead of the metadata service.

Sources: EKS user guide, Pod Identity (trust policy, create-pod-identity-association, effective at the start of a pod)
and IRSA; `imds_probe.programs` for flags and variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import kubectl, resource_word, shell
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.nodes import NodeOwner, Pod, RoleBy

from .affected import AGAIN, AffectedPod, Effect
from .fix import (
    CONTROLLER_FLAGS,
    OWN_ROLE,
    RESTART_PODS,
    BlastRadius,
    Fix,
)
from .node_sources import ClusterPlace, GroupNodes
from .programs import (
    ContainerCommand,
    ImdsNeed,
    ProgramSettings,
    needs_of,
    program_of,
    program_of_image,
)

_HASH = "pod-template-hash"
_AGENT = "eks-pod-identity-agent"
_TRUST = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},'
    '"Action":["sts:AssumeRole","sts:TagSession"]}]}'
)
_LONGEST_ROLE = 64


@frozen(order=True)
class _Workload:
    """A workload, by kubectl's name: ``deployment``, ``daemonset.apps``."""

    namespace: str
    kind: str
    name: str

    def rollout(self, verb: str, where: ClusterPlace) -> str:
        return kubectl(f"rollout {verb}", self.kind, self.name, self.namespace, *where.in_context)


def on_pods(of: GroupNodes, affected: Sequence[AffectedPod]) -> Iterator[Fix]:
    """Fixes for pods that are broken or will break; the needs of other pods are unknown."""
    sure = [each for each in affected if each.effect in (Effect.BROKEN, Effect.WILL_BREAK)]
    if not sure:
        return
    found = (_flags(of, sure), _again(of, sure), _role(of, sure))
    yield from (fix for fix in found if fix is not None)


def _workload(pod: Pod) -> _Workload | None:
    """The workload to roll out; None if there is none."""
    owner = pod.owner
    if owner is None:
        return None
    if owner.kind == "ReplicaSet":
        name = owner.name.removesuffix(f"-{pod.labels.get(_HASH, '')}")
        return _Workload(pod.namespace, "deployment", name) if name != owner.name else None
    if owner.kind in ("DaemonSet", "StatefulSet"):
        return _Workload(pod.namespace, resource_word(owner.kind), owner.name)
    return None


def _workloads(pods: Iterable[Pod]) -> list[_Workload]:
    return sorted({each for each in map(_workload, pods) if each is not None})


def _count(of: GroupNodes, workloads: Iterable[_Workload]) -> int:
    """All pods of the workloads restart, on all nodes."""
    wanted = set(workloads)
    return sum(not pod.finished and _workload(pod) in wanted for pod in of.whole.pods)


def _again(of: GroupNodes, sure: Sequence[AffectedPod]) -> Fix | None:
    """Pods that started before they got a role: only a new pod has it."""
    workloads = _workloads(each.pod for each in sure if each.way_out == AGAIN)
    if not workloads:
        return None
    return Fix(
        RESTART_PODS,
        When.NOW,
        ("Recreate these pods: their service accounts have got a role by EKS Pod Identity since they started"),
        tuple(each.rollout("restart", of.where) for each in workloads),
        (),
        BlastRadius(pods=_count(of, workloads), how="each workload rolls out as its own strategy says"),
        "it holds",
    )


def _role(of: GroupNodes, sure: Sequence[AffectedPod]) -> Fix | None:
    pods = [each.pod for each in sure if each.pod.calls.role is RoleBy.NOBODY and each.way_out != AGAIN]
    accounts = sorted({(pod.namespace, pod.calls.service_account or "default") for pod in pods})
    if (
        not accounts or of.alike.owner is NodeOwner.FARGATE
    ):  # the Pod Identity agent is a DaemonSet, and Fargate runs none
        return None
    workloads = _workloads(pods)
    agent = any(_AGENT in image for pod in of.whole.pods for image in pod.calls.images)
    setup = () if agent or of.alike.owner is NodeOwner.AUTO_MODE else (_agent(of.where),)  # it is built into Auto Mode
    forth = [line for account in accounts for line in _associated(of.where, *account)]
    count = len(accounts)
    return Fix(
        OWN_ROLE,
        When.LATER,
        (
            f"Give {'the service account' if count == 1 else f'the {count} service accounts'} of these pods a role by "
            "EKS Pod Identity, with the policies that each needs, and recreate the pods"
        ),
        (*setup, *forth, *(each.rollout("restart", of.where) for each in workloads)),
        tuple(_taken_back(of.where, *account) for account in accounts),
        BlastRadius(pods=_count(of, workloads), how="each workload rolls out as its own strategy says"),
        "it holds, whatever their nodes have",
        (
            (
                "before the restart attach the policies that the program needs to each role (aws iam "
                "attach-role-policy): so far it had those of the node's role, and which of them it uses is "
                "unknown"
            ),
            "IRSA does it as well: annotate the service account with eks.amazonaws.com/role-arn, and let the role "
            "trust the cluster's OIDC provider",
            "an SDK that is too old for Pod Identity does not find it, and none finds its region by it: set AWS_REGION",
            *_cannot_restart(pods),
        ),
    )


def _cannot_restart(pods: Iterable[Pod]) -> Iterator[str]:
    left = sorted(pod.key for pod in pods if _workload(pod) is None)
    if left:
        yield f"their creator must recreate these: {', '.join(left[:5])}{' …' if len(left) > 5 else ''}"


def _agent(where: ClusterPlace) -> str:
    words = ("aws", "eks", "create-addon", "--cluster-name", where.cluster, "--addon-name", _AGENT)
    return shell(*words, *where.in_region)


def _which(where: ClusterPlace, namespace: str, account: str) -> tuple[str, ...]:
    return "--cluster-name", where.cluster, "--namespace", namespace, "--service-account", account, *where.in_region


def _associated(where: ClusterPlace, namespace: str, account: str) -> tuple[str, str]:
    name = f"{where.cluster}-{namespace}-{account}"[:_LONGEST_ROLE]
    create = shell("aws", "iam", "create-role", "--role-name", name, "--assume-role-policy-document", _TRUST)
    role = f"$({create} {shell('--query', 'Role.Arn', '--output', 'text')})"
    words = ("aws", "eks", "create-pod-identity-association", *_which(where, namespace, account))
    return f"ROLE={role}", f'{shell(*words)} --role-arn "$ROLE"'


def _taken_back(where: ClusterPlace, namespace: str, account: str) -> str:
    """The role is kept: it may have policies by then."""
    words = ("aws", "eks", "list-pod-identity-associations", *_which(where, namespace, account))
    ident = f"$({shell(*words, '--query', 'associations[0].associationId', '--output', 'text')})"
    delete = ("aws", "eks", "delete-pod-identity-association", "--cluster-name", where.cluster, *where.in_region)
    return f'{shell(*delete)} --association-id "{ident}"'


def _maker(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.key


def _flags(of: GroupNodes, sure: Sequence[AffectedPod]) -> Fix | None:
    """For known programs: set the values that they look for."""
    # By the owner of the pods: evidence of one pod holds for all.
    looked = ((_maker(pod), of.facts.inside.get(pod.key)) for pod in of.whole.pods)
    started = {maker: each.started for maker, each in looked if each is not None and each.started is not None}
    lines: dict[_Workload, str] = {}
    given: set[str] = set()
    for each in sure:
        workload = _workload(each.pod)
        needs, program = _lacks(each, started.get(_maker(each.pod))), program_of(each.pod)
        if workload is None or program is None or not needs:
            continue
        made = _set(workload, each.pod, needs, program.given, of.where)
        if made:
            lines[workload] = made
            given |= {need.value for need in needs}
    if not lines:
        return None
    workloads = sorted(lines)
    return Fix(
        CONTROLLER_FLAGS,
        When.NOW,
        f"Tell {', '.join(f'{each.namespace}/{each.name}' for each in workloads)} {' and '.join(sorted(given))}, so "
        "that it does not ask the metadata service for it",
        tuple(lines[each] for each in workloads),
        tuple(each.rollout("undo", of.where) for each in workloads),
        BlastRadius(pods=_count(of, workloads), how="each workload rolls out as its own strategy says"),
        "it holds until what made the workload (Helm, Argo CD, an EKS add-on) applies it again: set it there as well",
        ("credentials are not given by it: what has no role of its own still needs one",),
    )


def _lacks(each: AffectedPod, started: ContainerCommand | None) -> tuple[ImdsNeed, ...]:
    """Needs that a setting can meet and that certainly are not set; with an unknown command, all possible needs of a
    broken pod."""
    program = program_of(each.pod)
    if program is None:
        return ()
    needs = needs_of(program, each.pod, started, has_role=True)
    found = needs.surely if started is not None or each.effect is not Effect.BROKEN else (*needs.surely, *needs.may)
    return tuple(need for need in found if program.given.of(need))


def _set(workload: _Workload, pod: Pod, needs: Sequence[ImdsNeed], given: ProgramSettings, where: ClusterPlace) -> str:
    """One command, because a rollback reverts one rollout; "" if a value is unknown."""
    variables = {_REGION: where.region}
    flags = {"--aws-region": where.region, "--aws-vpc-id": where.vpc}
    by_variable = [_given(given.of(need), variables) for need in needs]
    by_flag = [_given(given.of(need), flags) for need in needs]
    if all(by_variable):
        words = (f"{workload.kind}/{workload.name}", "-n", workload.namespace, *where.in_context)
        return shell("kubectl", "set", "env", *words, *by_variable)
    return _arguments(workload, pod, by_flag, where) if all(by_flag) else ""


_REGION = "AWS_REGION"


def _given(names: Sequence[str], values: Mapping[str, str]) -> str:
    """The first name that has a value, with the value."""
    return next((f"{name}={values[name]}" for name in names if values.get(name)), "")


def _arguments(workload: _Workload, pod: Pod, arguments: Sequence[str], where: ClusterPlace) -> str:
    """Add the arguments to the first container; the API server refuses the patch if the image differs."""
    image = next(each for each in pod.calls.images if program_of_image(each) is not None)
    first = "/spec/template/spec/containers/0"
    test = f'{{"op":"test","path":"{first}/image","value":{_text(image)}}}'
    adds = [f'{{"op":"add","path":"{first}/args/-","value":{_text(each)}}}' for each in arguments]
    patch = f"[{','.join((test, *adds))}]"
    which = (workload.kind, workload.name, workload.namespace, *where.in_context)
    return kubectl("patch", *which, "--type", "json", "-p", patch)


def _text(value: str) -> str:
    """As JSON; image names have no control characters."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
