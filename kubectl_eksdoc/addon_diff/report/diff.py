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
    FindingList,
    Footer,
    Heading,
    Line,
    Section,
    TextBlock,
    verbatim_line,
)
from kubectl_eksdoc.report.text import Title, join_words, pluralize

from ..plan import AddonPlan, ProposedValues, SchemaSince
from ..terraform_requests import DeclaredAddon, RequestKind
from ..terraform_result import (
    JudgedAddonChange,
    PlannedAddonChange,
    TerraformJudgement,
    display,
)
from . import update
from .result import (
    DiffAddon,
    DiffLeftOut,
    DiffResult,
    DiffTerraform,
    DiffTerraformChange,
    diff_addon,
)
from .update import (
    BLANK,
    copyable_lines,
    first_in_schema_section,
    proposed_values_section,
    sections,
    steps_section,
    terraform_lines,
)


@frozen
class AddonReport(CommandReport):
    """`plans` in the order of the add-ons. `steps`: for an add-on that is updated one minor version at a time, the plan
    of each step, by add-on name, if requested. `since`: the first schema versions with the paths of fields at risk,
    likewise. `comparison`: with an earlier result, None if none was given."""

    noun_phrase = "an add-on's update"

    plans: tuple[AddonPlan, ...]
    cluster: Cluster
    steps: Mapping[str, tuple[AddonPlan, ...]] = field(default_factory=dict)
    since: Mapping[str, tuple[SchemaSince, ...]] = field(default_factory=dict)
    comparison: ResultComparison | None = None

    def sections(self, full: bool) -> Iterator[Section | None]:
        """One page for each add-on; `full`: with changes of the version and evidence."""
        yield screen.section(self.comparison, self.cluster.observed_at, full, self.tool_version)
        for plan in self.plans:
            name, proposed = plan.facts.addon.name, plan.way_out
            yield from sections(plan, full, screen.change_marks(self.comparison))
            if proposed is not None:
                command = verbatim_line(update.proposed_command(plan, proposed))
                yield proposed_values_section(
                    plan, [BLANK, command, *(terraform_lines(plan, proposed) if full else ())]
                )
            yield first_in_schema_section(self.since.get(name, ()))
            yield steps_section(self.steps.get(name, ()))
        yield Footer("With evidence, and what only follows the version: -o wide; for a program: -o json")

    def ticket(self, max_rows: int) -> Iterator[Section | None]:
        """A comparison with an earlier result gets its own heading."""
        if self.comparison is not None:
            yield Heading(pluralize(len(self.plans), "add-on update"))
        yield from self.sections(full=False)

    def result(self) -> object:
        def build(plan: AddonPlan) -> DiffAddon:
            name = plan.facts.addon.name
            return diff_addon(plan, update.terraform_blocks, self.steps.get(name), self.since.get(name))

        return DiffResult.from_facts(
            self,
            terraform=None,
            addons=map(build, self.plans),
            since=self.comparison,
            findings=(each for plan in self.plans for each in plan.findings),
        )


# A Terraform plan: each change by its address, and the arguments to edit.


@frozen
class TerraformReport(CommandReport):
    """`cluster_name`: of the EKS cluster that the plan is judged against."""

    noun_phrase = "an add-on's update"

    judgement: TerraformJudgement
    cluster_name: str
    cluster: Cluster

    def sections(self, full: bool) -> Iterator[Section | None]:
        """The verdict, then for each change its address, lost fields, findings, and the arguments that keep all
        fields."""
        judgement = self.judgement
        other_clusters = ", ".join(
            f"{change.address} (cluster {display(change.cluster)})" for change in judgement.other_requests
        )
        yield Heading(
            self.verdict, (f"Left out, as they are of other clusters: {other_clusters}",) if other_clusters else ()
        )
        yield FindingList(judgement.findings, " of the plan as a whole", False)
        for change in judgement.changes:
            yield TextBlock(
                Title("", change.change.request.address), [_request_text(change.change), *map(str, change.assumptions)]
            )
            if change.plan is None:
                yield FindingList(change.findings, show_subject=False)
            else:
                yield from sections(change.plan, full)
                yield proposed_values_section(
                    change.plan, _proposed_lines(change, change.plan), change.change.is_creation
                )

    @property
    def verdict(self) -> str:
        """``plan.json: 2 add-on changes in shop: 1 fails, 1 is unknown``."""
        judgement, changes = self.judgement, self.judgement.changes
        file = "standard input" if judgement.plan.file == "-" else judgement.plan.file
        if not changes:
            subject = (
                f"{judgement.addon} of {self.cluster_name} is not"
                if judgement.addon
                else f"no add-on of {self.cluster_name} is"
            )
            if any(each.status is not Status.PASS for each in judgement.findings):
                return f"{file}: {subject} seen to change: not all of it is known"
            return f"{file}: {subject} changed: nothing to do"
        outcomes = list(map(_outcome, changes))
        counts = [(outcomes.count(singular), singular, plural) for singular, plural in _OUTCOMES.items()]
        parts = join_words(
            [f"{count} {singular if count == 1 else plural}" for count, singular, plural in counts if count]
        )
        return f"{file}: {pluralize(len(changes), 'add-on change')} in {self.cluster_name}: {parts}"

    def result(self) -> object:
        """The result of the diff, with the addresses of the resources: `addons` are the changes with a judged update or
        creation, `terraform.changes` are all."""
        judgement = self.judgement
        return DiffResult.from_facts(
            self,
            terraform=DiffTerraform.from_facts(
                judgement.plan,
                version=judgement.plan.terraform,
                errored=judgement.plan.failed,
                verdict=self.verdict,
                changes=map(_change_result, judgement.changes),
                left_out=(
                    DiffLeftOut.from_facts(each, cluster=each.cluster or None) for each in judgement.other_requests
                ),
            ),
            addons=(_addon_result(each, each.plan) for each in judgement.changes if each.plan is not None),
            since=None,
            findings=judgement.all_findings,
        )


