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
from kubectl_eksdoc.report.report import SIGNS, Line, Lines, as_it_is
from kubectl_eksdoc.report.text import Look, Title, Tone, counted, shown, wrap, wrapped

from ..nodes import natural
from ..policy import DrainPolicy
from .plan import DUMP, DrainView, again, dump_folder

FLAGS = (
    ("pod-emptydir", "delete-emptydir-data", "Evict pods with emptyDir data too; the data is lost"),
    ("pod-unmanaged", "force", "Evict pods without a controller too; nothing creates them again"),
    ("pod-protected", "evict-protected", "Evict protected pods too, when their owners agree"),
)
"""Code of a blocker, the flag that allows the eviction, and what the flag does."""


def allowed_by(policy: DrainPolicy) -> list[tuple[str, str, str]]:
    """The `ALLOWING_FLAGS` that the user gave."""
    return [each for each in FLAGS if getattr(policy, each[1].replace("-", "_"))]


_MASK = "\x00"
_CLUSTER = "Cluster"
_SEVERAL = "pod-several-budgets"

Advice = tuple[Remedy, tuple[str, ...]]
"""A remedy and its commands, one for each object that it applies to."""


@frozen
class Group:
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
        return counted(count, subject.kind)

    @property
    def short(self) -> str:
        """The shortest name of the subject, for a line that names the node already; "" if the subject is a node."""
        subject = self.first.subject
        if subject.kind == "Node":
            return ""
        return f"{subject.namespace}/{self.app.partition('/')[2]}" if self.app and self.listed else str(subject)

    @property
    def listed(self) -> tuple[str, ...]:
        """The names that `about` only counts."""
        return self.names if len(self.findings) > 1 else ()

    @property
    def elsewhere(self) -> list[str]:
        """The nodes that the group blocks, without its subjects."""
        return [node for node in self.nodes if node not in self.names]

    @property
    def messages(self) -> tuple[str, ...]:
        """The distinct messages; of messages that differ only by the subject's name, the first."""
        seen: dict[str, str] = {}
        for found in self.findings:
            seen.setdefault(_masked(found, found.message), found.message)
        return tuple(seen.values())

    @property
    def remedies(self) -> tuple[Advice, ...]:
        return advice(self.findings)


def advice(findings: Iterable[Finding]) -> tuple[Advice, ...]:
    """Each distinct remedy once, with all its commands over `findings`."""
    seen: dict[tuple[str, str], tuple[Remedy, dict[str, None]]] = {}
    for found in findings:
        for remedy in found.remedy:
            key = (_masked(found, remedy.text), remedy.when.value)
            commands = seen.setdefault(key, (remedy, {}))[1]
            if remedy.command:
                commands[remedy.command] = None
    return tuple((remedy, tuple(commands)) for remedy, commands in seen.values())


def by_when(advice: Iterable[Advice]) -> list[tuple[str, str, tuple[str, ...]]]:
    """When, the remedy's text, and its commands; remedies for now come first."""
    order = list(When)
    found = sorted(advice, key=lambda each: order.index(each[0].when))
    return [(remedy.when.value, remedy.text, commands) for remedy, commands in found]


def grouped(findings: Iterable[Finding], view: DrainView) -> tuple[Group, ...]:
    """`findings` in groups, in the order of each group's first finding."""
    rows: dict[tuple[str, ...], list[Finding]] = {}
    apps: dict[tuple[str, ...], str] = {}
    for found in findings:
        subject = found.subject
        pod = view.pod(subject.namespace, subject.name) if subject.kind == "Pod" else None
        app = view.app(pod) if pod else ""
        key = _key(found, app)
        rows.setdefault(key, []).append(found)
        apps[key] = app
    groups = []
    for key, of in rows.items():
        nodes = {node for found in of for node in view.holds_up(found)}
        groups.append(Group(tuple(of), apps[key], tuple(sorted(nodes, key=natural))))
    return tuple(groups)


def unknown_of(view: DrainView) -> tuple[list[Group], list[str]]:
    """The groups of unknown findings that the user does not accept, and the codes that the user accepts."""
    accepted, groups = view.plan.policy.accept_unknown, grouped(view.unknowns, view)
    still = [group for group in groups if group.first.code.name not in accepted]
    return still, sorted({group.first.code.name for group in groups} & accepted)


