"""Fixes of pods, independent of their nodes: roles, flags and environment variables instead of the metadata service.

Sources: EKS user guide, Pod Identity (trust policy, create-pod-identity-association, effective at the start of a pod)
and IRSA; `imds_probe.programs` for flags and variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import kubectl, resource_word, shell
from kubectl_eksdoc.model.findings import When
from kubectl_eksdoc.model.nodes import NodeOwner, Pod, RoleSource

from .affected import RECREATE_POD, AffectedPod, Effect
from .fix import (
    CONTROLLER_FLAGS,
    OWN_ROLE,
    RESTART_PODS,
    BlastRadius,
    Fix,
)
from .node_sources import ClusterTarget, FixScope
from .programs import (
    ContainerCommand,
    ImdsNeed,
    ProgramSettings,
    needs_of,
    program_of,
    program_of_image,
)

_HASH_LABEL = "pod-template-hash"
_POD_IDENTITY_AGENT = "eks-pod-identity-agent"
_TRUST_POLICY = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},'
    '"Action":["sts:AssumeRole","sts:TagSession"]}]}'
)
_MAX_ROLE_NAME = 64


@frozen(order=True)
class _Workload:
    """A workload, by kubectl's name: ``deployment``, ``daemonset.apps``."""

    namespace: str
    kind: str
    name: str

    def rollout_command(self, verb: str, target: ClusterTarget) -> str:
        return kubectl(f"rollout {verb}", self.kind, self.name, self.namespace, *target.kubectl_flags)


def pod_fixes(scope: FixScope, affected: Sequence[AffectedPod]) -> Iterator[Fix]:
    """Fixes for pods that are broken or will break; the needs of other pods are unknown."""
    certain = [each for each in affected if each.effect in (Effect.BROKEN, Effect.WILL_BREAK)]
    if not certain:
        return
    fixes = (_flags_fix(scope, certain), _restart_fix(scope, certain), _role_fix(scope, certain))
    yield from (fix for fix in fixes if fix is not None)


def _workload_of(pod: Pod) -> _Workload | None:
    """The workload to roll out; None if there is none."""
    owner = pod.owner
    if owner is None:
        return None
    if owner.kind == "ReplicaSet":
        name = owner.name.removesuffix(f"-{pod.labels.get(_HASH_LABEL, '')}")
        return _Workload(pod.namespace, "deployment", name) if name != owner.name else None
    if owner.kind in ("DaemonSet", "StatefulSet"):
        return _Workload(pod.namespace, resource_word(owner.kind), owner.name)
    return None


def _workloads(pods: Iterable[Pod]) -> list[_Workload]:
    return sorted({each for each in map(_workload_of, pods) if each is not None})


def _count_pods(scope: FixScope, workloads: Iterable[_Workload]) -> int:
    """All pods of the workloads restart, on all nodes."""
    workload_set = set(workloads)
    return sum(not pod.finished and _workload_of(pod) in workload_set for pod in scope.cluster.pods)


def _restart_fix(scope: FixScope, certain: Sequence[AffectedPod]) -> Fix | None:
    """Pods that started before they got a role: only a new pod has it."""
    workloads = _workloads(each.pod for each in certain if each.way_out == RECREATE_POD)
    if not workloads:
        return None
    return Fix(
        RESTART_PODS,
        When.NOW,
        ("Recreate these pods: their service accounts have got a role by EKS Pod Identity since they started"),
        tuple(each.rollout_command("restart", scope.target) for each in workloads),
        (),
        BlastRadius(pods=_count_pods(scope, workloads), how="each workload rolls out as its own strategy says"),
        "it holds",
    )


def _role_fix(scope: FixScope, certain: Sequence[AffectedPod]) -> Fix | None:
    pods = [each.pod for each in certain if each.pod.calls.role is RoleSource.NONE and each.way_out != RECREATE_POD]
    accounts = sorted({(pod.namespace, pod.calls.service_account or "default") for pod in pods})
    if (
        not accounts or scope.node_set.owner is NodeOwner.FARGATE
    ):  # the Pod Identity agent is a DaemonSet, and Fargate runs none
        return None
    workloads = _workloads(pods)
    has_agent = any(_POD_IDENTITY_AGENT in image for pod in scope.cluster.pods for image in pod.calls.images)
    setup_commands = (
        () if has_agent or scope.node_set.owner is NodeOwner.AUTO_MODE else (_install_agent_command(scope.target),)
    )  # it is built into Auto Mode
    commands = [line for account in accounts for line in _associate_commands(scope.target, *account)]
    count = len(accounts)
    return Fix(
        OWN_ROLE,
        When.LATER,
        (
            f"Give {'the service account' if count == 1 else f'the {count} service accounts'} of these pods a role by "
            "EKS Pod Identity, with the policies that each needs, and recreate the pods"
        ),
        (*setup_commands, *commands, *(each.rollout_command("restart", scope.target) for each in workloads)),
        tuple(_remove_association_command(scope.target, *account) for account in accounts),
        BlastRadius(pods=_count_pods(scope, workloads), how="each workload rolls out as its own strategy says"),
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
            *_restart_cautions(pods),
        ),
    )


def _restart_cautions(pods: Iterable[Pod]) -> Iterator[str]:
    pod_keys = sorted(pod.key for pod in pods if _workload_of(pod) is None)
    if pod_keys:
        yield f"their creator must recreate these: {', '.join(pod_keys[:5])}{' …' if len(pod_keys) > 5 else ''}"


def _install_agent_command(target: ClusterTarget) -> str:
    words = ("aws", "eks", "create-addon", "--cluster-name", target.cluster, "--addon-name", _POD_IDENTITY_AGENT)
    return shell(*words, *target.aws_flags)


