"""Findings in groups (34 pods of one workload with the same finding are one group), by cause, and as paragraphs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.findings import Finding, Remedy, Status, When
from kubectl_eksdoc.report.report import SYMBOLS, Line, TextBlock, verbatim_line
from kubectl_eksdoc.report.text import Appearance, Title, Tone, pluralize, printable, wrap, wrap_printable

from ..nodes import natural_key
from ..policy import DrainPolicy
from .plan import DUMP, DrainView, dump_folder, plan_command

ALLOWING_FLAGS = (
    ("pod-emptydir", "delete-emptydir-data", "Evict pods with emptyDir data too; the data is lost"),
    ("pod-unmanaged", "force", "Evict pods without a controller too; nothing creates them again"),
    ("pod-protected", "evict-protected", "Evict protected pods too, when their owners agree"),
)
"""Code of a blocker, the flag that allows the eviction, and what the flag does."""


def given_flags(policy: DrainPolicy) -> list[tuple[str, str, str]]:
    """The `ALLOWING_FLAGS` that the user gave."""
    return [each for each in ALLOWING_FLAGS if getattr(policy, each[1].replace("-", "_"))]


_MASK = "\x00"
_CLUSTER = "Cluster"
_SEVERAL = "pod-several-budgets"

RemedyCommands = tuple[Remedy, tuple[str, ...]]
"""A remedy and its commands, one for each object that it applies to."""


@frozen
class FindingGroup:
    """Findings of one code with the same message, worst first. `app` is ``Deployment/web`` or ""."""

    findings: tuple[Finding, ...]
    app: str
    nodes: tuple[str, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(f.subject) for f in self.findings)

    @property
    def about(self) -> str:
        """``PodDisruptionBudget shop/sale``, ``3 pods of Deployment shop/web``, ``5 nodes``."""
        subject, count = self.first.subject, len(self.findings)
        if self.app:
            kind, _, name = self.app.partition("/")
            owner = f"{kind} {subject.namespace}/{name}"
            return f"pod {subject} of {owner}" if count == 1 else f"{count} pods of {owner}"
        if count == 1:
            return "the whole cluster" if subject.kind == _CLUSTER else f"{subject.kind} {subject}"
        return pluralize(count, subject.kind)

    @property
    def short_name(self) -> str:
        """The shortest name of the subject, for a line that names the node already; "" if the subject is a node."""
        subject = self.first.subject
        if subject.kind == "Node":
            return ""
        return f"{subject.namespace}/{self.app.partition('/')[2]}" if self.app and self.listed_names else str(subject)

    @property
    def listed_names(self) -> tuple[str, ...]:
        """The names that `about` only counts."""
        return self.names if len(self.findings) > 1 else ()

    @property
    def other_nodes(self) -> list[str]:
        """The nodes that the group blocks, without its subjects."""
        return [node for node in self.nodes if node not in self.names]

    @property
    def messages(self) -> tuple[str, ...]:
        """The distinct messages; of messages that differ only by the subject's name, the first."""
        messages: dict[str, str] = {}
        for finding in self.findings:
            messages.setdefault(_without_name(finding, finding.message), finding.message)
        return tuple(messages.values())

    @property
    def remedies(self) -> tuple[RemedyCommands, ...]:
        return distinct_remedies(self.findings)


def distinct_remedies(findings: Iterable[Finding]) -> tuple[RemedyCommands, ...]:
    """Each distinct remedy once, with all its commands over `findings`."""
    remedies: dict[tuple[str, str], tuple[Remedy, dict[str, None]]] = {}
    for finding in findings:
        for remedy in finding.remedy:
            key = (_without_name(finding, remedy.text), remedy.when.value)
            commands = remedies.setdefault(key, (remedy, {}))[1]
            if remedy.command:
                commands[remedy.command] = None
    return tuple((remedy, tuple(commands)) for remedy, commands in remedies.values())


def by_when(advice: Iterable[RemedyCommands]) -> list[tuple[str, str, tuple[str, ...]]]:
    """When, the remedy's text, and its commands; remedies for now come first."""
    order = list(When)
    remedies = sorted(advice, key=lambda each: order.index(each[0].when))
    return [(remedy.when.value, remedy.text, commands) for remedy, commands in remedies]


