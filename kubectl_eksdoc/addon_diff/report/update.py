"""Page of one add-on update: its sections, sentences, and commands for the AWS CLI, Terraform and eksctl."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence

from kubectl_eksdoc.kubernetes.redaction import printed
from kubectl_eksdoc.model.addons import shown
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.findings import Code, Status
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.report.report import (
    Findings,
    Head,
    Line,
    Lines,
    Mark,
    Section,
    Table,
    as_it_is,
    flush,
    unmarked,
)
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Drawn,
    Title,
    Tone,
    columns_of,
    counted,
    name_column,
    text_column,
)

from ..after_facts import Templated
from ..expected import Witness
from ..fields import AddonField, value_of
from ..judging import calls
from ..plan import AddonPlan, SchemaSince, WayOut
from ..prediction import Fate, FieldChange, Mode
from ..schema import changes
from ..terraform_requests import Generation

# An update with proposed values, as the tools write it that declare add-ons.
#
# Sources: aws-cli 2 (``eks update-addon``); Terraform's AWS provider: ``configuration_values`` from 4.47,
# ``resolve_conflicts`` deprecated in 5.0 and removed in 6.0, PRESERVE from 4.32 (documented from 4.34); eksctl's
# schema.


def as_json(values: Doc) -> str:
    """On one line, with sorted keys."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def printed_text(text: str) -> str:
    """Redact a text, or the JSON document in it."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return printed(text)
    kept = printed(found)
    return text if kept == found else json.dumps(kept, ensure_ascii=False)


def given(values: Doc) -> str:
    """The values as a shell argument; a file reference if they contain a secret."""
    return as_json(values) if printed(values) == values else "file://values.json"


def patch_command(each: Templated, kubectl: tuple[str, ...]) -> str:
    """For a shell; "" if there is nothing to patch. `kubectl`: the kubectl command with the flags of the cluster."""
    if each.patch is None:
        return ""
    where = [*kubectl, *(("-n", each.of.namespace) if each.of.namespace else ())]
    secret = printed(each.patch) != each.patch  # the user supplies a file
    patch = ("--patch-file", "patch.json") if secret else ("-p", as_json(each.patch))
    what = ("patch", each.of.kind.lower(), each.of.name, "--type", "strategic")
    return shlex.join(["kubectl", *where, *what, *patch])


def safest(way: WayOut) -> Mode:
    """NONE, with which EKS refuses to overwrite a field of another owner; PRESERVE if no value keeps some of the
    fields, because only PRESERVE leaves them."""
    return Mode.PRESERVE if way.cannot else Mode.NONE


def update_addon(plan: AddonPlan, way: WayOut) -> str:
    return _update(plan, safest(way), way.values)


def _update(plan: AddonPlan, mode: Mode, values: Doc | None = None) -> str:
    facts = plan.facts
    eks = facts.cluster
    name, version = facts.addon.name, facts.target.version
    return update_command(eks.name, eks.region, name, version, mode.value, values, facts.profile)


def update_command(
    cluster: str, region: str, addon: str, version: str, mode: str, values: Doc | None, profile: str = ""
) -> str:
    """For a shell. `values` is None if EKS keeps the current ones. `profile`: the AWS profile, "" for the default."""
    words = ["aws", "eks", "update-addon", "--cluster-name", cluster, "--addon-name", addon]
    words += ["--addon-version", version, "--resolve-conflicts", mode, *(["--region", region] if region else [])]
    words += ["--profile", profile] if profile else []
    return shlex.join([*words, *([] if values is None else ["--configuration-values", given(values)])])


def next_update(plan: AddonPlan) -> str:
    """For a shell: the update with the proposed values, or without values if none are needed, so that EKS keeps the
    current ones. "" if no values are known for it."""
    if plan.facts.offered is False:
        return ""
    if plan.way_out is None:
        return "" if any(change.at_risk for change in plan.changes) else _update(plan, Mode.NONE)
    return update_addon(plan, plan.way_out) if plan.way_out.usable else ""


def terraform(plan: AddonPlan, way: WayOut) -> Iterator[tuple[str, str]]:
    """Pairs of provider versions and arguments, newest first; limits of old versions are named in comments."""
    addon = f'addon_name    = "{plan.facts.addon.name}"'
    for generation in (each for each in Generation if each is not Generation.V5):  # same arguments as version 6
        called = "5 and 6" if generation is Generation.V6 else generation.value
        yield called, "\n".join((addon, *arguments(plan, way, generation)))


def arguments(
    plan: AddonPlan,
    way: WayOut,
    generation: Generation,
    creates: bool = False,
    conflicts: str = "",
    module_lacks: bool = False,
) -> tuple[str, ...]:
    """The arguments of the resource for the proposed values, for that generation of the provider. A creation needs
    OVERWRITE to take fields of other owners. `argument`: the argument that resolves conflicts, "" for the generation's
    own; `module_lacks_values`: the surrounding module passes no configuration values."""
    version = f'addon_version = "{plan.facts.target.version}"'
    if module_lacks or not generation.gives_values:
        cannot = f"this {'module' if module_lacks else 'provider'} gives no configuration values"
        if creates:
            return (version, f"# {cannot}: create it by the AWS CLI, and import it")
        refused = "" if generation.gives_preserve else ", and PRESERVE is refused"
        mode = (f'resolve_conflicts = "{Mode.PRESERVE.value}"',) if generation.gives_preserve else ()
        return (version, *mode, f"# {cannot}: update by the AWS CLI, and set addon_version here as well{refused}")
    when = "" if generation.start < (5, 0) else "_on_create" if creates else "_on_update"
    mode = (f'{conflicts or "resolve_conflicts" + when} = "{(Mode.OVERWRITE if creates else safest(way)).value}"',)
    return (version, *mode, f"configuration_values = jsonencode({_hcl(printed(way.values))})")


def eksctl(plan: AddonPlan, way: WayOut) -> Doc:
    """The add-on's entry in a ClusterConfig."""
    return {
        "addons": [
            {
                "name": plan.facts.addon.name,
                "version": plan.facts.target.version,
                "resolveConflicts": safest(way).value.lower(),
                "configurationValues": as_json(printed(way.values)),
            }
        ]
    }


