"""A pod that takes the confirmed name between the confirmation and the lock is not deleted, and neither is any other
pod."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.parser import Parser
from kubectl_eksdoc.drain.command.new_run import PlannedCluster, _check_typed, digest, parse_recorded_options
from kubectl_eksdoc.drain.command.options import (
    add_between_waves,
    add_limits,
    limit_arguments,
    limits_given,
)
from kubectl_eksdoc.drain.command.run_controller import RemainingPlan
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.embedded.serving.handler import serving
from kubectl_eksdoc.errors import Drifted, UsageError
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.wiring.runs import Hooks
from tests.builders import a_budget, a_cluster, a_node, a_workload, pods
from tests.cli.running import FakeSource, run_cli
from tests.drain.command.served import cordoned, machine
from tests.drain.planning import plan_of
from tests.embedded.clients import worlds

NAMED = DrainPolicy(delete_past_budget=frozenset({"default/web-0"}))


def read(uid: str = "", allowed: int = 0, policy: DrainPolicy = NAMED) -> PlannedCluster:
    found = [replace(pod, uid=uid or pod.uid) for pod in pods(1)]
    cluster = a_cluster(
        nodes=[a_node("old-0")],
        pods=found,
        workloads=[a_workload(replicas=1)],
        budgets=[a_budget(min_available=1 - allowed, allowed=allowed, expected=1)],
    )
    return PlannedCluster(cluster, plan_of(cluster, policy=policy))


def test_another_pod_of_its_name_was_not_typed() -> None:
    _check_typed(read(), read())
    assert len(read().plan.past_budgets) == 1
    with pytest.raises(Drifted, match="default/web-0 would be deleted past its budget, and is not the pod"):
        _check_typed(read(), read(uid="another"))


def test_one_that_was_to_go_in_its_turn_was_not_typed() -> None:
    assert not read(allowed=1).plan.past_budgets
    with pytest.raises(Drifted):
        _check_typed(read(allowed=1), read())
    _check_typed(read(), read(allowed=1))


def test_plans_by_other_means_have_other_digests() -> None:
    assert digest(read()) != digest(read(allowed=1)) == digest(read(allowed=1, policy=DrainPolicy()))


def test_a_reader_is_told_all_that_is_missing_and_nothing_is_done(tmp_path: Path) -> None:
    api = worlds.api_of("small-traps")
    with serving(api) as server:
        words = ("drain", "run", "--nodegroup", "blue", "--yes", "--expect-nodes", "1")
        ran = machine(server, tmp_path / "reader", worlds.VIEWER_TOKEN).run(*words)
    assert ran.code == 3 and ran.out == ""
    said = next(line for line in ran.err.splitlines() if line.startswith("error: "))
    assert said == (
        "error: the cluster does not let you: patch nodes; create pods/eviction in namespace default; "
        "patch configmaps in namespace kube-system; create leases.coordination.k8s.io in namespace kube-system; "
        "update leases.coordination.k8s.io in namespace kube-system; create configmaps in namespace kube-system"
    )
    assert "Nothing was done." in ran.err and "It cannot do without these rights" in ran.err
    assert cordoned(api) == set()
    assert (
        api.run_locked(lambda plane: [*plane.store.list("configmaps"), *plane.store.list(kinds.LEASES.full_name)]) == []
    )


@pytest.mark.parametrize("words", [("run", "--nodegroup", "blue"), ("resume", "r1"), ("rollback", "r1")])
def test_yes_without_the_number_is_refused_before_the_plan_is_made(words: tuple[str, ...]) -> None:
    source = FakeSource(error=AssertionError("it is read"))
    ran = run_cli("drain", *words, "--yes", source=source)
    assert (ran.code, ran.out, source.asked) == (2, "", [])
    assert "--yes needs the expectation: how many nodes it is about" in ran.err
    assert "Add --expect-nodes N, with the number of nodes of the plan that you have read." in ran.err


@pytest.mark.parametrize("more", [(), ("--expect-nodes", "5"), ("--in-cluster", "--apply", "--image", "r/i:1")])
def test_without_a_terminal_and_without_yes_it_ends_before_the_plan_is_made(more: tuple[str, ...]) -> None:
    source = FakeSource(error=AssertionError("it is read"))
    ran = run_cli("drain", "run", "--nodegroup", "blue", *more, source=source)
    assert (ran.code, ran.out, source.asked) == (2, "", [])
    assert "this must be confirmed by typing, and stdin is no terminal" in ran.err
    assert "In a script: --yes --expect-nodes N, with the number of nodes of the plan that you have read." in ran.err


@pytest.mark.parametrize("more", [("--dry-run",), ("--in-cluster", "--image", "r/i:1")])
def test_what_changes_nothing_needs_no_terminal(more: tuple[str, ...]) -> None:
    assert "no terminal" not in run_cli("drain", "run", "old-0", *more).err


@pytest.mark.parametrize(
    "limits",
    [
        RunLimits(),
        RunLimits(hold_s=0.5, pending_s=1.0, not_ready=0, away_s=86400.0, failing_s=2.25, blocked_s=1e6, soak_s=120.0),
    ],
)
@pytest.mark.parametrize("hooks", [Hooks(), Hooks({"before-wave": "-x 'a b'", "after-wave": "exit 0"})])
def test_guards_and_hooks_are_read_back_from_their_words(limits: RunLimits, hooks: Hooks) -> None:
    asked = parse_recorded_options(("old-1", *limit_arguments(limits, hooks)), "run r1")
    assert (asked.limits, asked.hooks, asked.targeting.names) == (limits, hooks, ("old-1",))


def test_what_is_said_now_goes_before_what_was_also_a_default() -> None:
    parser = Parser(prog="drain resume")
    add_limits(parser)
    add_between_waves(parser)
    said = limits_given(parser.parse_args(["--soak", "0", "--eviction-timeout", "30m"]))
    assert replace(RunLimits(blocked_s=60.0, soak_s=30.0, not_ready=7), **said) == RunLimits(not_ready=7)
    assert limits_given(parser.parse_args([])) == {}


def test_words_of_another_version_are_said_to_be_so() -> None:
    with pytest.raises(UsageError, match="what run r1 was asked for is not understood"):
        parse_recorded_options(("--from-the-future",), "run r1")


AFTER = "after-wave"


@pytest.mark.parametrize(
    ("given", "without", "lacks"),
    [((), False, AFTER), (("before-wave",), False, AFTER), ((), True, ""), ((AFTER,), False, "")],
)
def test_hooks_are_given_again_or_waived_and_never_taken_from_the_journal(
    given: tuple[str, ...], without: bool, lacks: str
) -> None:
    begun = Hooks({"after-wave": "exit 0"})
    asked = parse_recorded_options(("old-1", *limit_arguments(RunLimits(), begun)), "run r1")
    rest = RemainingPlan(read().cluster, read().plan, asked, 1, False)
    now = Hooks(dict.fromkeys(given, "true"))
    if not lacks:
        assert rest.hooks(now, without) == now
        return
    with pytest.raises(UsageError, match=f"--hook-{lacks} 'exit 0'") as refused:
        rest.hooks(now, without)
    assert "--without-hooks" in refused.value.hint
