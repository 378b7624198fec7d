"""Steps of the upgrade checklist: one step as data, the findings it waits for, and the steps of the control plane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum

from kubectl_eksdoc.amazon.versions import format_version, minor_of, rollback_window, unchanged_by_rollback
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.connection import CommandTarget, kubectl, shell
from kubectl_eksdoc.model.eks import ERROR
from kubectl_eksdoc.model.findings import ROLLBACK, Finding
from kubectl_eksdoc.model.kinds import CheckNeed, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, rule_basis
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.quantities import Version

from .checking import NOT_ASKED, CheckFacts, Gate, aws_command, cluster_name_arg, join_names, pluralize, region_flags
from .checks.compatibility import installed_addons
from .checks.insights import FORCE, follows_control_plane
from .checks.software import likely_owner
from .step_forms import StepForm, cluster_forms


class Phase(str, Enum):
    """In the order of the upgrade; the phases around the control plane are repeated for each minor version."""

    PREPARE = "prepare"
    BEFORE_CONTROL_PLANE = "before the control plane"
    CONTROL_PLANE = "control plane"
    AFTER_CONTROL_PLANE = "after the control plane"
    NODES = "nodes"
    END = "end"


@frozen
class UpgradeStep:
    """`number` from 1. `commands`: one after the other; none where only people can do it. `done_when`: a condition that
    can be verified, by the command `verify` where there is one. `at`: the minor version that the control plane has or
    gets, None outside of that. `gate`, `codes` and `about` (names of subjects): the step waits for the findings that
    match all that are given; with none of them it waits for nothing. `source`: of the rule, None for advice.
    `forms`: used instead of `commands`, where another tool manages the resource.
    """

    phase: Phase
    title: str
    why: str
    commands: tuple[str, ...] = ()
    done_when: str = ""
    verify: str = ""
    at: Version | None = None
    gate: Gate | None = None
    codes: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    source: KnowledgeSource | None = None
    number: int = 0
    forms: tuple[StepForm, ...] = ()

    def waits_for(self, finding: Finding, gate: Gate | None) -> bool:
        """Whether that finding, which counts at `gate`, has to be fixed before this step."""
        if self.gate is None and not self.codes and not self.about:
            return False
        return (
            (self.gate is None or gate is self.gate)
            and (not self.codes or finding.code.name in self.codes)
            and (not self.about or finding.subject.name in self.about)
        )


def number_steps(steps: Iterable[UpgradeStep], command_target: CommandTarget) -> tuple[UpgradeStep, ...]:
    """The steps with their numbers, and with commands for the cluster that was read."""
    return tuple(_number_step(number, each, command_target) for number, each in enumerate(steps, 1))


def _number_step(number: int, step: UpgradeStep, command_target: CommandTarget) -> UpgradeStep:
    commands = tuple(map(command_target.add_to, step.commands))
    text, marker, rollback = step.why.partition(ROLLBACK)
    reason, verify = f"{text}{marker}{command_target.add_to(rollback)}", command_target.add_to(step.verify)
    forms = tuple(replace(each, commands=tuple(map(command_target.add_to, each.commands))) for each in step.forms)
    return replace(step, number=number, why=reason, commands=commands, verify=verify, forms=forms)


# Commands of the checklist, with the flags for the cluster and the version.


def eks_command(facts: CheckFacts, verb: str, *more: str, name_flag: str = "--cluster-name") -> str:
    """``aws eks VERB --cluster-name demo-shop --region eu-west-1 …``; `verb` may be two words (``wait
    cluster-active``), `name_flag` is the flag for the cluster's name."""
    return shell("aws", "eks", *verb.split(), name_flag, cluster_name_arg(facts), *region_flags(facts), *more)


def check_command(*more: str) -> str:
    """``kubectl eksdoc check --target 1.34``."""
    return shell("kubectl", "eksdoc", "check", *more)


# Data and pods that a drain deletes for good. EKS and Karpenter do that without asking, and so does the plan here: the
# commands of the steps have the flags for it, and a separate step names what is deleted.


_DELETION_FLAGS = {"pod-emptydir": "--delete-emptydir-data", "pod-unmanaged": "--force"}
"""The flags that `drain run` requires for it, by the code of the finding."""


