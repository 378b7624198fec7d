"""Page of one add-on update: its sections, sentences, and commands for the AWS CLI, Terraform and eksctl."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.kubernetes.redaction import redact_value
from kubectl_eksdoc.model.addons import format_path
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.findings import Code, Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.report import (
    FindingList,
    FindingSuffix,
    Heading,
    Line,
    Section,
    Table,
    TextBlock,
    flush_left,
    no_suffix,
    verbatim_line,
)
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    TableData,
    Title,
    Tone,
    as_columns,
    name_column,
    pluralize,
    text_column,
)

from ..expected import ApplyEvidence
from ..fields import AddonField, value_text
from ..judging import field_name
from ..past_update_facts import WorkloadReview
from ..plan import AddonPlan, ProposedValues, SchemaSince
from ..prediction import Fate, FieldChange, Mode
from ..schema import schema_changes
from ..terraform_requests import Generation

# An update with proposed values, as the tools write it that declare add-ons.
#
# Sources: aws-cli 2 (``eks update-addon``); Terraform's AWS provider: ``configuration_values`` from 4.47,
# ``resolve_conflicts`` deprecated in 5.0 and removed in 6.0, PRESERVE from 4.32 (documented from 4.34); eksctl's
# schema.


def as_json(values: Doc) -> str:
    """On one line, with sorted keys."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def redacted_text(text: str) -> str:
    """Redact a text, or the JSON document in it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return redact_value(text)
    redacted = redact_value(value)
    return text if redacted == value else json.dumps(redacted, ensure_ascii=False)


def values_argument(values: Doc) -> str:
    """The values as a shell argument; a file reference if they contain a secret."""
    return as_json(values) if redact_value(values) == values else "file://values.json"


def patch_command(workload: WorkloadReview, kubectl: tuple[str, ...]) -> str:
    """For a shell; "" if there is nothing to patch. `kubectl`: the kubectl command with the flags of the cluster."""
    if workload.patch is None:
        return ""
    namespace_flags = [*kubectl, *(("-n", workload.object_ref.namespace) if workload.object_ref.namespace else ())]
    is_secret = redact_value(workload.patch) != workload.patch  # the user supplies a file
    patch = ("--patch-file", "patch.json") if is_secret else ("-p", as_json(workload.patch))
    patch_words = ("patch", workload.object_ref.kind.lower(), workload.object_ref.name, "--type", "strategic")
    return shlex.join(["kubectl", *namespace_flags, *patch_words, *patch])


def safest_mode(proposed: ProposedValues) -> Mode:
    """NONE, with which EKS refuses to overwrite a field of another owner; PRESERVE if no value keeps some of the
    fields, because only PRESERVE leaves them."""
    return Mode.PRESERVE if proposed.cannot else Mode.NONE


def proposed_command(plan: AddonPlan, proposed: ProposedValues) -> str:
    return _update_command(plan, safest_mode(proposed), proposed.values)


def _update_command(plan: AddonPlan, mode: Mode, values: Doc | None = None) -> str:
    facts = plan.facts
    cluster = facts.cluster
    name, version = facts.addon.name, facts.target.version
    return update_command(cluster.name, cluster.region, name, version, mode.value, values, facts.profile)


def update_command(
    cluster: str, region: str, addon: str, version: str, mode: str, values: Doc | None, profile: str = ""
) -> str:
    """For a shell. `values` is None if EKS keeps the current ones. `profile`: the AWS profile, "" for the default."""
    words = ["aws", "eks", "update-addon", "--cluster-name", cluster, "--addon-name", addon]
    words += ["--addon-version", version, "--resolve-conflicts", mode, *(["--region", region] if region else [])]
    words += ["--profile", profile] if profile else []
    return shlex.join([*words, *([] if values is None else ["--configuration-values", values_argument(values)])])


def next_command(plan: AddonPlan) -> str:
    """For a shell: the update with the proposed values, or without values if none are needed, so that EKS keeps the
    current ones. "" if no values are known for it."""
    if plan.facts.offered is False:
        return ""
    if plan.way_out is None:
        return "" if any(change.at_risk for change in plan.changes) else _update_command(plan, Mode.NONE)
    return proposed_command(plan, plan.way_out) if plan.way_out.is_usable else ""


def terraform_blocks(plan: AddonPlan, proposed: ProposedValues) -> Iterator[tuple[str, str]]:
    """Pairs of provider versions and arguments, newest first; limits of old versions are named in comments."""
    addon = f'addon_name    = "{plan.facts.addon.name}"'
    for generation in (each for each in Generation if each is not Generation.V5):  # same arguments as version 6
        versions = "5 and 6" if generation is Generation.V6 else generation.value
        yield versions, "\n".join((addon, *terraform_arguments(plan, proposed, generation)))


def terraform_arguments(
    plan: AddonPlan,
    proposed: ProposedValues,
    generation: Generation,
    creates: bool = False,
    argument: str = "",
    module_lacks_values: bool = False,
) -> tuple[str, ...]:
    """The arguments of the resource for the proposed values, for that generation of the provider. A creation needs
    OVERWRITE to take fields of other owners. `argument`: the argument that resolves conflicts, "" for the generation's
    own; `module_lacks_values`: the surrounding module passes no configuration values."""
    version = f'addon_version = "{plan.facts.target.version}"'
    if module_lacks_values or not generation.has_values:
        limit = f"this {'module' if module_lacks_values else 'provider'} gives no configuration values"
        if creates:
            return (version, f"# {limit}: create it by the AWS CLI, and import it")
        preserve_note = "" if generation.accepts_preserve else ", and PRESERVE is refused"
        mode = (f'resolve_conflicts = "{Mode.PRESERVE.value}"',) if generation.accepts_preserve else ()
        return (version, *mode, f"# {limit}: update by the AWS CLI, and set addon_version here as well{preserve_note}")
    event = "" if generation.start < (5, 0) else "_on_create" if creates else "_on_update"
    mode = (
        f'{argument or "resolve_conflicts" + event} = "{(Mode.OVERWRITE if creates else safest_mode(proposed)).value}"',
    )
    return (version, *mode, f"configuration_values = jsonencode({_to_hcl(redact_value(proposed.values))})")


def eksctl_config(plan: AddonPlan, proposed: ProposedValues) -> Doc:
    """The add-on's entry in a ClusterConfig."""
    return {
        "addons": [
            {
                "name": plan.facts.addon.name,
                "version": plan.facts.target.version,
                "resolveConflicts": safest_mode(proposed).value.lower(),
                "configurationValues": as_json(redact_value(proposed.values)),
            }
        ]
    }