def _hcl(values: object, depth: int = 1) -> str:
    """Values in Terraform's object syntax, without ``${`` and ``%{``, which would be templates."""
    pad = "  " * depth
    if isinstance(values, dict) and values:
        lines = [f"{pad}{_string(str(key))} = {_hcl(values[key], depth + 1)}" for key in sorted(values)]
        return "{\n" + "\n".join(lines) + "\n" + "  " * (depth - 1) + "}"
    if isinstance(values, list) and values:
        lines = [f"{pad}{_hcl(each, depth + 1)}," for each in values]
        return "[\n" + "\n".join(lines) + "\n" + "  " * (depth - 1) + "]"
    if isinstance(values, str):
        return _string(values)
    return json.dumps(values)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


# The effect of the update, in sentences.


def verdict(plan: AddonPlan) -> str:
    """``vpc-cni v1.19.5-eksbuild.1 → v1.20.4-eksbuild.2 with OVERWRITE: 2 fields that another client has set are
    lost``."""
    facts, mode = plan.facts, plan.asked.mode
    now = facts.now.version or ("(self-managed)" if facts.objects else "(not there)")
    same = facts.now.version == facts.target.version
    way = f"{now} (the same version)" if same else f"{now} → {facts.target.version}"
    return f"{facts.addon.name} {way} with {mode.value}: {_in_short(plan)}"


def _in_short(plan: AddonPlan) -> str:
    if plan.facts.offered is False:
        return f"EKS does not offer it for Kubernetes {plan.facts.cluster.version}"
    mode = plan.asked.mode
    at_risk = [change for change in plan.changes if change.at_risk]
    lost = [change for change in at_risk if change.fate(mode) in (Fate.RESET, Fate.REMOVED)]
    if any(mode in each.refused for each in plan.predictions):
        return "it fails, as the API server refuses what would result"
    if mode is Mode.NONE and plan.conflict:
        conflicts = [change for change in at_risk if change.fate(mode) is Fate.CONFLICT]
        count = counted(len(conflicts), "field") if conflicts else "other fields"
        return f"{_by_manifest(conflicts)}it fails, in conflict over {count} that another client has set"
    if lost:
        count = counted(len(lost), "field")
        return f"{_by_manifest(lost)}{count} that another client has set {'is' if len(lost) == 1 else 'are'} lost"
    if any(finding.status is Status.UNKNOWN for finding in plan.findings):
        return "nothing that is known to be lost, but not all of it is known"
    if any(finding.status is Status.FAIL for finding in plan.findings):
        return "no field is lost, but something stands in its way"
    return "nothing that other clients have set is lost"