def of_budget(budget: Budget, view: DrainView) -> tuple[Group, ...]:
    """The blockers about `budget`, or about pods that `budget` counts together with other budgets."""
    counts = {
        (row.pod.namespace, name)
        for row in view.left_for(_SEVERAL)
        if budget.namespace == row.pod.namespace and budget.selector.matches(row.pod.labels)
        for name in (row.pod.name, view.app(row.pod).partition("/")[2])
    }

    def about(found: Finding) -> bool:
        subject = found.subject
        if subject.kind == "PodDisruptionBudget":
            return (subject.namespace, subject.name) == (budget.namespace, budget.name)
        return found.code.name == _SEVERAL and (subject.namespace, subject.name) in counts

    return grouped((found for found in view.blockers if about(found)), view)


def commands_of(groups: Iterable[Group]) -> tuple[str, ...]:
    """The commands of the remedies, those for now before those for later; none where a person must decide."""
    found = by_when(each for group in groups for each in group.remedies)
    return tuple(dict.fromkeys("\n".join(commands) for _, _, commands in found if commands))


def _key(found: Finding, app: str) -> tuple[str, ...]:
    """The key of a finding's group.

    Pods are grouped by their workload. Bare pods, nodes and findings that only warn are grouped by their text. Each
    other blocker is a group of its own, because each has its own remedy.
    """
    subject = found.subject
    key = (found.code.name, found.status.value, found.severity.value, found.missing, subject.kind)
    said = (_masked(found, found.message), *(_masked(found, remedy.text) for remedy in found.remedy))
    if app:
        return (*key, "app", subject.namespace, app)
    if subject.kind == "Pod":
        return (*key, "said", subject.namespace, *said)
    if subject.kind == "Node" or found.status is Status.PASS:
        return (*key, "said", *said)
    return (*key, "alone", subject.namespace, subject.name, found.message)


def _masked(found: Finding, text: str) -> str:
    """`text` without the subject's name, to compare it with the text of another finding."""
    return text.replace(str(found.subject), _MASK).replace(found.subject.name, _MASK)


# Evidence of a finding, one line for each pod: its node, and why it is not Ready.


_PLACE = re.compile(r"(?:guards|pod) (\S+) on (\S+)")
_NOT_READY = re.compile(r"(\S+) is not Ready: (.+)")
_NO_REASON = "no reason given"
_CUT = re.compile(r"and (\d+) more")


def evidence(group: Group) -> tuple[tuple[str, ...], int]:
    """The distinct lines of evidence, and how many more the findings only count.

    Lines that only repeat the finding's own subject and node are left out.
    """
    lines: dict[str, None] = {}
    uncounted = 0
    for found in group.findings:
        for text in _joined(found):
            cut = _CUT.fullmatch(text)
            uncounted += int(cut[1]) if cut else 0
            said = found.subject.kind == "Pod" and text in {f"{found.subject} on {node}" for node in group.nodes}
            if not cut and not said:
                lines[text] = None
    return tuple(lines), uncounted


def _joined(found: Finding) -> list[str]:
    """A pod's node and reason as one line: ``shop/thumbs-1 on old-3: CrashLoopBackOff``."""
    places = {match[1]: match[2] for text in found.evidence if (match := _PLACE.fullmatch(text))}
    sick = {match[1]: match[2] for text in found.evidence if (match := _NOT_READY.fullmatch(text))}
    lines = []
    for text in found.evidence:
        place, reason = _PLACE.fullmatch(text), _NOT_READY.fullmatch(text)
        if reason and reason[1] in places:
            because = f"not Ready, {_NO_REASON}" if reason[2] == _NO_REASON else reason[2]
            lines.append(f"{reason[1]} on {places[reason[1]]}: {because}")
        elif not place:
            lines.append(text)
        elif place[1] not in sick:
            lines.append(f"{place[1]} on {place[2]}")
    return lines


# Remedies for missing lists: the steps that add kinds to a dump are merged into one.


_ADD = re.compile(r"(kubectl get \S+ -A -o json > )([\w.-]+\.json)")


def unread(group: Group, view: DrainView) -> tuple[Advice, ...]:
    """The remedies of `group`. Those that add kinds to a dump become one, with paths in the dump's folder."""
    into = dump_folder(view)
    others: list[Advice] = []
    adding: list[tuple[Advice, str]] = []
    for advice in group.remedies:
        match = _ADD.fullmatch(advice[0].command)
        if match:
            adding.append((advice, f"{match[1]}{into}/{match[2]}"))
        else:
            others.append(advice)
    if not adding:
        return tuple(others)
    what = "it" if len(adding) == 1 else "them"
    where = f" ({DUMP} stands for its folder)" if into == DUMP else ""
    remedy = replace(adding[0][0][0], text=f"Add {what} to the dump{where}, then plan again.")
    return ((remedy, tuple(command for _, command in adding)), *others)


