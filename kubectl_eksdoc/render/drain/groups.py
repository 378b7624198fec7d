"""Equal findings as one line: 34 pods of one app with one trouble are one thing to mend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.findings import Finding, Remedy, Status, When
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