def _by_manifest(changes: Sequence[FieldChange]) -> str:
    known = not changes or any(change.witness is not Witness.NEAREST for change in changes)
    return "" if known else "by the nearest known manifest, "


def named(field: AddonField) -> str:
    """Short, for a table: ``DISABLE_TCP_EARLY_DEMUX (init)``, ``.data.Corefile``."""
    if field.variable:
        return f"{field.variable} (init)" if field.starts_first else field.variable
    return calls(field).removeprefix(".spec.template")


def _rolls(plan: AddonPlan) -> str:
    """How the update reaches the nodes, "" for an add-on without a DaemonSet."""
    mode = plan.asked.mode
    if (mode is Mode.NONE and plan.conflict) or any(mode in each.refused for each in plan.predictions):
        return "As it fails, nothing is replaced."
    for live in plan.facts.objects:
        if live.get("kind") != "DaemonSet":
            continue
        nodes = at(live, "status", "desiredNumberScheduled")
        most = at(live, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
        if at(live, "spec", "updateStrategy", "type") == "OnDelete":
            return "Its pods are replaced when they are deleted (updateStrategy OnDelete)."
        count = counted(nodes, "node") if isinstance(nodes, int) else "every node it runs on"
        return f"If its template changes, its pods are replaced on {count}, {1 if most is None else most} at a time."
    return ""


# The page: verdict, fields at risk in each mode, findings, schema changes, proposed values.


_MOST_LINES = 12
_FATES = {
    Fate.RESET: Tone.BAD,
    Fate.REMOVED: Tone.BAD,
    Fate.CONFLICT: Tone.WARN,
    Fate.UNKNOWN: Tone.UNKNOWN,
    Fate.KEPT: Tone.GOOD,
}


def sections(plan: AddonPlan, full: bool, mark: Mark = unmarked) -> Iterator[Section]:
    """All sections except the proposed values, which have several forms."""
    mode = plan.asked.mode
    yield Head(verdict(plan), (_rolls(plan),))
    title = Title("Fields at risk", ": what each way to resolve conflicts makes of them")
    yield Table(title, _fields((each for each in plan.changes if each.at_risk), mode), "fields")
    yield Findings(plan.findings, f" with {mode.value}", False, mark)
    if full:
        followers = _fields((each for each in plan.changes if not each.at_risk), mode)
        yield Table("What follows the version", followers)
    if plan.facts.installed:
        yield _schema(plan, full)


def _fields(changed: Iterable[FieldChange], asked: Mode) -> Drawn:
    return columns_of(
        name_column("FIELD", 24),
        text_column("LIVE", 8),
        text_column("SET BY", 8),
        *(mode.value for mode in Mode),
        Column("SURE", drop=1),
    ), [
        [
            named(change.field),
            value_of(change.live, change.field),
            ", ".join(change.owners) or "nobody",
            *(Cell(_becomes(change, mode), _FATES.get(change.fate(mode))) for mode in Mode),
            change.confidence(asked).value,
        ]
        for change in changed
    ]


def _becomes(change: FieldChange, mode: Mode) -> str:
    """``→ "false"``, ``kept``, ``conflict``, ``?``."""
    told = change.by_mode[mode]
    if told.fate is Fate.UNKNOWN:
        return "?"
    if told.fate in (Fate.RESET, Fate.FOLLOWS):
        return f"→ {value_of(told.value, change.field)}"
    return str(told.fate.value)


def _schema(plan: AddonPlan, full: bool) -> Section:
    now, target = plan.facts.now, plan.facts.target
    title = Title("Configuration schema", f", {now.version} → {target.version}")
    if isinstance(now.schema, Unknown) or isinstance(target.schema, Unknown):
        return Lines(title, [f"? {each.schema.why}" for each in (now, target) if isinstance(each.schema, Unknown)])
    lines = list(changes(now.schema, target.schema).lines) or ["Both versions allow the same."]
    kept = lines if full else lines[:_MOST_LINES]
    return Lines(title, kept, left_out=len(lines) - len(kept))


def way_out(plan: AddonPlan, taken_by: Iterable[Line], creates: bool = False) -> Section | None:
    """`command_lines`: the commands for the values, left out if EKS would refuse them. `is_creation`: for a creation of
    the add-on."""
    way, steps = plan.way_out, plan.facts.steps
    if way is None:
        return None
    lines = [flush(text) for text in _of_way(way, creates)]
    if way.usable and len(steps) > 1:
        text = f"Not yet: by {steps[0]} first, with the values that are proposed for that (--each-step)."
        lines.append(flush(text))
    elif way.usable:
        lines += taken_by
    return Lines(Title("Configuration values", " that keep what is set"), lines)


def written(head: str, text: str) -> list[Line]:
    """Lines to copy, below their title."""
    return [BLANK, Line(head), *(as_it_is(line, 4) for line in text.splitlines())]


BLANK = as_it_is("", 0)


def of_terraform(plan: AddonPlan, way: WayOut) -> list[Line]:
    of = terraform(plan, way)
    return [line for each, text in of for line in written(f"Terraform, AWS provider {each}:", text)]


def _of_way(way: WayOut, creates: bool) -> list[str]:
    said = [f"These values keep {counted(len(way.keeps), 'field')} as they are, in every mode."] if way.keeps else []
    if creates:
        said.append("A creation needs OVERWRITE for them, and takes with it what was not foreseen: look afterwards.")
    elif way.keeps and not way.cannot:
        said.append(
            "With NONE, EKS refuses to overwrite a field of another owner; what was emptied or removed "
            "is restored without a conflict."
        )
    said += [f"No value that is known here keeps {named(change.field)}." for change in way.cannot]
    if not way.offered:
        return [*said, "EKS does not offer the target version: name one that it offers, and run the command again."]
    if isinstance(way.broken, Unknown):
        return [*said, f"Whether the target version takes them is not known: {way.broken.why}."]
    return [*said, *(f"The target version does not take all of it: {each}." for each in way.broken)]


# The steps to the target: the first versions whose schemas have the fields, and, for an add-on that is updated one
# minor version at a time, the risks and the command of each step.


_EACH = Title("Each step", ": one minor version at a time, none of them before the one above is Successful")
_AGAIN = "Look again before each step: what the one before it changed by itself is not in these plans."


def each_step(plans: Sequence[AddonPlan]) -> Section | None:
    if not plans:
        return None
    lines: list[Line] = []
    for number, plan in enumerate(plans, 1):
        lines.append(flush(f"{number}. {plan.facts.target.version}: {in_short(plan)}"))
        command = next_update(plan)
        lines += [as_it_is(command, 4)] if command else []
    return Lines(_EACH, [*lines, flush(_AGAIN)])


def in_short(plan: AddonPlan) -> str:
    """``1 field at risk, which these values keep``."""
    refused = [each.message for each in plan.findings if each.code is Code.of("addon-values-refused")]
    way, risky = plan.way_out, sum(change.at_risk for change in plan.changes)
    if way is None and risky:
        risk = f"{counted(risky, 'field')} at risk, and no values can be proposed, as today's are not known"
    elif way is None:
        risk = "nothing more at risk"
    elif way.cannot:
        names = ", ".join(named(change.field) for change in way.cannot)
        risk = f"{counted(len(way.keeps) + len(way.cannot), 'field')} at risk; no value keeps {names}"
    elif way.usable:
        risk = f"{counted(len(way.keeps), 'field')} at risk, which these values keep"
    else:
        risk = f"{counted(len(way.keeps), 'field')} at risk, and EKS refuses the values that would keep them"
    unknown = any(each.status is Status.UNKNOWN for each in plan.findings)
    return "; ".join([risk, *refused, *(["not all of it is known"] if unknown else [])])


_FIRST = Title("First in the schema", ": from that version on, EKS takes these fields for its own")


def first_in_schema(found: Iterable[SchemaSince]) -> Section:
    return Lines(_FIRST, list(map(_since, found)))


def _since(found: SchemaSince) -> str:
    path = shown(found.config)
    if found.exact and not found.lacks:
        return f"{path}: already in {found.has}, which is installed"
    if found.exact:
        return f"{path}: since {found.has} ({found.lacks} has it not)"
    before = f"not in {found.lacks}, " if found.lacks else ""
    return f"{path}: {before}in {found.has}; of versions between them the schema is not known"