# Blockers by cause: their nodes, the nodes that the fix of each cause frees, and a command that fixes it.


_FROM_CREATION = frozenset(
    {"pod-unmanaged", "pod-emptydir", "pod-hostpath", "pod-local-volume", "pod-ephemeral-volume"}
)
"""Codes about properties that cannot change in the life of a pod."""


@frozen
class Cause:
    """All blockers of one code.

    `freed_nodes`: nodes that can be drained after the fix of this cause and of the causes before it in the list.
    `freed_alone`: how many of these need no other fix. `command`: fixes the first subject, or "" where only `text` says
    what to do. `groups`: the blockers. `since`: creation of the oldest pod with a code that holds from its creation on,
    or when a budget began to allow no disruptions; None: unknown.
    """

    code: str
    subjects: tuple[str, ...]
    nodes: tuple[str, ...]
    freed: tuple[str, ...]
    alone: int
    text: str
    command: str
    groups: tuple[Group, ...] = ()
    since: datetime | None = None

    @property
    def commands(self) -> str:
        """The commands for all subjects; "" where a person must decide."""
        each = (command for group in self.groups for command in commands_of([group])[:1])
        return "\n".join(dict.fromkeys(each)) or self.command

    @property
    def frees_in_brief(self) -> str:
        """``2 nodes``, ``1 with above``, ``none alone``."""
        if not self.freed:
            return "none alone"
        return counted(len(self.freed), "node") if self.alone == len(self.freed) else f"{len(self.freed)} with above"

    @property
    def frees(self) -> str:
        """``frees 2 nodes``, ``frees 1 node with those above``, ``frees no node by itself``."""
        if not self.freed:
            return "frees no node by itself"
        with_others = "" if self.alone == len(self.freed) else " with those above"
        return f"frees {counted(len(self.freed), 'node')}{with_others}"


def causes_of(view: DrainView, order: Sequence[str] = ()) -> tuple[Cause, ...]:
    """The causes in the order in which their fixes free nodes: the node with the fewest causes first.

    Codes in `order` come before all others.
    """
    groups: dict[str, list[Group]] = defaultdict(list)
    for group in grouped(view.blockers, view):
        groups[group.first.code.name].append(group)
    keeps = _keeps(view, groups)
    freed: dict[str, tuple[str, ...]] = {}
    done: set[str] = set()
    known = [code for code in order if code in groups]
    for code in (*known, *(code for code in _ordered(keeps, tuple(groups)) if code not in known)):
        done.add(code)
        freed[code] = tuple(node for node, codes in keeps.items() if code in codes and codes <= done)
    return tuple(_cause(code, groups[code], freed[code], keeps, view) for code in freed)


def assumed_fixed(view: DrainView) -> tuple[tuple[str, tuple[Group, ...]], ...]:
    """The codes of ``--assume-fixed`` that block nothing now, with their subjects; no subjects where it is fixed
    already."""
    blocking = {found.code.name for found in view.blockers}
    codes = sorted(view.plan.policy.assume_fixed - blocking)
    return tuple((code, grouped((f for f in view.warnings if f.code.name == code), view)) for code in codes)


def in_the_way(view: DrainView) -> frozenset[tuple[str, str]]:
    """The blocking codes with each subject, including assumed fixes: ``budget-never-allows``, ``shop/sale``."""
    blocking = {(group.first.code.name, _about(group)) for group in grouped(view.blockers, view)}
    return frozenset(blocking.union((code, _about(group)) for code, of in assumed_fixed(view) for group in of))


def _keeps(view: DrainView, groups: Mapping[str, list[Group]]) -> dict[str, frozenset[str]]:
    """For each node that is not drained in full, the codes that block it, including codes of unknown findings."""
    found: dict[str, set[str]] = defaultdict(set)
    for code, of in groups.items():
        for group in of:
            for node in group.nodes:
                found[node].add(code)
    for target in view.targets:
        for row in view.blocking(target):
            found[target.node.name].update(row.codes)
    return {node: frozenset(found[node]) for node in sorted(found, key=natural)}


def _ordered(keeps: Mapping[str, frozenset[str]], known: tuple[str, ...]) -> Iterable[str]:
    """Each of `known` once. A node that is blocked by other codes too is never freed, so its codes come last."""
    done: dict[str, None] = {}
    left = list(dict.fromkeys(keeps.values()))
    while left:
        codes = min(left, key=lambda each: (not each <= {*known}, len(each - done.keys())))
        done.update((code, None) for code in known if code in codes)
        left.remove(codes)
    return (*done, *(code for code in known if code not in done))


