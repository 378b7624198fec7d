"""Commands that fix, measure or create objects, with exactly the role and the policy that ``permissions`` prints for
each, and without each right of its own: on served clusters, with the AWS stand-in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.permissions.command.rights import read_only_commands, registered_commands
from tests.cli.running import Ran
from tests.permissions.command import changed_clusters
from tests.permissions.command.answers import BUG
from tests.permissions.command.changed_clusters import Ground, Made
from tests.permissions.command.granted_users import Held, Watched, held, printed, unregistered
from tests.permissions.command.policies import CALLED, allow, calls, policy
from tests.permissions.command.test_changing import COMMANDS
from tests.permissions.command.test_reading import required, was_asked

if TYPE_CHECKING:
    from tests.aws.world.server import World

DONE, FOUND, TAKEN, LOST, UNSURE, STOPPED = 0, 1, 2, 4, 5, 6
_RESUME = f"--resume {changed_clusters.RUN} -o json"


def nothing(_: World) -> None:
    """No fault."""


@dataclass(frozen=True)
class Change:
    """A command line that changes something, and the command that needs its rights. `like`: the rights of that command
    are removed elsewhere; `silent`: rights without which it does the same, and why. `never`: rights that it does not
    use here, and why it may elsewhere, with the tests that do; `unasked`: actions of its policy, likewise. `trouble`: a
    fault of AWS. `again`: after that it is run once more, or with these words, and ends with that code. `granted`: the
    flags of ``permissions`` by which its role is more than the command line itself says."""

    command: str
    words: str
    ground: Made
    code: int = DONE
    like: tuple[str, ...] = ()
    silent: Mapping[str, str] = field(default_factory=dict)
    never: Mapping[str, str] = field(default_factory=dict)
    granted: str = ""
    unasked: Mapping[str, str] = field(default_factory=dict)
    again: tuple[Callable[[Ground], object], int, str] | None = None
    trouble: Callable[[World], object] = nothing

    def __str__(self) -> str:
        return self.words

    @property
    def ends(self) -> int:
        """The exit code of the last line."""
        return self.again[1] if self.again else self.code

    @property
    def role(self) -> str:
        """The arguments for ``permissions``: this same command line."""
        return f"{self.words.replace('-o json', '')} {self.granted}".replace("  ", " ")


_FIX = "imds-probe --apply --yes -o json --fix"
_ALL = "--nodegroup blue --nodegroup green --nodegroup general"  # no pod is affected, so they are named
_LONG = "--verify-for 20m --watch-for 20m --yes --expect-changes 1 -o json"
_PROBED = ("coredns-lameduck --set",)
_MEASURE = "--yes --answer-timeout 1s -o json --for"
_IMAGE = "--image reg.example/e:1 --apply --yes -o json"
_TOLD_TWICE = "its log and its metrics each tell it; who has neither right is in tests/coredns_lameduck"
_EITHER = {"get pods/log": _TOLD_TWICE, "get pods/proxy": _TOLD_TWICE}
_NO_MAP = {"patch configmaps": "of a CoreDNS that EKS does not manage"}
_NO_UPDATE = "of an update of the add-on, and EKS does not manage it here"
_OF_COREDNS = "of the update of another add-on: tests/permissions/command/test_reading.py"
_PLACED = ("clusterrolebindings.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io")
_TAKEN = "where its name is taken: the line without --surge-singles"
_NOT_TAKEN = {f"get {each}": _TAKEN for each in _PLACED}
_OF_RUN = ("serviceaccounts", "jobs.batch", "rolebindings.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io")
_NO_GROUP = {
    "autoscaling:DescribeAutoScalingGroups": "of its owner's group: tests/permissions/command/test_reading.py",
    "autoscaling:DescribeLaunchConfigurations": "of a group without a launch template: tests/aws/test_ec2.py",
}
_NOT_LOST = {"eks:ListUpdates": "where the answer to an update was lost: the line with that trouble"}
_NOT_BEGUN = "the update did not begin: the line before"
_OF_NO_NAME = {"eks:ListAddons": "of a name that no add-on has: tests/permissions/command/test_reading.py, with --all"}
_NO_TARGETS = {
    "elasticloadbalancing:DescribeTargetHealth": "of pods behind target groups: tests/aws/test_target_health.py"
}
CHANGES = (
    Change(
        "imds-probe --active", "imds-probe --active --yes --expect-nodes 3 -o json", changed_clusters.metadata, FOUND
    ),
    Change(
        "imds-probe --apply",
        f"{_FIX} instance-options {_ALL} --expect-nodes 2",
        changed_clusters.metadata,
        DONE,
        ("imds-probe",),
        unasked=_NO_GROUP,
    ),
    Change(
        "imds-probe --apply",
        f"{_FIX} template-version --nodegroup blue --expect-nodes 1 --watch-for 20s",
        changed_clusters.metadata,
        DONE,
        ("imds-probe",),
        unasked={**_NO_GROUP, **_NOT_LOST},
    ),
    Change(
        "imds-probe --apply",
        f"{_FIX} template-version --nodegroup blue --expect-nodes 1 --watch-for 20s",
        changed_clusters.metadata,
        LOST,
        ("imds-probe",),
        unasked=_NO_GROUP,
        again=(lambda at: at.aws.allow(), DONE, f"imds-probe --apply {_RESUME} --yes --expect-nodes 1 --watch-for 20s"),
        trouble=lambda aws: aws.hang_up("eks:UpdateNodegroupVersion"),
    ),
    Change(
        "imds-probe --apply",
        f"{_FIX} node-class {_ALL} --expect-nodes 1",
        changed_clusters.metadata,
        DONE,
        ("imds-probe",),
        unasked=_NO_GROUP,
    ),
    Change(
        "coredns-lameduck --apply",
        f"coredns-lameduck --set lameduck=20s --apply --accept-unknown addon-field-unknown {_LONG}",
        changed_clusters.coredns,
        DONE,
        _PROBED,
        _EITHER,
        _NO_MAP,
        "--with proxy",
        _NOT_LOST,
    ),
    Change(
        "coredns-lameduck --apply",
        f"coredns-lameduck --set lameduck=20s --apply --accept-unknown addon-field-unknown {_LONG}",
        changed_clusters.coredns,
        LOST,
        ("coredns-lameduck --apply",),
        _EITHER,
        {**_NO_MAP, "get pods/log": _NOT_BEGUN},
        "--with proxy",
        {"eks:DescribeUpdate": _NOT_BEGUN},
        again=(lambda at: at.aws.allow(), STOPPED, f"coredns-lameduck --apply {_RESUME}"),
        trouble=lambda aws: aws.hang_up("eks:UpdateAddon"),
    ),
    Change(
        "coredns-lameduck --apply",
        "coredns-lameduck --set lameduck=20s --apply --accept-unknown addon-field-unknown --without proxy " + _LONG,
        changed_clusters.coredns,
        DONE,
        ("coredns-lameduck --apply",),
        _EITHER,
        _NO_MAP,
        unasked=_NOT_LOST,
    ),
    Change(
        "coredns-lameduck --apply",
        f"coredns-lameduck --set lameduck=20s --apply --force-conflicts {_LONG}",
        changed_clusters.by_hand,
        DONE,
        _PROBED,
        _EITHER,
        {
            **{
                f"get {each}": _NO_UPDATE
                for each in (
                    "poddisruptionbudgets.policy",
                    "serviceaccounts",
                    "services",
                    "clusterroles.rbac.authorization.k8s.io",
                    "clusterrolebindings.rbac.authorization.k8s.io",
                )
            },
            **{
                f"list {each.full_name}": _NO_UPDATE
                for each in kinds.SEARCHED
                if each not in (kinds.BUDGETS, kinds.AUTOSCALERS, kinds.NAMESPACES)
            },
        },
        "--with proxy",
        {
            f"eks:{each}": _NO_UPDATE
            for each in ("DescribeAddonConfiguration", "DescribeUpdate", "ListUpdates", "UpdateAddon")
        },
    ),
    Change(
        "coredns-lameduck --measure",
        f"coredns-lameduck --measure --expect-changes 2 {_MEASURE} 5s",
        changed_clusters.measured,
        UNSURE,
    ),
    Change(
        "coredns-lameduck --measure",
        f"coredns-lameduck --measure=rollout --expect-changes 4 {_MEASURE} 60s",
        changed_clusters.measured,
        UNSURE,
    ),
    Change(
        "coredns-lameduck --measure",
        f"coredns-lameduck --measure=eviction --expect-changes 3 {_MEASURE} 60s",
        changed_clusters.measured,
        UNSURE,
    ),
    Change(
        "addon-diff --apply",
        "addon-diff vpc-cni --to v1.12.6-eksbuild.1 --apply --yes --expect-changes 6 "
        "--accept-unknown addon-field-unknown,addon-values-refused -o json",
        changed_clusters.addon,
        UNSURE,
        ("addon-diff",),
        never={
            "get deployments.apps": _OF_COREDNS,
            "get poddisruptionbudgets.policy": _OF_COREDNS,
            "get services": _OF_COREDNS,
        },
        unasked={**_NOT_LOST, **_OF_NO_NAME, **_NO_TARGETS},
    ),
    Change(
        "addon-diff --apply",
        "addon-diff vpc-cni --to v1.12.6-eksbuild.1 --apply --yes --expect-changes 6 "
        "--accept-unknown addon-field-unknown,addon-values-refused -o json",
        changed_clusters.addon,
        LOST,
        ("addon-diff",),
        never={
            "get deployments.apps": _OF_COREDNS,
            "get poddisruptionbudgets.policy": _OF_COREDNS,
            "get services": _OF_COREDNS,
        },
        silent={"eks:UpdateAddon": "its answer is lost, whatever it is"},
        unasked={**_OF_NO_NAME, **_NO_TARGETS, "eks:DescribeUpdate": _NOT_BEGUN},
        again=(lambda at: at.aws.allow(), STOPPED, f"addon-diff vpc-cni --apply {_RESUME}"),
        trouble=lambda aws: aws.hang_up("eks:UpdateAddon"),
    ),
    Change(
        "check --in-cluster",
        "check --in-cluster --schedule @daily --cluster-name lab --region eu-west-1 --expect-changes 9 "
        f"--with helm-releases,proxy --suppressions ACCEPTED {_IMAGE}",
        changed_clusters.small,
        silent={"create configmaps": "it is named in the words of the API server"},
        again=(lambda at: None, TAKEN, ""),
    ),
    Change(
        "check --refresh-insights",
        "check --refresh-insights --only insight-error -o json",
        changed_clusters.rich,
        FOUND,
        ("check",),
    ),
    Change(
        "drain run --in-cluster",
        f"drain run --in-cluster --nodegroup blue --expect-nodes 1 {_IMAGE}",
        changed_clusters.small,
        DONE,
        ("drain plan",),
        again=(changed_clusters.job_is_over, TAKEN, ""),
    ),
    Change(
        "drain run --in-cluster",
        f"drain run --in-cluster --nodegroup blue --surge-singles --expect-nodes 1 {_IMAGE}",
        changed_clusters.small,
        DONE,
        ("drain run --in-cluster", "drain plan"),
        never={**_NOT_TAKEN, **{f"get {each}": _TAKEN for each in _OF_RUN}},
    ),
)
"""Each as it goes well, or as well as it can be on such a cluster."""
OFFERED = {"completion"}
"""What is offered for the Tab key is no answer: who may not list has nothing offered (test_offered)."""


def test_every_command_is_run_with_its_role() -> None:
    changing = {change.command for change in CHANGES} | set(COMMANDS)
    assert changing | OFFERED | {name for each in read_only_commands() for name in each.names} == set(
        registered_commands()
    )


def allowed(change: Change) -> set[str]:
    """The actions of IAM, none if it does not call AWS."""
    return policy(change.role) if _asks(change) else set()


def _asks(change: Change) -> bool:
    return any(question.actions for question in rights.aws_operations(change.command))


def done(
    change: Change, allowed_here: Iterable[Held], actions: Iterable[str], aws: World, folder: Path
) -> tuple[Ran, Watched, set[str]]:
    """Run by a user with these rights and actions and no others. Calls to AWS have the names of botocore."""
    aws.reset()
    folder.mkdir()
    who = Watched("who", allowed_here)
    with change.ground({"token": who}, aws, folder) as at:
        aws.forget_calls()
        allow(aws, set(actions))
        change.trouble(aws)
        ran = at.run(change.words, "token")
        if change.again and ran.code == change.code:
            between, _, more = change.again
            between(at)
            allow(aws, set(actions))
            later = at.run(more or change.words, "token")
            ran = Ran(later.code, ran.out + later.out, ran.err + later.err)
        asked = calls(aws)
        aws.allow()
    return ran, who, asked


@pytest.fixture
def world(aws: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for name, value in {**aws.environ(), "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    return aws


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(one, marks=() if one.command not in {each.command for each in CHANGES[:at]} else pytest.mark.long)
        for at, one in enumerate(CHANGES)
    ],
    ids=str,
)
def test_its_role_and_its_policy_are_enough_and_nothing_else_is_asked(
    change: Change, world: World, tmp_path: Path
) -> None:
    role, actions = printed(change.role), allowed(change)
    ran, who, asked = done(change, role, actions, world, tmp_path / "at")
    assert ran.code == change.ends, ran.err + ran.out
    assert "is forbidden" not in ran.out + ran.err and "is not authorized" not in ran.out + ran.err, ran.err
    assert unregistered(who.asked, role) == []
    assert asked <= {CALLED[action] for action in actions}
    unused = {right.said for right in role if not was_asked(right, who.asked)} - given(change, ran)
    assert unused == change.never.keys()
    assert {action for action in actions if CALLED[action] not in asked} == change.unasked.keys()


def given(change: Change, ran: Ran) -> set[str]:
    """The rights that the created objects grant: the user who creates them must have these."""
    if "--in-cluster" not in change.words:
        return set()
    docs = json.loads(ran.out)["items"]
    return {each.said for each in held(doc for doc in docs if doc["kind"] in ("Role", "ClusterRole"))}


def test_each_right_that_is_printed_is_used_by_a_line() -> None:
    """At least one line of each command uses it; every line declares the rights that it does not use, and a test above
    checks that."""
    for command in {change.command for change in CHANGES}:
        lines = [change for change in CHANGES if change.command == command]
        used = {right.said for line in lines for right in printed(line.role) if right.said not in line.never}
        whole = {str(right) for right in rights.BY_COMMAND.get(command, ())}
        elsewhere = {right for line in lines for right, why in line.never.items() if "tests/" in why}
        assert whole - used <= elsewhere, command


def test_each_action_that_is_printed_is_asked_for_by_a_line() -> None:
    """The same for each action; the other reading commands are run in test_reading."""
    for command in {change.command for change in CHANGES if _asks(change)}:
        lines = [change for change in CHANGES if change.command == command]
        elsewhere = {action for line in lines for action, why in line.unasked.items() if "tests/" in why}
        asked = {action for line in lines for action in policy(line.role) - {*line.unasked}}
        of_check = policy("check") if command in rights.ADDITIVE else set()
        assert policy(command) - of_check - asked <= elsewhere, command


def test_nobody_gives_what_they_have_not(world: World, tmp_path: Path) -> None:
    (change,) = (each for each in CHANGES if each.command == "check --in-cluster")
    lacking = ("list cronjobs.batch", "get pods/log", "get /metrics")
    fewer = [each for each in printed(change.role) if each.said not in lacking]
    ran, who, _ = done(change, fewer, (), world, tmp_path / "at")
    assert ran.code == 3 and "you cannot give it rights that you have not yourself" in ran.err
    assert all(each in ran.err for each in ("cronjobs", "pods/log", "/metrics")) and "nodes" not in ran.err
    assert "Nothing was created" in ran.err and {each.verb for each in who.asked} == {"create"}


def problems(whole: int, ran: Ran, missing: str, needed: bool) -> list[str]:
    """Faults of the result without the right or the action."""
    if ran.code == BUG or "Traceback" in ran.err:
        return [f"a bug: {ran.err[-400:]}"]
    if needed and not (ran.code == 3 and missing in ran.err):
        return [f"it is required, and the exit code is {ran.code}: {ran.err[-300:]}"]
    if missing not in ran.out + ran.err:
        return [f"it is nowhere named, and the exit code is {ran.code} instead of {whole}: {ran.err[-300:]}"]
    return []


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_what_is_missing_is_named(change: Change, world: World, tmp_path: Path) -> None:
    """The rights that it uses; the others are of other flags. Rights that it shares are removed for the other command.
    A line that lost an answer is resumed; any other second run uses a name that exists already."""
    if change.trouble is nothing:
        change = replace(change, again=None)
    role, actions, needed = printed(change.role), allowed(change), required(change.command)
    shared = {each.said for like in change.like for each in printed(like) if each.said not in required(like)}
    known_actions = {action for like in change.like for action in policy(like)} if actions and change.like else set()
    _, who, asked = done(change, role, actions, world, tmp_path / "whole")
    found = []
    for at, right in enumerate(each for each in role if was_asked(each, who.asked) and each.said not in shared):
        fewer = [each for each in role if each != right]
        ran, other, _ = done(change, fewer, actions, world, tmp_path / f"right-{at}")
        more = [str(each) for each in unregistered(other.asked, role)]
        more += problems(change.ends, ran, right.said, right.said in needed)
        found += [f"without {right.said}: {each}" for each in more if right.said not in change.silent]
    for at, action in enumerate(sorted(actions - known_actions)):
        if CALLED[action] in asked and action not in change.silent:
            ran, _, _ = done(change, role, actions - {action}, world, tmp_path / f"action-{at}")
            found += [f"without {action}: {each}" for each in problems(change.ends, ran, action, False)]
    assert found == [], "\n".join(found)
