"""What the user has chosen, and every step back: frozen, with transitions that return the next one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kubectl_eksdoc.drain.policy import DrainPolicy

MOST_STEPS = 200
"""So many edits can be taken back."""


@dataclass(frozen=True, slots=True)
class PlanInput:
    """What a plan is made from: the nodes that are marked, by name, and what a drain may do."""

    marked: frozenset[str] = frozenset()
    policy: DrainPolicy = field(default_factory=DrainPolicy)


@dataclass(frozen=True, slots=True)
class _Step:
    """An edit that was made: what was asked before it, and in words what it did."""

    before: PlanInput
    words: str


@dataclass(frozen=True, slots=True)
class EditHistory:
    """`past` and `future` are the steps that can be undone and redone, the nearest last."""

    ask: PlanInput = PlanInput()
    past: tuple[_Step, ...] = ()
    future: tuple[_Step, ...] = ()

    def edited(self, ask: PlanInput, words: str) -> EditHistory:
        """Whatever was undone cannot be redone after it; an edit that changes nothing is none."""
        if ask == self.ask:
            return self
        return replace(self, ask=ask, past=(*self.past, _Step(self.ask, words))[-MOST_STEPS:], future=())

    def toggled(self, node: str) -> EditHistory:
        if node in self.ask.marked:
            return self.marked_are(self.ask.marked - {node}, f"{node} is marked no more")
        return self.marked_are(self.ask.marked | {node}, f"{node} is marked")

    def marked_are(self, nodes: Iterable[str], words: str) -> EditHistory:
        """A node that is marked no more is pinned no more: pins name nodes of the plan, here as on a command line."""
        marked = frozenset(nodes)
        policy = self.ask.policy
        pins = tuple((node, wave) for node, wave in policy.pins if node in marked)
        return self.edited(replace(self.ask, marked=marked, policy=replace(policy, pins=pins)), words)

    def with_policy(self, policy: DrainPolicy, words: str) -> EditHistory:
        return self.edited(replace(self.ask, policy=policy), words)

    def undone(self) -> EditHistory:
        """The same where there is nothing to undo."""
        if not self.past:
            return self
        step = self.past[-1]
        return replace(self, ask=step.before, past=self.past[:-1], future=(*self.future, _Step(self.ask, step.words)))

    def redone(self) -> EditHistory:
        """The same where there is nothing to redo."""
        if not self.future:
            return self
        step = self.future[-1]
        return replace(self, ask=step.before, past=(*self.past, _Step(self.ask, step.words)), future=self.future[:-1])