def grouped(findings: Iterable[Finding], view: DrainView) -> tuple[FindingGroup, ...]:
    """`findings` in groups, in the order of each group's first finding."""
    findings_by_key: dict[tuple[str, ...], list[Finding]] = {}
    apps: dict[tuple[str, ...], str] = {}
    for finding in findings:
        subject = finding.subject
        pod = view.pod(subject.namespace, subject.name) if subject.kind == "Pod" else None
        app = view.app(pod) if pod else ""
        key = _key(finding, app)
        findings_by_key.setdefault(key, []).append(finding)
        apps[key] = app
    groups = []
    for key, members in findings_by_key.items():
        nodes = {node for finding in members for node in view.blocked_nodes(finding)}
        groups.append(FindingGroup(tuple(members), apps[key], tuple(sorted(nodes, key=natural_key))))
    return tuple(groups)


def unknown_groups(view: DrainView) -> tuple[list[FindingGroup], list[str]]:
    """The groups of unknown findings that the user does not accept, and the codes that the user accepts."""
    accepted, groups = view.plan.policy.accept_unknown, grouped(view.unknowns, view)
    not_accepted = [group for group in groups if group.first.code.name not in accepted]
    return not_accepted, sorted({group.first.code.name for group in groups} & accepted)


def budget_blockers(budget: Budget, view: DrainView) -> tuple[FindingGroup, ...]:
    """The blockers about `budget`, or about pods that `budget` counts together with other budgets."""
    pod_names = {
        (row.pod.namespace, name)
        for row in view.not_evicted_for(_SEVERAL)
        if budget.namespace == row.pod.namespace and budget.selector.matches(row.pod.labels)
        for name in (row.pod.name, view.app(row.pod).partition("/")[2])
    }

    def about(finding: Finding) -> bool:
        subject = finding.subject
        if subject.kind == "PodDisruptionBudget":
            return (subject.namespace, subject.name) == (budget.namespace, budget.name)
        return finding.code.name == _SEVERAL and (subject.namespace, subject.name) in pod_names

    return grouped((found for found in view.blockers if about(found)), view)


def commands_of(groups: Iterable[FindingGroup]) -> tuple[str, ...]:
    """The commands of the remedies, those for now before those for later; none where a person must decide."""
    remedies = by_when(each for group in groups for each in group.remedies)
    return tuple(dict.fromkeys("\n".join(commands) for _, _, commands in remedies if commands))


def _key(finding: Finding, app: str) -> tuple[str, ...]:
    """The key of a finding's group.

    Pods are grouped by their workload. Bare pods, nodes and findings that only warn are grouped by their text. Each
    other blocker is a group of its own, because each has its own remedy.
    """
    subject = finding.subject
    key = (finding.code.name, finding.status.value, finding.severity.value, finding.missing, subject.kind)
    texts = (
        _without_name(finding, finding.message),
        *(_without_name(finding, remedy.text) for remedy in finding.remedy),
    )
    if app:
        return (*key, "app", subject.namespace, app)
    if subject.kind == "Pod":
        return (*key, "said", subject.namespace, *texts)
    if subject.kind == "Node" or finding.status is Status.PASS:
        return (*key, "said", *texts)
    return (*key, "alone", subject.namespace, subject.name, finding.message)


def _without_name(finding: Finding, text: str) -> str:
    """`text` without the subject's name, to compare it with the text of another finding."""
    return text.replace(str(finding.subject), _MASK).replace(finding.subject.name, _MASK)


# Evidence of a finding, one line for each pod: its node, and why it is not Ready.


_POD_ON_NODE = re.compile(r"(?:guards|pod) (\S+) on (\S+)")
_NOT_READY = re.compile(r"(\S+) is not Ready: (.+)")
_NO_REASON = "no reason given"
_MORE = re.compile(r"and (\d+) more")


