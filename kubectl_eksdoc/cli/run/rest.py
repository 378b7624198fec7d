"""What is left of a run, planned for the cluster as it is, and carried out. Who shows it and asks for what must be
typed is somebody else: the command, or the screens."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.cli.run import options as run_options
from kubectl_eksdoc.cli.run.allowed import check_allowed
from kubectl_eksdoc.cli.run.noted import Noted
from kubectl_eksdoc.cli.run.request import RunRequest
from kubectl_eksdoc.cli.surroundings import Surroundings
from kubectl_eksdoc.core.model.journal import DONE
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.wiring.runs import Hooks
from kubectl_eksdoc.wiring.sources import Progress, SourceChoice

if TYPE_CHECKING:  # help must not pay for facts and plans
    from kubectl_eksdoc.cli.run.again import Asked
    from kubectl_eksdoc.cli.run.carrying import Carrying
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.plan.drain.result import DrainPlan
    from kubectl_eksdoc.core.run.journal import Journaled
    from kubectl_eksdoc.core.run.limits import Limits
    from kubectl_eksdoc.flows.run.draining import Ended
    from kubectl_eksdoc.flows.run.running import Meant

COMMAND = "drain resume"

WAIT_S = 5.0
"""So long another one's lock is waited for: somebody who has just ended may still have it."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left of a run, planned for the cluster as it is. `finished`: its end is written, and no node is protected
    by it any more."""

    cluster: Cluster
    plan: DrainPlan
    asked: Asked
    shown: int
    finished: bool

    @staticmethod
    def of(
        run: str,
        journaled: Journaled,
        request: RunRequest,
        around: Surroundings,
        given: Mapping[str, Any] = MappingProxyType({}),
        progress: Progress | None = None,
    ) -> Rest:
        """
        Raises:
            UsageError: nobody can go on with it.
        """
        from kubectl_eksdoc.core.model import kinds
        from kubectl_eksdoc.flows.run.resuming import rest_of

        asked = asked_of(run, journaled)
        limits = replace(asked.limits, **given)
        waiting = run_options.waiting(limits, around)
        cluster = around.open_reader(SourceChoice(), request.options.connection, progress, waiting).read(kinds.ALL)
        plan = rest_of(cluster, journaled, asked.policy)
        finished = journaled.ended == DONE and not journaled.protected
        return Rest(cluster, plan, asked, journaled.next_number, finished)

    def meant(self) -> Meant:
        """Once what is deleted past its budget was typed back."""
        from kubectl_eksdoc.core.plan.drain.comparison.drift import promise_of
        from kubectl_eksdoc.flows.run.running import Meant

        typed = frozenset(eviction.pod.uid for eviction in self.plan.past_budgets)
        return Meant(self.asked.policy, typed, self.shown, promise_of(self.plan))

    def limits(self, given: Mapping[str, Any]) -> Limits:
        """As the run was begun, but for what is said now."""
        return replace(self.asked.limits, **given)

    def hooks(self, given: Hooks, without: bool = False) -> Hooks:
        """
        Raises:
            UsageError: the run was begun with commands that are neither given again nor waived. They are not taken from
                the journal: whoever may write a ConfigMap must not run commands here.
        """
        missing = sorted(self.asked.hooks.commands.keys() - given.commands.keys())
        if missing and not without:
            lost = "; ".join(f"--hook-{when} {shlex.quote(self.asked.hooks.commands[when])}" for when in missing)
            raise UsageError(
                f"the run was begun with hooks that would not be asked any more: {lost}",
                "Give them again, or say --without-hooks.",
            )
        return given

    @property
    def nodes(self) -> int:
        return sum(target.order > 0 for target in self.plan.targets)

    @property
    def past_budgets(self) -> tuple[str, ...]:
        """The pods (ns/name) that are deleted past their budgets: each must be typed back."""
        return tuple(eviction.pod.key for eviction in self.plan.past_budgets)

    def check(self, run: str, request: RunRequest, around: Surroundings) -> None:
        """
        Raises:
            Locked: another run has to do with its nodes.
            Forbidden: rights are missing; it names all of them.
        """
        Noted(request.options, request.namespace, around).check(run)(self.cluster, self.plan)
        check_allowed(COMMAND, request.options.connection, request.namespace, around, self.plan)


def asked_of(run: str, journaled: Journaled) -> Asked:
    """What it was begun for.

    Raises:
        UsageError: nobody can go on with it.
    """
    from kubectl_eksdoc.cli.run.again import asked_again

    if journaled.rolled_back:
        raise UsageError(f"run {run} was rolled back: there is nothing to go on with", "Begin a new run.")
    if journaled.begun is None:
        hint = "Begin a new run; what this one did to nodes is taken back by: kubectl eksdoc drain rollback " + run
        raise UsageError(f"the journal of run {run} does not say how it began, so nobody can go on with it", hint)
    return asked_again(journaled.begun.asked, f"run {run}")


def gone_on(
    run: str, rest: Rest, request: RunRequest, limits: Limits, carrying: Carrying, around: Surroundings
) -> tuple[Cluster, Ended]:
    """From here on things are changed.

    Raises:
        as `Carrying.open` and `go_on`.
    """
    from kubectl_eksdoc.flows.run.running import go_on

    with carrying.open(WAIT_S) as world:
        reader = around.open_reader(
            SourceChoice(), request.options.connection, None, run_options.waiting(limits, around)
        )
        check = Noted(request.options, request.namespace, around).check(run)
        return go_on(run, reader, rest.meant(), carrying.running(world, limits, check))