def _to_hcl(values: object, depth: int = 1) -> str:
    """Values in Terraform's object syntax, without ``${`` and ``%{``, which would be templates."""
    indent = "  " * depth
    if isinstance(values, dict) and values:
        lines = [f"{indent}{_hcl_string(str(key))} = {_to_hcl(values[key], depth + 1)}" for key in sorted(values)]
        return "{\n" + "\n".join(lines) + "\n" + "  " * (depth - 1) + "}"
    if isinstance(values, list) and values:
        lines = [f"{indent}{_to_hcl(each, depth + 1)}," for each in values]
        return "[\n" + "\n".join(lines) + "\n" + "  " * (depth - 1) + "]"
    if isinstance(values, str):
        return _hcl_string(values)
    return json.dumps(values)


def _hcl_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


# The effect of the update, in sentences.


def verdict(plan: AddonPlan) -> str:
    """``vpc-cni v1.19.5-eksbuild.1 → v1.20.4-eksbuild.2 with OVERWRITE: 2 fields that another client has set are
    lost``."""
    facts, mode = plan.facts, plan.request.mode
    current_version = facts.current.version or ("(self-managed)" if facts.objects else "(not there)")
    is_same_version = facts.current.version == facts.target.version
    versions = (
        f"{current_version} (the same version)" if is_same_version else f"{current_version} → {facts.target.version}"
    )
    return f"{facts.addon.name} {versions} with {mode.value}: {_summary(plan)}"


def _summary(plan: AddonPlan) -> str:
    if plan.facts.offered is False:
        return f"EKS does not offer it for Kubernetes {plan.facts.cluster.version}"
    mode = plan.request.mode
    at_risk = [change for change in plan.changes if change.at_risk]
    losses = [change for change in at_risk if change.fate(mode) in (Fate.RESET, Fate.REMOVED)]
    if any(mode in each.refused for each in plan.predictions):
        return "it fails, as the API server refuses what would result"
    if mode is Mode.NONE and plan.conflict:
        conflicts = [change for change in at_risk if change.fate(mode) is Fate.CONFLICT]
        count = pluralize(len(conflicts), "field") if conflicts else "other fields"
        return f"{_manifest_note(conflicts)}it fails, in conflict over {count} that another client has set"
    if losses:
        count = pluralize(len(losses), "field")
        return f"{_manifest_note(losses)}{count} that another client has set {'is' if len(losses) == 1 else 'are'} lost"
    if any(finding.status is Status.UNKNOWN for finding in plan.findings):
        return "nothing that is known to be lost, but not all of it is known"
    if any(finding.status is Status.FAIL for finding in plan.findings):
        return "no field is lost, but something stands in its way"
    return "nothing that other clients have set is lost"