def evidence_lines(group: FindingGroup) -> tuple[tuple[str, ...], int]:
    """The distinct lines of evidence, and how many more the findings only count.

    Lines that only repeat the finding's own subject and node are left out.
    """
    lines: dict[str, None] = {}
    uncounted = 0
    for finding in group.findings:
        for text in _pod_lines(finding):
            cut = _MORE.fullmatch(text)
            uncounted += int(cut[1]) if cut else 0
            redundant = finding.subject.kind == "Pod" and text in {
                f"{finding.subject} on {node}" for node in group.nodes
            }
            if not cut and not redundant:
                lines[text] = None
    return tuple(lines), uncounted


def _pod_lines(finding: Finding) -> list[str]:
    """A pod's node and reason as one line: ``shop/thumbs-1 on old-3: CrashLoopBackOff``."""
    places = {match[1]: match[2] for text in finding.evidence if (match := _POD_ON_NODE.fullmatch(text))}
    reasons = {match[1]: match[2] for text in finding.evidence if (match := _NOT_READY.fullmatch(text))}
    lines = []
    for text in finding.evidence:
        place, reason = _POD_ON_NODE.fullmatch(text), _NOT_READY.fullmatch(text)
        if reason and reason[1] in places:
            reason_text = f"not Ready, {_NO_REASON}" if reason[2] == _NO_REASON else reason[2]
            lines.append(f"{reason[1]} on {places[reason[1]]}: {reason_text}")
        elif not place:
            lines.append(text)
        elif place[1] not in reasons:
            lines.append(f"{place[1]} on {place[2]}")
    return lines


# Remedies for missing lists: the steps that add kinds to a dump are merged into one.


_ADD = re.compile(r"(kubectl get \S+ -A -o json > )([\w.-]+\.json)")


def merged_remedies(group: FindingGroup, view: DrainView) -> tuple[RemedyCommands, ...]:
    """The remedies of `group`. Those that add kinds to a dump become one, with paths in the dump's folder."""
    folder = dump_folder(view)
    others: list[RemedyCommands] = []
    adding: list[tuple[RemedyCommands, str]] = []
    for advice in group.remedies:
        match = _ADD.fullmatch(advice[0].command)
        if match:
            adding.append((advice, f"{match[1]}{folder}/{match[2]}"))
        else:
            others.append(advice)
    if not adding:
        return tuple(others)
    pronoun = "it" if len(adding) == 1 else "them"
    folder_note = f" ({DUMP} stands for its folder)" if folder == DUMP else ""
    remedy = replace(adding[0][0][0], text=f"Add {pronoun} to the dump{folder_note}, then plan again.")
    return ((remedy, tuple(command for _, command in adding)), *others)


# Blockers by cause: their nodes, the nodes that the fix of each cause frees, and a command that fixes it.


_FROM_CREATION = frozenset(
    {"pod-unmanaged", "pod-emptydir", "pod-hostpath", "pod-local-volume", "pod-ephemeral-volume"}
)
"""Codes about properties that cannot change in the life of a pod."""


@frozen
class BlockerCause:
    """All blockers of one code.

    `freed_nodes`: nodes that can be drained after the fix of this cause and of the causes before it in the list.
    `freed_alone`: how many of these need no other fix. `command`: fixes the first subject, or "" where only `text` says
    what to do. `groups`: the blockers. `since`: creation of the oldest pod with a code that holds from its creation on,
    or when a budget began to allow no disruptions; None: unknown.
    """

    code: str
    subjects: tuple[str, ...]
    nodes: tuple[str, ...]
    freed_nodes: tuple[str, ...]
    freed_alone: int
    text: str
    command: str
    groups: tuple[FindingGroup, ...] = ()
    since: datetime | None = None

    @property
    def commands(self) -> str:
        """The commands for all subjects; "" where a person must decide."""
        commands = (command for group in self.groups for command in commands_of([group])[:1])
        return "\n".join(dict.fromkeys(commands)) or self.command

    @property
    def frees_short(self) -> str:
        """``2 nodes``, ``1 with above``, ``none alone``."""
        if not self.freed_nodes:
            return "none alone"
        return (
            pluralize(len(self.freed_nodes), "node")
            if self.freed_alone == len(self.freed_nodes)
            else f"{len(self.freed_nodes)} with above"
        )

    @property
    def frees(self) -> str:
        """``frees 2 nodes``, ``frees 1 node with those above``, ``frees no node by itself``."""
        if not self.freed_nodes:
            return "frees no node by itself"
        with_others = "" if self.freed_alone == len(self.freed_nodes) else " with those above"
        return f"frees {pluralize(len(self.freed_nodes), 'node')}{with_others}"