def _association_flags(target: ClusterTarget, namespace: str, account: str) -> tuple[str, ...]:
    return "--cluster-name", target.cluster, "--namespace", namespace, "--service-account", account, *target.aws_flags


def _associate_commands(target: ClusterTarget, namespace: str, account: str) -> tuple[str, str]:
    name = f"{target.cluster}-{namespace}-{account}"[:_MAX_ROLE_NAME]
    create_command = shell(
        "aws", "iam", "create-role", "--role-name", name, "--assume-role-policy-document", _TRUST_POLICY
    )
    role = f"$({create_command} {shell('--query', 'Role.Arn', '--output', 'text')})"
    words = ("aws", "eks", "create-pod-identity-association", *_association_flags(target, namespace, account))
    return f"ROLE={role}", f'{shell(*words)} --role-arn "$ROLE"'


def _remove_association_command(target: ClusterTarget, namespace: str, account: str) -> str:
    """The role is kept: it may have policies by then."""
    words = ("aws", "eks", "list-pod-identity-associations", *_association_flags(target, namespace, account))
    id_expression = f"$({shell(*words, '--query', 'associations[0].associationId', '--output', 'text')})"
    delete = ("aws", "eks", "delete-pod-identity-association", "--cluster-name", target.cluster, *target.aws_flags)
    return f'{shell(*delete)} --association-id "{id_expression}"'


def _owner_key(pod: Pod) -> str:
    return pod.owner.uid if pod.owner is not None else pod.key


def _flags_fix(scope: FixScope, certain: Sequence[AffectedPod]) -> Fix | None:
    """For known programs: set the values that they look for."""
    # By the owner of the pods: evidence of one pod holds for all.
    evidence_by_owner = ((_owner_key(pod), scope.facts.evidence_by_pod.get(pod.key)) for pod in scope.cluster.pods)
    commands_by_owner = {
        owner_key: each.command
        for owner_key, each in evidence_by_owner
        if each is not None and each.command is not None
    }
    lines: dict[_Workload, str] = {}
    names: set[str] = set()
    for each in certain:
        workload = _workload_of(each.pod)
        needs, program = _needs_to_set(each, commands_by_owner.get(_owner_key(each.pod))), program_of(each.pod)
        if workload is None or program is None or not needs:
            continue
        command = _set_command(workload, each.pod, needs, program.given, scope.target)
        if command:
            lines[workload] = command
            names |= {need.value for need in needs}
    if not lines:
        return None
    workloads = sorted(lines)
    return Fix(
        CONTROLLER_FLAGS,
        When.NOW,
        f"Tell {', '.join(f'{each.namespace}/{each.name}' for each in workloads)} {' and '.join(sorted(names))}, so "
        "that it does not ask the metadata service for it",
        tuple(lines[each] for each in workloads),
        tuple(each.rollout_command("undo", scope.target) for each in workloads),
        BlastRadius(pods=_count_pods(scope, workloads), how="each workload rolls out as its own strategy says"),
        "it holds until what made the workload (Helm, Argo CD, an EKS add-on) applies it again: set it there as well",
        ("credentials are not given by it: what has no role of its own still needs one",),
    )


def _needs_to_set(affected_pod: AffectedPod, command: ContainerCommand | None) -> tuple[ImdsNeed, ...]:
    """Needs that a setting can meet and that certainly are not set; with an unknown command, all possible needs of a
    broken pod."""
    program = program_of(affected_pod.pod)
    if program is None:
        return ()
    needs = needs_of(program, affected_pod.pod, command, has_role=True)
    needs_found = (
        needs.surely if command is not None or affected_pod.effect is not Effect.BROKEN else (*needs.surely, *needs.may)
    )
    return tuple(need for need in needs_found if program.given.names_for(need))


def _set_command(
    workload: _Workload, pod: Pod, needs: Sequence[ImdsNeed], settings: ProgramSettings, target: ClusterTarget
) -> str:
    """One command, because a rollback reverts one rollout; "" if a value is unknown."""
    variables = {_REGION_VARIABLE: target.region}
    flags = {"--aws-region": target.region, "--aws-vpc-id": target.vpc}
    env_assignments = [_first_assignment(settings.names_for(need), variables) for need in needs]
    flag_assignments = [_first_assignment(settings.names_for(need), flags) for need in needs]
    if all(env_assignments):
        words = (f"{workload.kind}/{workload.name}", "-n", workload.namespace, *target.kubectl_flags)
        return shell("kubectl", "set", "env", *words, *env_assignments)
    return _patch_arguments_command(workload, pod, flag_assignments, target) if all(flag_assignments) else ""


_REGION_VARIABLE = "AWS_REGION"


def _first_assignment(names: Sequence[str], values: Mapping[str, str]) -> str:
    """The first name that has a value, with the value."""
    return next((f"{name}={values[name]}" for name in names if values.get(name)), "")


def _patch_arguments_command(workload: _Workload, pod: Pod, arguments: Sequence[str], target: ClusterTarget) -> str:
    """Add the arguments to the first container; the API server refuses the patch if the image differs."""
    image = next(each for each in pod.calls.images if program_of_image(each) is not None)
    container_path = "/spec/template/spec/containers/0"
    test = f'{{"op":"test","path":"{container_path}/image","value":{_json_string(image)}}}'
    additions = [f'{{"op":"add","path":"{container_path}/args/-","value":{_json_string(each)}}}' for each in arguments]
    patch = f"[{','.join((test, *additions))}]"
    workload_words = (workload.kind, workload.name, workload.namespace, *target.kubectl_flags)
    return kubectl("patch", *workload_words, "--type", "json", "-p", patch)


def _json_string(value: str) -> str:
    """As JSON; image names have no control characters."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
