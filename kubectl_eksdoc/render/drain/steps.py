"""What to do next: the answer once more, and command lines to copy with what each of them means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kubectl_eksdoc.drain.outcome import PodVerdict, Target, TargetVerdict
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.render.drain.fence import fence
from kubectl_eksdoc.render.drain.groups import grouped
from kubectl_eksdoc.render.drain.invocation import CONTEXT, DUMP, NextStep, again, run
from kubectl_eksdoc.render.drain.verdict import ONE_TARGET
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import counted, duration, joined, listing

_MOST_NODES = 5

FLAGS = (
    ("pod-emptydir", "delete-emptydir-data", "Evict pods with emptyDir data too; the data is lost"),
    ("pod-unmanaged", "force", "Evict pods without a controller too; nothing creates them again"),
    ("pod-protected", "evict-protected", "Evict protected pods too, when their owners agree"),
)
"""Code of a blocker, the flag that decides otherwise, and what the flag does."""

DO_IT = "Do it"

_STAND_INS = ((DUMP, "the path of the dump"), (CONTEXT, "the cluster's context"))

_NOT_DRAINED = (
    (TargetVerdict.SKIPPED, "skipped"),
    (TargetVerdict.REFUSED, "refused"),
    (TargetVerdict.UNKNOWN, "not judged"),
)


def answer(view: DrainView, look: Look, where: str = "above") -> str:
    """``5 of 8 nodes can be drained, about 2m06s; skipped: blue-6, blue-7, blue-8 (8 blockers above).``"""
    if not view.targets:
        return "No node to drain."
    verdicts = Counter(target.verdict for target in view.targets)
    parts = [_can(len(view.targets), verdicts) + _time(view)]
    for verdict, word in _NOT_DRAINED:
        names = [target.node.name for target in view.targets if target.verdict is verdict]
        if len(names) == len(view.targets) > 1 and verdict is not TargetVerdict.UNKNOWN:
            parts[0] += f": all {word}"
        elif names and len(verdicts) > 1:
            parts.append(f"{word}: {listing(names, _MOST_NODES, look)}")
    blockers = len(grouped(view.blockers, view))
    return "; ".join(parts) + (f" ({counted(blockers, 'blocker')} {where})." if blockers else ".")


def steps(view: DrainView) -> tuple[NextStep, ...]:
    """Those that are true of this plan, in the order in which one would take them."""
    found = []
    if len(view.targets) > 1 and any(target.order for target in view.targets):
        found.append(NextStep("The names of the nodes that can be drained, in order", again(view, "-o", "name")))
    supposes = view.plan.policy.assume_budgets or view.plan.policy.assume_fixed
    if view.cluster.source is Source.LIVE and not supposes and any(target.order for target in view.targets):
        found.append(NextStep(f"{DO_IT}: shows this once more, and asks for a typed confirmation", run(view)))
    fenced = fence(view)
    if fenced is not None:
        found.append(fenced)
    if view.blockers:
        found.append(NextStep("Fix what blocks, then plan again", again(view)))
    found += _allowing(view)
    found += _partly(view)
    still = sorted({f.code.name for f in view.unknowns} - view.plan.policy.accept_unknown)
    if still:
        text = "Answer what is unknown, or accept that it is"
        found.append(NextStep(text, again(view, accept=still)))
    stand_ins = [f"{word} for {what}" for word, what in _STAND_INS if any(f" {word}" in s.command for s in found)]
    if stand_ins:
        found.append(NextStep(joined(stand_ins).replace(" for ", " stands for ", 1)))
    return tuple(found)


def _can(total: int, verdicts: Counter[TargetVerdict]) -> str:
    whole, partly = verdicts[TargetVerdict.DRAINS], verdicts[TargetVerdict.PARTIAL]
    if verdicts[TargetVerdict.UNKNOWN] == total > 1:
        return f"None of {total} nodes could be judged"
    if total == 1:
        return f"The node {ONE_TARGET[next(iter(verdicts))]}"
    if whole == total:
        return f"All {total} nodes can be drained"
    some = f", {partly} more in part" if partly else ""
    return f"{whole or 'None'} of {total} nodes can be drained{some}"


def _time(view: DrainView) -> str:
    return f", about {duration(view.plan.estimate.p50_s)}" if view.plan.estimate else ""


def _allowing(view: DrainView) -> Iterable[NextStep]:
    """The flags that take a blocker away, and which nodes nothing else keeps."""
    for code, flag, text in FLAGS:
        if view.options.get(flag) or all(f.code.name != code for f in view.blockers):
            continue
        on = [target for target in view.targets if any(code in row.codes for row in view.blocking(target))]
        freed = [target for target in on if all(set(row.codes) == {code} for row in view.blocking(target))]
        helps = f"nothing else blocks {_names(freed)}" if freed else "alone that frees no node"
        yield NextStep(f"{text} ({helps})" if on else text, again(view, f"--{flag}"))


def _partly(view: DrainView) -> Iterable[NextStep]:
    skipped = {t.node.name for t in view.targets if t.verdict in (TargetVerdict.SKIPPED, TargetVerdict.UNKNOWN)}
    held = [row for row in view.left if row.verdict is PodVerdict.HELD and row.node in skipped]
    if held and not view.plan.policy.partial:
        nodes = counted(len({row.node for row in held}), "skipped node")
        goes = f"{counted(len(held), 'more pod')} {'goes' if len(held) == 1 else 'go'}"
        text = f"Empty {nodes} as far as possible too: {goes}, what blocks stays"
        yield NextStep(text, again(view, "--partial"))


def _names(targets: list[Target]) -> str:
    names = [target.node.name for target in targets]
    return joined(names) if len(names) <= _MOST_NODES else f"{len(names)} of its nodes"