def blocker_causes(view: DrainView, order: Sequence[str] = ()) -> tuple[BlockerCause, ...]:
    """The causes in the order in which their fixes free nodes: the node with the fewest causes first.

    Codes in `order` come before all others.
    """
    groups: dict[str, list[FindingGroup]] = defaultdict(list)
    for group in grouped(view.blockers, view):
        groups[group.first.code.name].append(group)
    blocking_codes = _blocking_codes(view, groups)
    freed: dict[str, tuple[str, ...]] = {}
    done: set[str] = set()
    ordered_first = [code for code in order if code in groups]
    for code in (
        *ordered_first,
        *(code for code in _order_codes(blocking_codes, tuple(groups)) if code not in ordered_first),
    ):
        done.add(code)
        freed[code] = tuple(node for node, codes in blocking_codes.items() if code in codes and codes <= done)
    return tuple(_cause(code, groups[code], freed[code], blocking_codes, view) for code in freed)


def assumed_fixed(view: DrainView) -> tuple[tuple[str, tuple[FindingGroup, ...]], ...]:
    """The codes of ``--assume-fixed`` that block nothing now, with their subjects; no subjects where it is fixed
    already."""
    blocking = {found.code.name for found in view.blockers}
    codes = sorted(view.plan.policy.assume_fixed - blocking)
    return tuple((code, grouped((f for f in view.warnings if f.code.name == code), view)) for code in codes)


def blocking_subjects(view: DrainView) -> frozenset[tuple[str, str]]:
    """The blocking codes with each subject, including assumed fixes: ``budget-never-allows``, ``shop/sale``."""
    blocking = {(group.first.code.name, _subject_text(group)) for group in grouped(view.blockers, view)}
    return frozenset(
        blocking.union((code, _subject_text(group)) for code, members in assumed_fixed(view) for group in members)
    )


def _blocking_codes(view: DrainView, groups: Mapping[str, list[FindingGroup]]) -> dict[str, frozenset[str]]:
    """For each node that is not drained in full, the codes that block it, including codes of unknown findings."""
    codes_by_node: dict[str, set[str]] = defaultdict(set)
    for code, members in groups.items():
        for group in members:
            for node in group.nodes:
                codes_by_node[node].add(code)
    for target in view.targets:
        for row in view.blocking(target):
            codes_by_node[target.node.name].update(row.codes)
    return {node: frozenset(codes_by_node[node]) for node in sorted(codes_by_node, key=natural_key)}


def _order_codes(blocking_codes: Mapping[str, frozenset[str]], known: tuple[str, ...]) -> Iterable[str]:
    """Each of `known` once. A node that is blocked by other codes too is never freed, so its codes come last."""
    done: dict[str, None] = {}
    remaining = list(dict.fromkeys(blocking_codes.values()))
    while remaining:
        codes = min(remaining, key=lambda each: (not each <= {*known}, len(each - done.keys())))
        done.update((code, None) for code in known if code in codes)
        remaining.remove(codes)
    return (*done, *(code for code in known if code not in done))


def _cause(
    code: str,
    groups: list[FindingGroup],
    freed_nodes: tuple[str, ...],
    blocking_codes: Mapping[str, frozenset[str]],
    view: DrainView,
) -> BlockerCause:
    nodes = tuple(node for node in blocking_codes if any(node in group.nodes for group in groups))
    subjects = tuple(dict.fromkeys(_subject_text(group) for group in groups))
    text, command = _first_fix(code, groups, view)
    created = [row.pod.created_at for row in view.left if code in row.codes and code in _FROM_CREATION]
    no_disruptions_since = {
        each.key: each.condition_since for each in view.cluster.budgets if each.condition_status == "False"
    }
    budget_names = [
        str(f.subject) for group in groups for f in group.findings if f.subject.kind == "PodDisruptionBudget"
    ]
    times = (*created, *map(no_disruptions_since.get, budget_names))
    since = min((each for each in times if each is not None), default=None)
    freed_alone = sum(blocking_codes[node] == {code} for node in freed_nodes)
    return BlockerCause(code, subjects, nodes, freed_nodes, freed_alone, text, command, tuple(groups), since)


