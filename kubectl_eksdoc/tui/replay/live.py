"""A recorded run in the place of one that is under way, and its state: it goes on at a speed of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from kubectl_eksdoc.core.run.chronicle import Aimed, NodeState, PodState
from kubectl_eksdoc.core.run.recording import Recording, Source
from kubectl_eksdoc.core.run.replaying import Replay
from kubectl_eksdoc.flows.run.draining import Wish
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.tui.replay.account import outcome_of
from kubectl_eksdoc.tui.run.desk import Kind, Update
from kubectl_eksdoc.tui.run.state import RunState, Stage

_LONGEST_LOOK_S = 1.0
"""A terminal that was suspended for an hour is not an hour further."""

_UNKNOWN = {
    Source.JOURNAL: "Not known: what pods waited for, and when each was gone. A journal has neither.",
    Source.EVENTS: "Not known: what pods waited for, unless they were refused.",
}


class ReplayedRun:
    """A `tui.run.desk.Live`. Mutable; nobody can wish anything of it any more."""

    kind = Kind.DRAIN
    view = None

    def __init__(self, recording: Recording, clock: Callable[[], float]) -> None:
        """`clock`: seconds from anywhere."""
        self.replay = Replay(recording)
        self._recording = recording
        self._clock = clock
        self._looked_s = clock()
        self._outcome = outcome_of(recording)

    @property
    def run(self) -> str:
        return self._recording.run or "?"

    @property
    def aims(self) -> tuple[Aimed, ...]:
        return self._recording.aims

    @property
    def began_at(self) -> datetime:
        return self._recording.began_at

    @property
    def speed(self) -> float:
        return self.replay.speed

    def look(self) -> Update:
        """Time goes on with it."""
        now_s = self._clock()
        self.replay.pass_by(min(max(now_s - self._looked_s, 0.0), _LONGEST_LOOK_S))
        self._looked_s = now_s
        return self.now()

    def now(self) -> Update:
        """Where it is, however it came there."""
        news = self.replay.take()
        outcome = self._outcome if self.replay.at_end else None
        return Update(news.moments, None, outcome, news.anew)

    def wish(self, wish: Wish) -> None:
        """It is over."""

    def leave_alone(self, node: str) -> None:
        """It is over."""


class ReplayState(RunState):
    """Mutable: the run as it was at the place of `replay`."""

    def __init__(self, live: ReplayedRun) -> None:
        super().__init__(live)
        self.replay = live.replay

    def take(self, update: Update) -> bool:
        """With the waves in which nodes came at that time."""
        new = super().take(update)
        for node, wave in self.recording.waves_after(len(self.chronicle.moments)).items():
            if node in self.chronicle.nodes:
                self.chronicle.nodes[node].wave = wave
        return new

    @property
    def recording(self) -> Recording:
        return self.replay.recording

    @property
    def stage(self) -> Stage:
        if self.outcome is not None or self.chronicle.stopped:
            return super().stage
        return Stage.HELD if self.chronicle.held else Stage.RUNNING

    @property
    def at_s(self) -> float:
        return self.replay.at_s

    @property
    def unknown(self) -> str:
        return _UNKNOWN[self.recording.source]

    @property
    def knows_pods(self) -> bool:
        return False

    @property
    def knows_leaving(self) -> bool:
        return self.recording.source is Source.EVENTS

    @property
    def pods_gone(self) -> str:
        """``7 pods gone so far``; a journal knows that of nodes that are empty."""
        planned = self.recording.planned
        gone = f"{counted(self.chronicle.gone, 'pod')} gone so far"
        if planned is not None:
            return f"{gone}, {planned.pods} planned"
        if self.recording.source is Source.EVENTS:
            return gone
        pods = [pod for node in self.chronicle.nodes.values() for pod in node.pods.values()]
        accepted = sum(pod.state in (PodState.LEAVING, PodState.GONE) for pod in pods)
        asked = f"{counted(len(pods), 'pod')} asked to go so far"
        return f"{asked}, {accepted} accepted, {self.chronicle.gone} surely gone"

    @property
    def nodes_done(self) -> str:
        """``2 of 5 nodes drained``."""
        nodes = self.chronicle.nodes.values()
        done = sum(node.state in (NodeState.DONE, NodeState.GONE) for node in nodes)
        return f"{done} of {counted(len(nodes), 'node')} drained"

    def details(self, at: int) -> Sequence[tuple[str, str]]:
        return self.recording.details(at)
