"""Report of planned add-on updates: of the requested add-ons, and of a Terraform plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from kubectl_eksdoc.baseline import report as screen
from kubectl_eksdoc.baseline.changes import ResultComparison
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.report.report import (
    CommandReport,
    Findings,
    Foot,
    Head,
    Line,
    Lines,
    Section,
    as_it_is,
)
from kubectl_eksdoc.report.text import Title, counted, joined

from ..plan import AddonPlan, SchemaSince, WayOut
from ..terraform_requests import DeclaredAddon, Kind
from ..terraform_result import (
    JudgedAddonChange,
    PlannedAddonChange,
    TerraformJudgement,
    named,
)
from . import update
from .result import (
    DiffAddon,
    DiffLeftOut,
    DiffResult,
    DiffTerraform,
    DiffTerraformChange,
    addon,
)
from .update import (
    BLANK,
    each_step,
    first_in_schema,
    of_terraform,
    sections,
    way_out,
    written,
)


@frozen
class AddonReport(CommandReport):
    """`plans` in the order of the add-ons. `steps`: for an add-on that is updated one minor version at a time, the plan
    of each step, by add-on name, if requested. `since`: the first schema versions with the paths of fields at risk,
    likewise. `comparison`: with an earlier result, None if none was given."""

    of = "an add-on's update"

    plans: tuple[AddonPlan, ...]
    cluster: Cluster
    steps: Mapping[str, tuple[AddonPlan, ...]] = field(default_factory=dict)
    since: Mapping[str, tuple[SchemaSince, ...]] = field(default_factory=dict)
    beside: ResultComparison | None = None

    def sections(self, full: bool) -> Iterator[Section | None]:
        """One page for each add-on; `full`: with changes of the version and evidence."""
        yield screen.section(self.beside, self.cluster.observed_at, full, self.tool_version)
        for plan in self.plans:
            name, way = plan.facts.addon.name, plan.way_out
            yield from sections(plan, full, screen.marking(self.beside))
            if way is not None:
                command = as_it_is(update.update_addon(plan, way))
                yield way_out(plan, [BLANK, command, *(of_terraform(plan, way) if full else ())])
            yield first_in_schema(self.since.get(name, ()))
            yield each_step(self.steps.get(name, ()))
        yield Foot("With evidence, and what only follows the version: -o wide; for a program: -o json")

    def ticket(self, most: int) -> Iterator[Section | None]:
        """A comparison with an earlier result gets its own heading."""
        if self.beside is not None:
            yield Head(counted(len(self.plans), "add-on update"))
        yield from self.sections(full=False)

    def result(self) -> object:
        def made(plan: AddonPlan) -> DiffAddon:
            name = plan.facts.addon.name
            return addon(plan, update.terraform, self.steps.get(name), self.since.get(name))

        return DiffResult.filled(
            self,
            terraform=None,
            addons=map(made, self.plans),
            since=self.beside,
            findings=(each for plan in self.plans for each in plan.findings),
        )


# A Terraform plan: each change by its address, and the arguments to edit.


@frozen
class TerraformReport(CommandReport):
    """`name`: of the EKS cluster that the plan is judged against."""

    of = "an add-on's update"

    judgement: TerraformJudgement
    name: str
    cluster: Cluster

    def sections(self, full: bool) -> Iterator[Section | None]:
        """The verdict, then for each change its address, lost fields, findings, and the arguments that keep all
        fields."""
        judgement = self.judgement
        others = ", ".join(f"{each.address} (cluster {named(each.cluster)})" for each in judgement.elsewhere)
        yield Head(self.verdict, (f"Left out, as they are of other clusters: {others}",) if others else ())
        yield Findings(judgement.findings, " of the plan as a whole", False)
        for each in judgement.changes:
            yield Lines(Title("", each.change.request.address), [_asks(each.change), *map(str, each.supposed)])
            if each.plan is None:
                yield Findings(each.findings, named=False)
            else:
                yield from sections(each.plan, full)
                yield way_out(each.plan, _written_for(each, each.plan), each.change.creates)

    @property
    def verdict(self) -> str:
        """``plan.json: 2 add-on changes in shop: 1 fails, 1 is unknown``."""
        judgement, changes = self.judgement, self.judgement.changes
        file = "standard input" if judgement.plan.file == "-" else judgement.plan.file
        if not changes:
            what = f"{judgement.addon} of {self.name} is not" if judgement.addon else f"no add-on of {self.name} is"
            if any(each.status is not Status.PASS for each in judgement.findings):
                return f"{file}: {what} seen to change: not all of it is known"
            return f"{file}: {what} changed: nothing to do"
        found = list(map(_outcome, changes))
        counts = [(found.count(one), one, several) for one, several in _OUTCOMES.items()]
        parts = joined([f"{count} {one if count == 1 else several}" for count, one, several in counts if count])
        return f"{file}: {counted(len(changes), 'add-on change')} in {self.name}: {parts}"

    def result(self) -> object:
        """The result of the diff, with the addresses of the resources: `addons` are the changes with a judged update or
        creation, `terraform.changes` are all."""
        judgement = self.judgement
        return DiffResult.filled(
            self,
            terraform=DiffTerraform.filled(
                judgement.plan,
                version=judgement.plan.terraform,
                errored=judgement.plan.failed,
                verdict=self.verdict,
                changes=map(_change, judgement.changes),
                left_out=(DiffLeftOut.filled(each, cluster=each.cluster or None) for each in judgement.elsewhere),
            ),
            addons=(_addon(each, each.plan) for each in judgement.changes if each.plan is not None),
            since=None,
            findings=judgement.every,
        )


_OUTCOMES = {"fails": "fail", "is unknown": "are unknown", "loses nothing": "lose nothing"}


def _outcome(judged: JudgedAddonChange) -> str:
    return tuple(_OUTCOMES)[Status.worst(each.status for each in judged.findings).rank]


_KINDS = {
    Kind.CREATE: "creation",
    Kind.UPDATE: "update",
    Kind.REPLACE: "replacement",
    Kind.DELETE: "deletion",
}


def _asks(change: PlannedAddonChange) -> str:
    """``update of vpc-cni from v1.19.5-eksbuild.1 to v1.20.4-eksbuild.2; resolve_conflicts = "OVERWRITE"``."""
    request = change.request
    if request.kind is Kind.FORGET:
        return f"removal of {change.addon} from Terraform's state, and not from the cluster"
    what = f"{_KINDS[request.kind]} of {change.addon}"
    if request.kind is Kind.UPDATE:
        what += f" from {named(request.before)} to {named(request.after)}" if request.sends_version else ""
    elif request.kind in (Kind.CREATE, Kind.REPLACE):
        what += f" at {named(request.after)}"
    if request.kind is Kind.DELETE:
        return what
    mode = change.evidence.removeprefix(f"Terraform: {request.address}, ")
    return f"{what}; {mode}"


def _written_for(judged: JudgedAddonChange, plan: AddonPlan) -> Iterator[Line]:
    way, change = plan.way_out, judged.change
    if way is None:
        return
    for versions, text in blocks(change, plan, way):
        yield from written(f"Terraform, AWS provider {versions}:", text)
    given = change.where.gives_values and all(each.gives_values for each in change.generations)
    if not change.creates and not given:
        yield from written("By the AWS CLI:", update.update_addon(plan, way))


def blocks(change: PlannedAddonChange, plan: AddonPlan, way: WayOut) -> Iterator[tuple[str, str]]:
    """Terraform blocks with which the change loses no field: pairs of provider versions and text, newest first. Equal
    blocks are merged."""
    made: dict[str, list[str]] = {}
    one = "resolve_conflicts" if change.conflicts == "resolve_conflicts" else ""
    for generation in change.generations:
        lines = update.arguments(plan, way, generation, change.creates, one, not change.where.gives_values)
        made.setdefault(_at(change.where, lines), []).insert(
            0, "awscc" if change.request.resource.cloud_control else generation.value
        )
    for text, versions in made.items():
        yield joined(versions), text


def _at(where: DeclaredAddon, lines: Sequence[str]) -> str:
    """The arguments in the resource, or in the module call's part for the add-on."""
    every = [line for text in lines for line in text.splitlines()]
    if not where.module:
        return "\n".join([f"# {where.address}", *every])
    outer, _, name = where.module.rpartition(".")
    within = [f"# in module {outer}"] if outer else []
    inner = [f"      {line}" for line in every]
    head = [f'module "{name}" {{', f"  {where.map} = {{", f'    "{where.key}" = {{']
    return "\n".join([*within, *head, *inner, "    }", "  }", "}"])


def _change(judged: JudgedAddonChange) -> DiffTerraformChange:
    change, request = judged.change, judged.change.request
    argument = request.set_by or ("preserve" if request.after is None else change.conflicts)
    return DiffTerraformChange.filled(
        request,
        action=request.kind,
        from_=request.before,
        to=request.after,
        written_at=change.where.argument(argument),
        preserves=request.keeps,
        providers=() if change.request.resource.cloud_control else change.generations,
        supposed=map(str, judged.supposed),
        outcome=_outcome(judged),
    )


def _addon(judged: JudgedAddonChange, plan: AddonPlan) -> DiffAddon:
    return addon(plan, lambda of, way: blocks(judged.change, of, way), address=judged.change.request.address)