def deletion_findings(facts: CheckFacts) -> tuple[Finding, ...]:
    """Workloads that lose the data of an emptyDir, and pods that are not created again, on all nodes that are replaced;
    none where the drain is unknown: without the flags it refuses these pods."""
    findings = facts.command_findings.get(CheckNeed.PLAN_DRAIN, NOT_ASKED)
    return (
        () if isinstance(findings, Unknown) else tuple(each for each in findings if each.code.name in _DELETION_FLAGS)
    )


def deletion_flags(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The `drain run` flags that allow the deletions."""
    codes = {each.code.name for each in findings}
    return tuple(flag for code, flag in _DELETION_FLAGS.items() if code in codes)


def ask_owners(facts: CheckFacts, phase: Phase) -> Iterator[UpgradeStep]:
    """A step before the replacement of nodes."""
    findings = deletion_findings(facts)
    data, unmanaged = ([each for each in findings if each.code.name == code] for code in _DELETION_FLAGS)
    if findings:
        losses = [pluralize(len(data), "workload") + " with emptyDir"] if data else []
        losses += [pluralize(len(unmanaged), "pod") + " without a controller"] if unmanaged else []
        yield UpgradeStep(
            phase,
            f"Ask the owners of what goes with the nodes: {' and '.join(losses)}",
            f"the replacement of nodes deletes for good: {deletion_text(findings)}",
            (
                check_command(
                    "--target", format_version(facts.path.target), "--only", ",".join(_DELETION_FLAGS), "-o", "wide"
                ),
                *(each.remedy[0].command for each in unmanaged[:_MAX_COMMANDS]),
            ),
            "they agree, and each pod without a controller is saved",
            at=facts.path.target,
        )


def deletion_text(findings: Iterable[Finding]) -> str:
    """``the emptyDir data of Deployment shop/web, Pod ops/shell, which nothing creates again``."""
    data, unmanaged = (
        [f"{f.subject.kind} {f.subject}" for f in findings if f.code.name == code] for code in _DELETION_FLAGS
    )
    parts = [f"the emptyDir data of {join_names(data)}"] if data else []
    return "; ".join([*parts, *([f"{join_names(unmanaged)}, which nothing creates again"] if unmanaged else [])])


# The control plane's own steps: a check before each update, the update, and the soak time after it.


def check_step(facts: CheckFacts, step: Version, is_first: bool) -> UpgradeStep:
    """The findings of the whole upgrade block the first step; before each later step the checks are run again."""
    gate = Gate.BEFORE_CONTROL_PLANE
    target = facts.path.target if is_first else step
    return UpgradeStep(
        Phase.BEFORE_CONTROL_PLANE,
        f"Check that nothing blocks {format_version(step)}"
        if is_first
        else f"Look again before {format_version(step)}",
        "what is broken now is not better found in the middle of an upgrade"
        if is_first
        else "weeks may be between two versions, and the cluster changes",
        (check_command("--target", format_version(target), "--gate", gate.value),),
        "it exits with 0",
        at=step,
        gate=gate if is_first else None,
    )


def update_steps(facts: CheckFacts, step: Version) -> Iterator[UpgradeStep]:
    version = format_version(step)
    if not facts.is_offered(step):
        yield UpgradeStep(
            Phase.CONTROL_PLANE,
            f"Upgrade the control plane to {version}",
            f"EKS does not offer {version}, so no command updates to it yet; wait until EKS lists it",
            done_when=f"EKS says ACTIVE and {version}",
            verify=aws_command(facts, "eks", "describe-cluster-versions"),
            at=step,
            source=rule_basis("one-minor-at-a-time").source,
        )
        return
    free_addresses = rule_basis("free-addresses").number
    yield UpgradeStep(
        Phase.CONTROL_PLANE,
        f"Upgrade the control plane to {version}",
        f"one minor version at a time; it needs up to {free_addresses} free addresses in the cluster's subnets, and the"
        f" API server may be away for moments{_ignored_errors(facts, version)}",
        (
            eks_command(facts, "update-cluster-version", "--kubernetes-version", version, name_flag="--name"),
            eks_command(facts, "wait cluster-active", name_flag="--name"),
        ),
        f"EKS says ACTIVE and {version}",
        eks_command(
            facts, "describe-cluster", "--query", "cluster.[status,version]", "--output", "text", name_flag="--name"
        ),
        at=step,
        source=rule_basis("one-minor-at-a-time").source,
        forms=cluster_forms(facts, version),
    )


def _ignored_errors(facts: CheckFacts, version: str) -> str:
    """A clause about errors of EKS insights that later steps fix; "" without any."""
    insights = () if isinstance(facts.aws.insights, Unknown) else facts.aws.insights
    errors = [
        each
        for each in insights
        if (each.version, each.status) == (version, ERROR) and follows_control_plane(facts, each)
    ]
    names = join_names([each.name for each in errors], 2)
    return f". An error of EKS that later steps fix is left ({names}): {FORCE}" if errors else ""


def soak_step(facts: CheckFacts, previous: Version, step: Version) -> UpgradeStep:
    """Only the latest upgrade can be rolled back, by one minor, and only while no newer version runs below it."""
    days = rollback_window().days
    rollback = eks_command(
        facts, "update-cluster-version", "--kubernetes-version", format_version(previous), name_flag="--name"
    )
    return UpgradeStep(
        Phase.AFTER_CONTROL_PLANE,
        f"Let it run with {format_version(step)} for some days, before anything follows it",
        (
            f"for {days} days EKS takes the control plane back to {format_version(previous)}, as long as no "
            "node is newer and "
            "no pod is on Fargate; downgrade add-ons that were upgraded first, and objects stay as they are. "
            "After the next version no rollback to it is possible. What declares the version is set back, too. "
            f"{ROLLBACK}{rollback}"
        ),
        done_when="errors of the API server, of controllers and of applications are as before",
        verify=shell("kubectl", "get", "--raw", "/readyz?verbose"),
        at=step,
        source=rule_basis("rollback").source,
    )


# The last steps: the restart of pods on Fargate, and the final checks.


_RESTARTABLE_KINDS = ("Deployment", "StatefulSet")
_MAX_COMMANDS = 10
"""Most commands of one step."""


def fargate_steps(facts: CheckFacts) -> Iterator[UpgradeStep]:
    """Restarts for the pods on Fargate nodes that are older than the target."""
    yield from restart_steps(facts, facts.path.target, Phase.NODES)


def restart_steps(facts: CheckFacts, version: Version, phase: Phase, prefix: str = "") -> Iterator[UpgradeStep]:
    """Restarts for the pods on Fargate nodes that are older than `version`, which the control plane has by then."""
    old_nodes = {
        node.name
        for node in facts.cluster.nodes
        if node.owner is NodeOwner.FARGATE and (node.kubelet is None or minor_of(node.kubelet) < version)
    }
    pods = [pod for pod in facts.cluster.pods if pod.node in old_nodes and not pod.finished]
    if not pods:
        return
    owners = sorted({likely_owner(pod) for pod in pods}, key=lambda each: (each.namespace, each.kind, each.name))
    restarts = [
        kubectl("rollout restart", each.kind.lower(), each.name, each.namespace)
        for each in owners
        if each.kind in _RESTARTABLE_KINDS
    ]
    others = [f"{each.kind} {each}" for each in owners if each.kind not in _RESTARTABLE_KINDS]
    more_text = (
        f" {len(restarts) - _MAX_COMMANDS} more owners go in the same way." if len(restarts) > _MAX_COMMANDS else ""
    )
    by_hand = f" Pods of no such owner are deleted one by one: {', '.join(others[:_MAX_COMMANDS])}." if others else ""
    yield UpgradeStep(
        phase,
        f"Restart the owners of {pluralize(len(pods), 'pod')} on Fargate",
        f"{prefix}a Fargate node has the version that the control plane had when its pod started, and is not drained;"
        " the restart of a Deployment or StatefulSet keeps to its own rollout strategy: no PodDisruptionBudget holds it"
        f" back.{more_text}{by_hand}",
        tuple(restarts[:_MAX_COMMANDS]),
        f"every Fargate node has {format_version(version)}",
        shell("kubectl", "get", "nodes", "-l", "eks.amazonaws.com/compute-type=fargate"),
        at=version,
        source=rule_basis("fargate-nodes").source,
    )


def final_checks(facts: CheckFacts) -> Iterator[UpgradeStep]:
    target = format_version(facts.path.target)
    yield UpgradeStep(
        Phase.END,
        "See that nothing was left behind",
        "an upgrade is at its end when nodes, kube-proxy and controllers have followed, and what was held back or"
        " scaled down for it is as it was",
        (check_command("--target", target, "--gate", "after"), check_command("--target", target)),
        "both exit with 0",
        at=facts.path.target,
        codes=() if facts.path.steps else ("nodes-behind",),
    )


# The first steps: a trial upgrade elsewhere, reviews and a rehearsal.


def prepare_steps(facts: CheckFacts) -> Iterator[UpgradeStep]:
    """The longest come first."""
    target = format_version(facts.path.target)
    yield UpgradeStep(
        Phase.PREPARE,
        "Upgrade a cluster that is not production first",
        "what no table knows is found there: applications, operators and pipelines of your own",
        done_when=f"that cluster is at {target} and its checklist is at its end",
        source=rule_basis("before-upgrade").source,
    )
    yield UpgradeStep(
        Phase.PREPARE,
        "Test the applications there",
        "a cluster that is well says nothing of what runs in it",
        done_when="their own tests pass on the new version, with nodes being replaced meanwhile",
        source=rule_basis("before-upgrade").source,
    )
    yield from _review_steps(facts, target)
    yield from _rehearsal_steps(facts, target)


def _review_steps(facts: CheckFacts, target: str) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        Phase.PREPARE,
        "Check the manifests that are deployed from outside",
        "an object is served in every version of its API: what pipelines, charts and Git hold is not seen in the"
        " cluster, and fails at the next deployment",
        (check_command("--target", target, "-f", "manifests/"),),
        "no manifest uses an API that the target does not serve",
        source=rule_basis("insights").source,
    )
    yield UpgradeStep(
        Phase.PREPARE,
        "Read the warnings of the release notes up to the target",
        "some warnings concern what nothing here can see",
        (check_command("--target", target, "--only", "release-note", "-o", "wide"),),
        "each was read by the people it concerns",
        codes=("release-note",),
    )
    yield UpgradeStep(
        Phase.PREPARE,
        "Refresh the EKS upgrade insights",
        "EKS sees who asked for removed APIs in the last 30 days; it looks once a day by itself",
        (eks_command(facts, "start-insights-refresh"),),
        "no insight for the target is an ERROR",
        eks_command(facts, "list-insights", "--filter", f"categories=UPGRADE_READINESS,kubernetesVersions={target}"),
        source=rule_basis("insights").source,
    )


def _rehearsal_steps(facts: CheckFacts, target: str) -> Iterator[UpgradeStep]:
    yield UpgradeStep(
        Phase.PREPARE,
        "Have a copy of all objects outside of the cluster",
        f"a rollback of the control plane leaves as they are: {unchanged_by_rollback()}",
        done_when="Git, or a backup that was restored once for a trial, has what the cluster has",
        source=rule_basis("rollback/prepared").source,
    )
    if any(node.owner not in (NodeOwner.AUTO_MODE, NodeOwner.FARGATE) for node in facts.cluster.nodes):
        yield UpgradeStep(
            Phase.PREPARE,
            "Rehearse the replacement of the nodes",
            "budgets and places that hold it up are fixed during working hours",
            (
                shell(
                    "kubectl",
                    "eksdoc",
                    "rehearse",
                    "--older-than",
                    f"v{target}",
                    *deletion_flags(deletion_findings(facts)),
                ),
            ),
            "the rehearsal ends with every node empty",
        )
    if installed_addons(facts):
        yield UpgradeStep(
            Phase.PREPARE,
            "See what the update of each add-on would change",
            "an update resets fields that were set by hand; with configuration values they stay",
            (shell("kubectl", "eksdoc", "addon-diff", "--all"),),
            "what is to stay is in the configuration values",
        )
