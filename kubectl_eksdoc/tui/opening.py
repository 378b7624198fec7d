"""Input of the terminal user interface: data sources, options and the first screen."""

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

if TYPE_CHECKING:  # the first paint must not load facts and plans
    from kubectl_eksdoc.drain.command.screen_ports import ScreenRunController
    from kubectl_eksdoc.drain.policy import Targeting
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import ClusterAddress
    from kubectl_eksdoc.model.interruption import PodReport
    from kubectl_eksdoc.model.permissions import Permission, PlanPermissions
    from kubectl_eksdoc.model.snapshots import LastView
    from kubectl_eksdoc.ports import RunBackend


Progress = Callable[[str, int], None]


@frozen
class LiveClusterAccess:
    """Access to a live cluster. All functions may be called from other threads, and may take long.

    `address`: which cluster it is; it may raise ConfigError, as `watch` may, which returns a run backend with change
    events. `last_view`: the cached view; `remember` caches a new one. `contexts`: the names of other contexts;
    `open_context`: the same screens for one of them. `denied_rights`: those of the rights that the user does not have.
    `pod_report`: details of a pod, ``namespace/name``; it may raise EksdocError.
    """

    address: Callable[[], ClusterAddress]
    last_view: Callable[[], LastView | None]
    remember: Callable[[Cluster], None]
    watch: Callable[[], AbstractContextManager[RunBackend]]
    contexts: Callable[[], tuple[str, ...]]
    open_context: Callable[[str], Opening]
    denied_rights: Callable[[Sequence[Permission]], tuple[Permission, ...]]
    pod_report: Callable[[str], PodReport]


@frozen
class Opening:
    """The input of the screens. `read` reads the cluster, repeatedly and from another thread; it may raise EksdocError.
    `targeting`: what is marked at first; `connection_args`: the flags for the same cluster on a command line; `live`:
    None for a dump and the demo; `plain`: without colours; `context`: chosen on the screens, "" for that of the command
    line. `run_controller`: starts runs, None in read-only mode, for the reason `read_only_reason`. `keys`: the user's
    keys by action name; `setting_problems`: problems of the user's settings, a sentence each. `required_rights`: the
    rights that a plan and a run need. `production_pattern`: a regular expression for names of production contexts and
    clusters, "" for none."""

    read: Callable[[Progress], Cluster]
    targeting: Callable[[], Targeting]
    connection_args: Callable[[Cluster], tuple[str, ...]]
    now: Callable[[], datetime]
    ascii: bool = False
    plain: bool = False
    light: bool = False
    context: str = ""
    run_controller: ScreenRunController | None = None
    read_only_reason: str = ""
    live: LiveClusterAccess | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    setting_problems: tuple[str, ...] = ()
    required_rights: Callable[[], PlanPermissions] | None = None
    production_pattern: str = ""


# The first paint: the frame of the screens, while their code is loaded in the background.


class FirstScreen(Screen[None]):
    """Minimal, because the user waits for every import before the first paint."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.quit", "quit", show=False)]

    def __init__(self, load: Callable[[], object], on_loaded: Callable[[], object]) -> None:
        """`load` is called in a thread after the first paint, then `on_loaded` by the app."""
        super().__init__()
        self._load = load
        self._on_loaded = on_loaded

    def compose(self) -> ComposeResult:
        yield Static("eksdoc  reading the cluster…", id="identity")
        yield Static(id="line", markup=False)
        nodes = Static(id="nodes", classes="framed")
        nodes.border_title = r"\[1] Nodes"
        yield nodes
        yield Static("q quit", id="foot")

    def on_mount(self) -> None:
        app = self.app  # it may be closed by the time of the call
        self.call_after_refresh(
            threading.Thread(target=self._load_in_thread, args=(app,), name="loader", daemon=True).start
        )

    def on_key(self, event: events.Key) -> None:
        """The key comes too early: say so."""
        if event.is_printable and event.key != "q":
            self.query_one("#line", Static).update(f"{event.character}: nothing is read yet")

    def _load_in_thread(self, app: App[object]) -> None:
        try:
            self._load()
        finally:  # an import error is raised again at the next use
            if app.is_running:
                app.call_from_thread(app.call_later, self._on_loaded)