def _subject_text(group: FindingGroup) -> str:
    """The subject of `group`; for a finding on the whole cluster its message, because the name says nothing."""
    return group.first.message if group.first.subject.kind == "Cluster" else group.short_name or ", ".join(group.names)


def _first_fix(code: str, groups: list[FindingGroup], view: DrainView) -> tuple[str, str]:
    """A text and a command. A fix for now comes before a fix for later, and a command before a sentence."""
    for blocking_code, flag, text in ALLOWING_FLAGS:
        if blocking_code == code and not view.options.get(flag):
            return text, plan_command(view, f"--{flag}")
    remedies = distinct_remedies(found for group in groups for found in group.findings)
    command = next(((remedy_text, commands[0]) for _, remedy_text, commands in by_when(remedies) if commands), None)
    return command or ((remedies[0][0].text if remedies else "see -o wide"), "")


# Findings as paragraphs for a terminal: message, subjects, and the commands that fix it.


_INDENT = "    "
_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)")
_JOIN = "\x00"
"""Stands for a space at which a line must not break; sanitized text does not contain it."""

_WHEN_WIDTH = len(When.LATER.value) + 1


def finding_lines(group: FindingGroup, appearance: Appearance, view: DrainView) -> list[str]:
    """Heading, messages, evidence and remedies, complete."""
    first, (details, uncounted) = group.first, evidence_lines(group)
    sign, tone = SYMBOLS[first.status]
    heading = f"{sign} {first.code.name} ({first.severity.value}): {group.about}"
    heading += f" ({', '.join(group.listed_names)})" if group.listed_names else ""
    heading += f"; on {', '.join(group.other_nodes)}" if group.other_nodes else ""
    lines = wrap_printable(heading, appearance, rest=_INDENT)
    lines[0] = appearance.paint(lines[0], tone)
    texts = [*group.messages, *(f"- {each}" for each in details)]
    texts += [f"- {appearance.ellipsis} and {uncounted} more"] if uncounted else []
    texts += [f"missing: {first.missing}"] if first.missing else []
    for text in texts:
        lines += wrap_printable(text, appearance, _INDENT, _INDENT + "  " * text.startswith("- "))
    for when, text, commands in by_when(merged_remedies(group, view)):
        opening = f"{_INDENT}{when + ':':<{_WHEN_WIDTH}} "
        first_line, *rest = _sentences(text, appearance, opening)
        lines += [appearance.paint(first_line[: len(opening)], Tone.TITLE) + first_line[len(opening) :], *rest]
        lines += [command_line(command, appearance) for command in commands]
    return lines


def _sentences(text: str, appearance: Appearance, opening: str) -> list[str]:
    """A wrapped text in which quoted parts are not broken if they fit a line."""
    room = appearance.columns - len(opening)

    def whole(match: re.Match[str]) -> str:
        return match[0].replace(" ", _JOIN) if len(match[0]) < room else match[0]

    lines = wrap(_QUOTED.sub(whole, printable(text, appearance)), appearance.columns, opening)
    return [each.replace(_JOIN, " ") for each in lines]


def command_line(command: str, appearance: Appearance) -> str:
    """A command on one line, so that it can be copied.

    A line break in it would run the rest on paste, so line breaks are escaped.
    """
    return _INDENT * 2 + printable(command, appearance)


def step_lines(text: str, command: str, hang: int = 0) -> list[Line]:
    """The text of a next step, and its command."""
    line = Line(text + (":" if command else "."), hang=hang)
    return [line, verbatim_line(command, 2 * len(_INDENT))] if command else [line]


def steps_section(title: Title, steps: Iterable[tuple[str, str]]) -> TextBlock:
    """A section of next steps: one sentence each, and its command."""
    return TextBlock(title, [line for text, command in steps for line in step_lines(f"- {text}", command, 2)], "sh")
