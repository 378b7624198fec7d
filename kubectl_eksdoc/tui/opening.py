"""What the terminal user interface is given when it is opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from kubectl_eksdoc.frozen import frozen

if TYPE_CHECKING:  # the first paint must not pay for facts and plans
    from kubectl_eksdoc.drain.command.screen_ports import ScreenRunController
    from kubectl_eksdoc.drain.policy import Targeting
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import ClusterAddress
    from kubectl_eksdoc.model.interruption import PodReport
    from kubectl_eksdoc.model.permissions import Permission, PlanPermissions
    from kubectl_eksdoc.model.snapshots import LastView
    from kubectl_eksdoc.ports import Field


Progress = Callable[[str, int], None]


@frozen
class LiveClusterAccess:
    """What there is only of a live cluster. All may be called from other threads, and may take long.

    `where`: which cluster it is; it may raise ConfigError, as `watch` may, which gives a field that tells of changes.
    `last_view`: what it was like when it was seen last, and `remember` keeps that. `contexts`: the names of those that
    can be chosen instead; `at`: the same screens on another one. `denied`: those of the rights that we do not have.
    `pod_report`: what the cluster says of a pod, ``namespace/name``; it may raise EksdocError.
    """

    where: Callable[[], ClusterAddress]
    last_view: Callable[[], LastView | None]
    remember: Callable[[Cluster], None]
    watch: Callable[[], AbstractContextManager[Field]]
    contexts: Callable[[], tuple[str, ...]]
    at: Callable[[str], Opening]
    denied: Callable[[Sequence[Permission]], tuple[Permission, ...]]
    pod_report: Callable[[str], PodReport]


@frozen
class Opening:
    """`read` reads the cluster and may be called again, from another thread; it may raise EksdocError. `targeting`:
    what is marked at first; `reached_by`: the words that lead to the same cluster on a command line; `live`: None for a
    dump and for the demo, which stay as they are; `plain`: without colours; `context`: the one that was chosen on the
    screens, "" for what the command line says. `desk`: where runs are begun, None where nothing can be changed, for the
    reason `no_desk`. `keys`: the user's own, by the names of the actions; `wrong`: what of the user's settings is not
    followed, a sentence each. `needs`: the rights on which a plan and a run rest. `production`: a regular expression
    that names of contexts and clusters of production are like, "" for none."""

    read: Callable[[Progress], Cluster]
    targeting: Callable[[], Targeting]
    reached_by: Callable[[Cluster], tuple[str, ...]]
    now: Callable[[], datetime]
    ascii: bool = False
    plain: bool = False
    light: bool = False
    context: str = ""
    desk: ScreenRunController | None = None
    no_desk: str = ""
    live: LiveClusterAccess | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()
    needs: Callable[[], PlanPermissions] | None = None
    production: str = ""


# What is painted first: the frame of the screens, while all that they are made of is loaded behind it.


class FirstScreen(Screen[None]):
    """Made of next to nothing, because every import before the first paint is waited for by somebody."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.quit", "quit", show=False)]

    def __init__(self, load: Callable[[], object], loaded: Callable[[], object]) -> None:
        """`load` is called in a thread once this is seen, and then `loaded` by the app."""
        super().__init__()
        self._load = load
        self._loaded = loaded

    def compose(self) -> ComposeResult:
        yield Static("eksdoc  reading the cluster…", id="identity")
        yield Static(id="line", markup=False)
        nodes = Static(id="nodes", classes="framed")
        nodes.border_title = r"\[1] Nodes"
        yield nodes
        yield Static("q quit", id="foot")

    def on_mount(self) -> None:
        app = self.app  # which may be over by the time when it is asked
        self.call_after_refresh(threading.Thread(target=self._work, args=(app,), name="loader", daemon=True).start)

    def on_key(self, event: events.Key) -> None:
        """It comes too early for what it does, and is not silent about it."""
        if event.is_printable and event.key != "q":
            self.query_one("#line", Static).update(f"{event.character}: nothing is read yet")

    def _work(self, app: App[object]) -> None:
        try:
            self._load()
        finally:  # whatever went wrong is raised again by whoever wants to use it
            if app.is_running:
                app.call_from_thread(app.call_later, self._loaded)