_OUTCOMES = {"fails": "fail", "is unknown": "are unknown", "loses nothing": "lose nothing"}


def _outcome(judged_change: JudgedAddonChange) -> str:
    return tuple(_OUTCOMES)[Status.worst(each.status for each in judged_change.findings).rank]


_KINDS = {
    RequestKind.CREATE: "creation",
    RequestKind.UPDATE: "update",
    RequestKind.REPLACE: "replacement",
    RequestKind.DELETE: "deletion",
}


def _request_text(change: PlannedAddonChange) -> str:
    """``update of vpc-cni from v1.19.5-eksbuild.1 to v1.20.4-eksbuild.2; resolve_conflicts = "OVERWRITE"``."""
    request = change.request
    if request.kind is RequestKind.FORGET:
        return f"removal of {change.addon} from Terraform's state, and not from the cluster"
    text = f"{_KINDS[request.kind]} of {change.addon}"
    if request.kind is RequestKind.UPDATE:
        text += f" from {display(request.before)} to {display(request.after)}" if request.sends_version else ""
    elif request.kind in (RequestKind.CREATE, RequestKind.REPLACE):
        text += f" at {display(request.after)}"
    if request.kind is RequestKind.DELETE:
        return text
    mode = change.evidence.removeprefix(f"Terraform: {request.address}, ")
    return f"{text}; {mode}"


def _proposed_lines(judged_change: JudgedAddonChange, plan: AddonPlan) -> Iterator[Line]:
    proposed, change = plan.way_out, judged_change.change
    if proposed is None:
        return
    for versions, text in terraform_blocks(change, plan, proposed):
        yield from copyable_lines(f"Terraform, AWS provider {versions}:", text)
    are_values_accepted = change.declaration.accepts_values and all(each.has_values for each in change.generations)
    if not change.is_creation and not are_values_accepted:
        yield from copyable_lines("By the AWS CLI:", update.proposed_command(plan, proposed))


def terraform_blocks(
    change: PlannedAddonChange, plan: AddonPlan, proposed: ProposedValues
) -> Iterator[tuple[str, str]]:
    """Terraform blocks with which the change loses no field: pairs of provider versions and text, newest first. Equal
    blocks are merged."""
    versions_by_text: dict[str, list[str]] = {}
    argument = "resolve_conflicts" if change.conflicts_argument == "resolve_conflicts" else ""
    for generation in change.generations:
        lines = update.terraform_arguments(
            plan, proposed, generation, change.is_creation, argument, not change.declaration.accepts_values
        )
        versions_by_text.setdefault(_in_declaration(change.declaration, lines), []).insert(
            0, "awscc" if change.request.resource.cloud_control else generation.value
        )
    for text, versions in versions_by_text.items():
        yield join_words(versions), text


def _in_declaration(declaration: DeclaredAddon, lines: Sequence[str]) -> str:
    """The arguments in the resource, or in the module call's part for the add-on."""
    all_lines = [line for text in lines for line in text.splitlines()]
    if not declaration.module:
        return "\n".join([f"# {declaration.address}", *all_lines])
    outer, _, name = declaration.module.rpartition(".")
    outer_module = [f"# in module {outer}"] if outer else []
    body = [f"      {line}" for line in all_lines]
    opening = [f'module "{name}" {{', f"  {declaration.addons_argument} = {{", f'    "{declaration.key}" = {{']
    return "\n".join([*outer_module, *opening, *body, "    }", "  }", "}"])


def _change_result(judged_change: JudgedAddonChange) -> DiffTerraformChange:
    change, request = judged_change.change, judged_change.change.request
    argument = request.set_by or ("preserve" if request.after is None else change.conflicts_argument)
    return DiffTerraformChange.from_facts(
        request,
        action=request.kind,
        from_=request.before,
        to=request.after,
        written_at=change.declaration.argument(argument),
        preserves=request.preserves_objects,
        providers=() if change.request.resource.cloud_control else change.generations,
        supposed=map(str, judged_change.assumptions),
        outcome=_outcome(judged_change),
    )


def _addon_result(judged_change: JudgedAddonChange, plan: AddonPlan) -> DiffAddon:
    return diff_addon(
        plan,
        lambda of, way: terraform_blocks(judged_change.change, of, way),
        address=judged_change.change.request.address,
    )