def _manifest_note(changes: Sequence[FieldChange]) -> str:
    is_known = not changes or any(change.witness is not ApplyEvidence.NEAREST for change in changes)
    return "" if is_known else "by the nearest known manifest, "


def short_field_name(field: AddonField) -> str:
    """Short, for a table: ``DISABLE_TCP_EARLY_DEMUX (init)``, ``.data.Corefile``."""
    if field.variable:
        return f"{field.variable} (init)" if field.is_in_init_container else field.variable
    return field_name(field).removeprefix(".spec.template")


def _rollout_text(plan: AddonPlan) -> str:
    """How the update reaches the nodes, "" for an add-on without a DaemonSet."""
    mode = plan.request.mode
    if (mode is Mode.NONE and plan.conflict) or any(mode in each.refused for each in plan.predictions):
        return "As it fails, nothing is replaced."
    for live in plan.facts.objects:
        if live.get("kind") != "DaemonSet":
            continue
        nodes = nested_field(live, "status", "desiredNumberScheduled")
        limit = nested_field(live, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
        if nested_field(live, "spec", "updateStrategy", "type") == "OnDelete":
            return "Its pods are replaced when they are deleted (updateStrategy OnDelete)."
        count = pluralize(nodes, "node") if isinstance(nodes, int) else "every node it runs on"
        return f"If its template changes, its pods are replaced on {count}, {1 if limit is None else limit} at a time."
    return ""


# The page: verdict, fields at risk in each mode, findings, schema changes, proposed values.


_MAX_LINES = 12
_FATE_TONES = {
    Fate.RESET: Tone.BAD,
    Fate.REMOVED: Tone.BAD,
    Fate.CONFLICT: Tone.WARN,
    Fate.UNKNOWN: Tone.UNKNOWN,
    Fate.KEPT: Tone.GOOD,
}


def sections(plan: AddonPlan, full: bool, mark: FindingSuffix = no_suffix) -> Iterator[Section]:
    """All sections except the proposed values, which have several forms."""
    mode = plan.request.mode
    yield Heading(verdict(plan), (_rollout_text(plan),))
    title = Title("Fields at risk", ": what each way to resolve conflicts makes of them")
    yield Table(title, _field_table((each for each in plan.changes if each.at_risk), mode), "fields")
    yield FindingList(plan.findings, f" with {mode.value}", False, mark)
    if full:
        version_changes = _field_table((each for each in plan.changes if not each.at_risk), mode)
        yield Table("What follows the version", version_changes)
    if plan.facts.installed:
        yield _schema_section(plan, full)


def _field_table(field_changes: Iterable[FieldChange], requested_mode: Mode) -> TableData:
    return as_columns(
        name_column("FIELD", 24),
        text_column("LIVE", 8),
        text_column("SET BY", 8),
        *(mode.value for mode in Mode),
        Column("SURE", drop_order=1),
    ), [
        [
            short_field_name(change.field),
            value_text(change.live, change.field),
            ", ".join(change.owners) or "nobody",
            *(Cell(_effect_text(change, mode), _FATE_TONES.get(change.fate(mode))) for mode in Mode),
            change.confidence(requested_mode).value,
        ]
        for change in field_changes
    ]


def _effect_text(change: FieldChange, mode: Mode) -> str:
    """``→ "false"``, ``kept``, ``conflict``, ``?``."""
    prediction = change.by_mode[mode]
    if prediction.fate is Fate.UNKNOWN:
        return "?"
    if prediction.fate in (Fate.RESET, Fate.FOLLOWS):
        return f"→ {value_text(prediction.value, change.field)}"
    return str(prediction.fate.value)


def _schema_section(plan: AddonPlan, full: bool) -> Section:
    current, target = plan.facts.current, plan.facts.target
    title = Title("Configuration schema", f", {current.version} → {target.version}")
    if isinstance(current.schema, Unknown) or isinstance(target.schema, Unknown):
        return TextBlock(
            title, [f"? {each.schema.why}" for each in (current, target) if isinstance(each.schema, Unknown)]
        )
    lines = list(schema_changes(current.schema, target.schema).lines) or ["Both versions allow the same."]
    shown_lines = lines if full else lines[:_MAX_LINES]
    return TextBlock(title, shown_lines, omitted=len(lines) - len(shown_lines))


def proposed_values_section(
    plan: AddonPlan, command_lines: Iterable[Line], is_creation: bool = False
) -> Section | None:
    """`command_lines`: the commands for the values, left out if EKS would refuse them or another version comes first.
    `is_creation`: for a creation of the add-on."""
    proposed, steps = plan.way_out, plan.facts.steps
    if proposed is None:
        return None
    lines = [flush_left(text) for text in _proposal_texts(proposed, is_creation)]
    if proposed.is_usable and len(steps) > 1:
        text = f"Not yet: by {steps[0]} first, with the values that are proposed for that (--each-step)."
        lines.append(flush_left(text))
    elif proposed.is_usable:
        lines += command_lines
    return TextBlock(Title("Configuration values", " that keep what is set"), lines)


def copyable_lines(title: str, text: str) -> list[Line]:
    """Lines to copy, below their title."""
    return [BLANK, Line(title), *(verbatim_line(line, 4) for line in text.splitlines())]


BLANK = verbatim_line("", 0)


def terraform_lines(plan: AddonPlan, proposed: ProposedValues) -> list[Line]:
    blocks = terraform_blocks(plan, proposed)
    return [line for versions, text in blocks for line in copyable_lines(f"Terraform, AWS provider {versions}:", text)]


def _proposal_texts(proposed: ProposedValues, is_creation: bool) -> list[str]:
    texts = (
        [f"These values keep {pluralize(len(proposed.keeps), 'field')} as they are, in every mode."]
        if proposed.keeps
        else []
    )
    if is_creation:
        texts.append("A creation needs OVERWRITE for them, and takes with it what was not foreseen: look afterwards.")
    elif proposed.keeps and not proposed.cannot:
        texts.append(
            "With NONE, EKS refuses to overwrite a field of another owner; what was emptied or removed "
            "is restored without a conflict."
        )
    texts += [f"No value that is known here keeps {short_field_name(change.field)}." for change in proposed.cannot]
    if not proposed.offered:
        return [*texts, "EKS does not offer the target version: name one that it offers, and run the command again."]
    if isinstance(proposed.broken, Unknown):
        return [*texts, f"Whether the target version takes them is not known: {proposed.broken.why}."]
    return [*texts, *(f"The target version does not take all of it: {each}." for each in proposed.broken)]


# The steps to the target: the first versions whose schemas have the fields, and, for an add-on that is updated one
# minor version at a time, the risks and the command of each step.


_STEPS_TITLE = Title("Each step", ": one minor version at a time, none of them before the one above is Successful")
_STEPS_NOTE = "Look again before each step: what the one before it changed by itself is not in these plans."


def steps_section(plans: Sequence[AddonPlan]) -> Section | None:
    if not plans:
        return None
    lines: list[Line] = []
    for number, plan in enumerate(plans, 1):
        lines.append(flush_left(f"{number}. {plan.facts.target.version}: {step_summary(plan)}"))
        command = next_command(plan)
        lines += [verbatim_line(command, 4)] if command else []
    return TextBlock(_STEPS_TITLE, [*lines, flush_left(_STEPS_NOTE)])


def step_summary(plan: AddonPlan) -> str:
    """``1 field at risk, which these values keep``."""
    refusals = [each.message for each in plan.findings if each.code is Code.of("addon-values-refused")]
    proposed, at_risk_count = plan.way_out, sum(change.at_risk for change in plan.changes)
    if proposed is None and at_risk_count:
        risk = f"{pluralize(at_risk_count, 'field')} at risk, and no values can be proposed, as today's are not known"
    elif proposed is None:
        risk = "nothing more at risk"
    elif proposed.cannot:
        names = ", ".join(short_field_name(change.field) for change in proposed.cannot)
        risk = f"{pluralize(len(proposed.keeps) + len(proposed.cannot), 'field')} at risk; no value keeps {names}"
    elif proposed.is_usable:
        risk = f"{pluralize(len(proposed.keeps), 'field')} at risk, which these values keep"
    else:
        risk = f"{pluralize(len(proposed.keeps), 'field')} at risk, and EKS refuses the values that would keep them"
    has_unknowns = any(each.status is Status.UNKNOWN for each in plan.findings)
    return "; ".join([risk, *refusals, *(["not all of it is known"] if has_unknowns else [])])


_FIRST_TITLE = Title("First in the schema", ": from that version on, EKS takes these fields for its own")


def first_in_schema_section(first_versions: Iterable[SchemaSince]) -> Section:
    return TextBlock(_FIRST_TITLE, list(map(_first_in_schema_text, first_versions)))


def _first_in_schema_text(first_version: SchemaSince) -> str:
    path = format_path(first_version.config)
    if first_version.exact and not first_version.lacks:
        return f"{path}: already in {first_version.has}, which is installed"
    if first_version.exact:
        return f"{path}: since {first_version.has} ({first_version.lacks} has it not)"
    prefix = f"not in {first_version.lacks}, " if first_version.lacks else ""
    return f"{path}: {prefix}in {first_version.has}; of versions between them the schema is not known"
