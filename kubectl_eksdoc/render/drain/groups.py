"""Equal findings as one line: 34 pods of one app with one trouble are one thing to mend."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.findings import Finding, Remedy, Status, When
from kubectl_eksdoc.render.drain.invocation import DUMP, dump_folder
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.text import counted

_MASK = "\x00"
_CLUSTER = "Cluster"
_SEVERAL = "pod-several-budgets"

Advice = tuple[Remedy, tuple[str, ...]]
"""A remedy and the commands that do it, one for each object it is for."""


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one code that say the same, worst first as they came. `app` is ``Deployment/web`` or ""."""

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
        """The shortest name of what it is about, "" for nodes: for a line that says the node already."""
        subject = self.first.subject
        if subject.kind == "Node":
            return ""
        return f"{subject.namespace}/{self.app.partition('/')[2]}" if self.app and self.listed else str(subject)

    @property
    def listed(self) -> tuple[str, ...]:
        """The names that `about` only counts."""
        return self.names if len(self.findings) > 1 else ()

    @property
    def messages(self) -> tuple[str, ...]:
        """The distinct messages: of those that differ only by the subject's name, the first."""
        seen: dict[str, str] = {}
        for found in self.findings:
            seen.setdefault(_masked(found, found.message), found.message)
        return tuple(seen.values())

    @property
    def remedies(self) -> tuple[Advice, ...]:
        return advice(self.findings)


def advice(findings: Iterable[Finding]) -> tuple[Advice, ...]:
    """Each distinct remedy once, with all the commands it has over `findings`."""
    seen: dict[tuple[str, str], tuple[Remedy, dict[str, None]]] = {}
    for found in findings:
        for remedy in found.remedy:
            key = (_masked(found, remedy.text), remedy.when.value)
            commands = seen.setdefault(key, (remedy, {}))[1]
            if remedy.command:
                commands[remedy.command] = None
    return tuple((remedy, tuple(commands)) for remedy, commands in seen.values())


def grouped(findings: Iterable[Finding], view: DrainView) -> tuple[Group, ...]:
    """`findings` in groups, in the order of each group's first."""
    rows: dict[tuple[str, ...], list[Finding]] = {}
    apps: dict[tuple[str, ...], str] = {}
    for found in findings:
        app = _app(found, view)
        key = _key(found, app)
        rows.setdefault(key, []).append(found)
        apps[key] = app
    return tuple(Group(tuple(found), apps[key], _nodes(found, view)) for key, found in rows.items())


def of_budget(budget: Budget, view: DrainView) -> tuple[Group, ...]:
    """The blockers that are about it, or about pods that it counts together with other budgets."""
    counts = {
        (row.pod.namespace, name)
        for row in view.left
        if _SEVERAL in row.codes and budget.namespace == row.pod.namespace and budget.selector.matches(row.pod.labels)
        for name in (row.pod.name, view.app(row.pod).partition("/")[2])
    }

    def about(found: Finding) -> bool:
        subject = found.subject
        if subject.kind == "PodDisruptionBudget":
            return (subject.namespace, subject.name) == (budget.namespace, budget.name)
        return found.code.name == _SEVERAL and (subject.namespace, subject.name) in counts

    return grouped((found for found in view.blockers if about(found)), view)


def command_of(groups: Iterable[Group]) -> str:
    """The first command that helps, one for now before one for later; "" where a person must decide."""
    for when in When:
        for group in groups:
            for remedy, commands in group.remedies:
                if remedy.when is when and commands:
                    return "\n".join(commands)
    return ""


def _nodes(findings: Iterable[Finding], view: DrainView) -> tuple[str, ...]:
    return tuple(sorted({node for found in findings for node in view.holds_up(found)}, key=natural))


def _app(found: Finding, view: DrainView) -> str:
    if found.subject.kind != "Pod":
        return ""
    pod = view.pod(found.subject.namespace, found.subject.name)
    return view.app(pod) if pod else ""


def _key(found: Finding, app: str) -> tuple[str, ...]:
    """Pods go together by their app. So do bare pods, nodes, and all that only warns, where the same is said.

    Whatever else blocks stands alone: each has its own way out.
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
    """`text` without the subject's name, to see whether the same is said of another one."""
    return text.replace(str(found.subject), _MASK).replace(found.subject.name, _MASK)


# What a finding rests on, said once for each pod: where it runs, and why it is not Ready.


_PLACE = re.compile(r"(?:guards|pod) (\S+) on (\S+)")
_NOT_READY = re.compile(r"(\S+) is not Ready: (.+)")
_NO_REASON = "no reason given"
_CUT = re.compile(r"and (\d+) more")


def evidence(group: Group) -> tuple[tuple[str, ...], int]:
    """The lines, each once, and how many more there are than the findings hold.

    What only repeats the finding's own subject and node is left out.
    """
    lines: dict[str, None] = {}
    uncounted = 0
    for found in group.findings:
        for text in _joined(found):
            cut = _CUT.fullmatch(text)
            uncounted += int(cut[1]) if cut else 0
            if not cut and text not in _head_of(found, group):
                lines[text] = None
    return tuple(lines), uncounted


def _joined(found: Finding) -> list[str]:
    """A pod's place and its reason as one line: ``shop/thumbs-1 on old-3: CrashLoopBackOff``."""
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


def _head_of(found: Finding, group: Group) -> set[str]:
    """What the head of the finding says already."""
    return {f"{found.subject} on {node}" for node in group.nodes} if found.subject.kind == "Pod" else set()


# How to get what a finding lacks: the steps for all the kinds a dump does not hold as one.


_ADD = re.compile(r"(kubectl get \S+ -A -o json > )([\w.-]+\.json)")


def unread(group: Group, view: DrainView) -> tuple[Advice, ...]:
    """The remedies of `group`; those that add kinds to a dump are one, and write into the dump's folder."""
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