def _cause(
    code: str, groups: list[Group], freed: tuple[str, ...], keeps: Mapping[str, frozenset[str]], view: DrainView
) -> Cause:
    nodes = tuple(node for node in keeps if any(node in group.nodes for group in groups))
    subjects = tuple(dict.fromkeys(_about(group) for group in groups))
    text, command = _fix(code, groups, view)
    created = [row.pod.created_at for row in view.left if code in row.codes and code in _FROM_CREATION]
    closed = {each.key: each.condition_since for each in view.cluster.budgets if each.condition_status == "False"}
    found = [str(f.subject) for group in groups for f in group.findings if f.subject.kind == "PodDisruptionBudget"]
    times = (*created, *map(closed.get, found))
    since = min((each for each in times if each is not None), default=None)
    alone = sum(keeps[node] == {code} for node in freed)
    return Cause(code, subjects, nodes, freed, alone, text, command, tuple(groups), since)


def _about(group: Group) -> str:
    """The subject of `group`; for a finding on the whole cluster its message, because the name says nothing."""
    return group.first.message if group.first.subject.kind == "Cluster" else group.short or ", ".join(group.names)


def _fix(code: str, groups: list[Group], view: DrainView) -> tuple[str, str]:
    """A text and a command. A fix for now comes before a fix for later, and a command before a sentence."""
    for flagged, flag, text in FLAGS:
        if flagged == code and not view.options.get(flag):
            return text, again(view, f"--{flag}")
    remedies = advice(found for group in groups for found in group.findings)
    command = next(((said, commands[0]) for _, said, commands in by_when(remedies) if commands), None)
    return command or ((remedies[0][0].text if remedies else "see -o wide"), "")


# Findings as paragraphs for a terminal: message, subjects, and the commands that fix it.


_INDENT = "    "
_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)")
_JOIN = "\x00"
"""Stands for a space at which a line must not break; sanitized text does not contain it."""

_WHEN_WIDTH = len(When.LATER.value) + 1


def block(group: Group, look: Look, view: DrainView) -> list[str]:
    """Heading, messages, evidence and remedies, complete."""
    first, (told, uncounted) = group.first, evidence(group)
    sign, tone = SIGNS[first.status]
    head = f"{sign} {first.code.name} ({first.severity.value}): {group.about}"
    head += f" ({', '.join(group.listed)})" if group.listed else ""
    head += f"; on {', '.join(group.elsewhere)}" if group.elsewhere else ""
    lines = wrapped(head, look, rest=_INDENT)
    lines[0] = look.paint(lines[0], tone)
    texts = [*group.messages, *(f"- {each}" for each in told)]
    texts += [f"- {look.ellipsis} and {uncounted} more"] if uncounted else []
    texts += [f"missing: {first.missing}"] if first.missing else []
    for text in texts:
        lines += wrapped(text, look, _INDENT, _INDENT + "  " * text.startswith("- "))
    for when, text, commands in by_when(unread(group, view)):
        opening = f"{_INDENT}{when + ':':<{_WHEN_WIDTH}} "
        begin, *rest = _sentences(text, look, opening)
        lines += [look.paint(begin[: len(opening)], Tone.TITLE) + begin[len(opening) :], *rest]
        lines += [command_line(command, look) for command in commands]
    return lines


def _sentences(text: str, look: Look, opening: str) -> list[str]:
    """A wrapped text in which quoted parts are not broken if they fit a line."""
    room = look.columns - len(opening)

    def whole(match: re.Match[str]) -> str:
        return match[0].replace(" ", _JOIN) if len(match[0]) < room else match[0]

    lines = wrap(_QUOTED.sub(whole, shown(text, look)), look.columns, opening)
    return [each.replace(_JOIN, " ") for each in lines]


def command_line(command: str, look: Look) -> str:
    """A command on one line, so that it can be copied.

    A line break in it would run the rest on paste, so line breaks are escaped.
    """
    return _INDENT * 2 + shown(command, look)


def step(text: str, command: str, hang: int = 0) -> list[Line]:
    """The text of a next step, and its command."""
    said = Line(text + (":" if command else "."), hang=hang)
    return [said, as_it_is(command, 2 * len(_INDENT))] if command else [said]


def to_do(title: Title, steps: Iterable[tuple[str, str]]) -> Lines:
    """A section of next steps: one sentence each, and its command."""
    return Lines(title, [line for text, command in steps for line in step(f"- {text}", command, 2)], "sh")
