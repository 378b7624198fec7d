"""A fake live cluster for tests of screens: reads return configured answers, and its watch reports what a test puts
into it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.drain.policy import Targeting
from kubectl_eksdoc.errors import EksdocError
from kubectl_eksdoc.kubernetes.updates import RunUpdate
from kubectl_eksdoc.model.actions import RunCommand
from kubectl_eksdoc.model.cluster import Cluster, Source
from kubectl_eksdoc.model.connection import ClusterAddress
from kubectl_eksdoc.model.interruption import PodReport
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.snapshots import LastView, last_view_of
from kubectl_eksdoc.ports import RunBackend
from kubectl_eksdoc.tui.opening import LiveClusterAccess, Opening, Progress
from tests.tui.pilots import NOW, read_demo

DEMO = replace(read_demo(lambda kind, count: None), source=Source.LIVE, observed_at=NOW)


@dataclass
class Clock:
    """A clock that stands still until a test moves it. Mutable."""

    moment: datetime = NOW

    def __call__(self) -> datetime:
        return self.moment

    def pass_s(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class FakeField:
    """A live backend that reports the updates put into it; an error is raised after the updates before it."""

    def __init__(self) -> None:
        self.told: SimpleQueue[RunUpdate | EksdocError] = SimpleQueue()
        self.closed = threading.Event()

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        try:
            news = self.told.get(timeout=min(wait_s, 0.02))
        except Empty:
            return ()
        if isinstance(news, EksdocError):
            raise news
        return (news,)

    def do(self, act: RunCommand) -> None:
        raise AssertionError("nothing is done from where it is only watched")

    def restart_watches(self) -> None:
        raise AssertionError("it was never lost")

    def close(self) -> None:
        self.closed.set()


@dataclass
class LiveCluster:
    """`answers` are returned one after the other, the last one repeatedly; each is a cluster or an error. Mutable."""

    answers: list[Cluster | EksdocError] = field(default_factory=lambda: [DEMO])
    last: LastView | None = None
    context: str = "blue"
    server: str = "https://blue.example"
    others: tuple[str, ...] = ("blue", "green")
    clock: Clock = field(default_factory=Clock)
    reads: int = 0
    watches: list[FakeField] = field(default_factory=list)
    kept: list[LastView] = field(default_factory=list)
    may_answer: threading.Event = field(default_factory=threading.Event)
    elsewhere: Callable[[str], LiveCluster] | None = None
    targeting: Targeting = Targeting()
    denied: tuple[Permission, ...] = ()
    report: PodReport | EksdocError = PodReport("", (), ())
    asked_pods: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.may_answer.set()

    def read(self, progress: Progress) -> Cluster:
        assert self.may_answer.wait(20)
        answer = self.answers[min(self.reads, len(self.answers) - 1)]
        self.reads += 1
        if isinstance(answer, EksdocError):
            raise answer
        return answer

    @contextmanager
    def watch(self) -> Iterator[RunBackend]:
        self.watches.append(FakeField())
        yield self.watches[-1]

    def pod_report(self, pod: str) -> PodReport:
        self.asked_pods.append(pod)
        if isinstance(self.report, EksdocError):
            raise self.report
        return replace(self.report, pod=pod)

    def at(self, context: str) -> Opening:
        assert self.elsewhere is not None, "there is no other cluster"
        return replace(self.elsewhere(context).opening(), context=context)

    def opening(self, ascii: bool = False) -> Opening:
        live = LiveClusterAccess(
            address=lambda: ClusterAddress(self.context, self.server, "0" * 20),
            last_view=lambda: self.last,
            remember=lambda cluster: self.kept.append(last_view_of(cluster)),
            watch=self.watch,
            contexts=lambda: self.others,
            open_context=self.at,
            pod_report=self.pod_report,
            denied_rights=lambda asked: tuple(each for each in asked if each in self.denied),
        )
        return Opening(
            self.read,
            lambda: self.targeting,
            lambda cluster: (),
            self.clock,
            ascii=ascii,
            live=live,
            required_rights=lambda: rights.plan_permissions("kube-system"),
        )
