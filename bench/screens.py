"""Measure the screens in a terminal (terminal.py), as a user sees them: from the key or the start to the bytes.

A time on this machine means little by itself, so a hello-world app (hello.py) gets keys in turn with ours.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from bench.at_scale import LARGER
from bench.lines import HELLO_KEY_MS, Line, Plan
from bench.measure import run
from bench.terminal import COLUMNS, Terminal, knows_processes

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OURS = (sys.executable, "-m", "kubectl_eksdoc")
HELLO = (sys.executable, str(HERE / "hello.py"))

PAUSE_S = 0.05
"""Between two keys: nobody types faster."""

PER_NODE = 40
BURST = 400
IDLE_S, IDLE_QUICK_S = 20.0, 5.0

Shown = Callable[[str], object]


def first_paint(plan: Plan) -> Iterator[Line]:
    """From the start of the process to the first words, before any data is read: with the demo, and with a cluster that
    has not answered yet."""
    with tempfile.TemporaryDirectory() as folder:
        ways = {
            "hello world": (HELLO, "hello world"),
            "--demo": ((*OURS, "--demo"), "[1]"),
            "a cluster": ((*OURS, "--kubeconfig", _nobody_there(folder)), "[1]"),
        }
        painted = {name: partial(_painted, plan, command, _words(words)) for name, (command, words) in ways.items()}
        for paint in painted.values():
            paint()  # all of them from a warm page cache, and compiled
        rounds = [{name: paint() for name, paint in painted.items()} for _ in range(plan.times)]
        seen = [_painted(plan, (*OURS, "--demo"), _has_time) for _ in range(plan.times)]
    yield Line("screens: first paint, hello world", _ms(each["hello world"] for each in rounds), "ms")
    for name in ("--demo", "a cluster"):
        ratio = median(each[name] / each["hello world"] for each in rounds)
        yield Line(f"screens: first paint with {name} against hello world", ratio, "x", 1.2)
    yield Line("screens: start to the plan of the demo", 1000 * median(seen), "ms")


def _painted(plan: Plan, command: tuple[str, ...], shown: Shown) -> float:
    with Terminal(command, plan.env) as terminal:
        return terminal.until(shown) - terminal.begun


def _nobody_there(folder: str) -> str:
    """A kubeconfig whose server gives no answer."""
    path = Path(folder) / "kubeconfig"
    names = {"current-context": "bench", "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "u"}}]}
    servers = [{"name": "bench", "cluster": {"server": "http://127.0.0.1:9"}}]
    path.write_text(
        json.dumps({"apiVersion": "v1", "kind": "Config", **names, "clusters": servers, "users": [{"name": "u"}]})
    )
    return str(path)


def keys(plan: Plan) -> Iterator[Line]:
    """From a key to the bytes that show its effect, with as many rows as there are nodes; then the same while plans are
    computed one after the other. The limit is for keys that move the cursor: another page of the screens is a layout of
    the whole terminal, and has its own figures."""
    nodes = plan.nodes * LARGER
    presses = 48 if plan.times > 1 else 24
    with ExitStack() as stack:
        hello = stack.enter_context(Terminal(HELLO, plan.env))
        ours = stack.enter_context(_made(plan, nodes, nodes * 4 // 5))
        _planned(ours)
        driven = _Driven(ours)
        took: dict[str, list[float]] = {}
        beside = _Beside(hello)
        others, moved = [], []
        for _ in range(plan.times):  # a p95 each: what else the machine does for a moment is in one of them
            moving, other = [], []
            for number in range(presses):
                other.append(beside.press())
                name, seconds = driven.press(number, mark=False)
                took.setdefault(name, []).append(seconds)
                moving += [seconds] if name in ("row", "page down") else []
                driven.rest()
            driven.home()
            moved.append(_p95(moving))
            others.append(_p95(other))
        busy = [driven.press(number, mark=number % 12 == 1)[1] for number in _paced(driven, presses)]
    what = f"screens: {nodes} rows, key to bytes"
    yield Line("screens: hello world, key to bytes, p95", _ms(others), "ms")
    yield Line(f"{what}, p95 of the keys that move the cursor", _ms(moved), "ms", 16, machine=beside.machine)
    for name, times in took.items():
        yield Line(f"{what}, {name}: median of {len(times)}", _ms(times), "ms")
    yield Line(f"{what} while plans are made, marks among them: p95 of {len(busy)}", 1000 * _p95(busy), "ms")


class _Beside:
    """The hello-world app, which gets keys in turn with ours: its time for a key tells how fast this machine is at such
    work at that time, including its caches and other processes. A loop of pure Python does not follow that.

    Mutable: the CPU time of its keys.
    """

    def __init__(self, terminal: Terminal) -> None:
        terminal.until(_words("hello"))
        terminal.settle()
        self._terminal = terminal
        self._cpu_s: list[float] = []

    def press(self) -> float:
        """Seconds from the key to its bytes of output."""
        before_s = self._terminal.screens_cpu_s() if knows_processes() else 0.0
        took_s = self._terminal.press(b"x", _words(f"<{len(self._cpu_s) + 1}>"))
        self._terminal.settle(PAUSE_S)
        self._cpu_s.append(self._terminal.screens_cpu_s() - before_s if knows_processes() else 0.0)
        return took_s

    @property
    def machine(self) -> float | None:
        """The time of a key as a multiple of that on the machine on which the limits were set, from the median: a
        single delayed key has no meaning. None if the CPU time of a thread is not available."""
        return _ms(self._cpu_s) / HELLO_KEY_MS if knows_processes() else None


class _Driven:
    """Mutable: the row of the cursor, or that it `is_away`: how far a page down moves depends on the layout."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._at = 0
        self._is_away = False

    def home(self) -> None:
        """Move to the first row of the nodes."""
        self._terminal.press(b"g", _row(0))
        self._terminal.watch(PAUSE_S)
        self._at, self._is_away = 0, False

    def rest(self) -> None:
        """Between two measured keys: go back if the row is not known."""
        self._terminal.settle(PAUSE_S)
        if self._is_away:
            self.home()

    def press(self, number: int, mark: bool) -> tuple[str, float]:
        """The kind of key, and its time: mostly a row down; sometimes a page down, sometimes another page of the
        screens and back."""
        if mark:
            self._at += 1
            return "mark", self._terminal.press(b" ", _row(self._at))
        if number % 12 == 4:
            return "page of the screens", self._terminal.press(b"2", _page(2))
        if number % 12 == 5:
            return "page of the screens", self._terminal.press(b"1", _page(1))
        if number % 12 == 9:
            self._is_away = True
            return "page down", self._terminal.press(b"\x06", lambda text: "▌" in text)
        self._at += 1
        return "row", self._terminal.press(b"j", _row(self._at))


def _words(words: str) -> Shown:
    return lambda text: words in text


def _row(at: int) -> Shown:
    """The cursor is on the node with that number: `bench.world` names nodes so, and they are listed in that order."""
    name = f"ip-10-{at // 250}-{at % 250}-17.ec2.internal"
    on_it = re.compile(rf"▌. {re.escape(name)}")
    return on_it.search


def _paced(driven: _Driven, count: int) -> Iterator[int]:
    for number in range(count):
        yield number
        driven.rest()


def first_answer(plan: Plan) -> Iterator[Line]:
    """From a key that edits the plan to its rounds, waves and blockers on the screen; times are shown later."""
    nodes = plan.nodes
    edits = {"nodes at once": (b"{", b"}"), "grace period": (b")", b"("), "one wave later": (b"J", b"K")}
    took: dict[str, list[float]] = {name: [] for name in edits}
    with _made(plan, nodes, nodes * 4 // 5) as ours:
        _planned(ours)
        for key, shown in ((b"3", _page(3)), (b"g", _words("")), (b"1", _page(1))):  # to a node that is drained
            ours.press(key, shown)
            ours.settle()
        for _ in range(max(plan.times, 2)):
            for name, (there, back) in edits.items():
                for key in (there, back):
                    since = len(ours.sent)
                    took[name].append(ours.press(key, _PLAN_LINE.search))
                    ours.until(_has_time, since)
                    ours.settle()
    for name, seconds in took.items():
        what = f"screens: what-if at {nodes} nodes, {name}: key to rounds, waves, blockers"
        yield Line(what, _ms(seconds), "ms", 50)


def idle(plan: Plan) -> Iterator[Line]:
    """The CPU use of the screens without input, while the plan is shown."""
    if not knows_processes():
        return
    seconds = IDLE_S if plan.times > 1 else IDLE_QUICK_S
    with Terminal((*OURS, "--demo"), plan.env) as ours:
        ours.until(_has_time)
        ours.settle(1.0)
        before = ours.cpu_s()
        sent = ours.watch(seconds)
        used = ours.cpu_s() - before
    yield Line(f"screens: idle for {seconds:.0f} s: of a core", 100 * used / seconds, "%", 1)
    yield Line(f"screens: idle for {seconds:.0f} s: sent to the terminal", sent, "bytes", 0)


def live_run(plan: Plan) -> Iterator[Line]:
    """A run whose state is read four times a second, and in which twelve pods are evicted each second."""
    if not knows_processes():
        return
    seconds = IDLE_S if plan.times > 1 else IDLE_QUICK_S
    command = (sys.executable, "-m", "bench.screens_run", "--nodes", "200")
    with Terminal(command, plan.env) as ours:
        ours.until(_words("[5]"))
        ours.watch(2.0)
        before = ours.cpu_s()
        sent = ours.watch(seconds)
        used = ours.cpu_s() - before
    yield Line("screens: a run of 200 nodes, looked at 4 times a second: sent", sent / seconds / 1024, "KiB/s", 32)
    yield Line("screens: a run of 200 nodes, looked at 4 times a second: of a core", 100 * used / seconds, "%")


def memory(plan: Plan) -> Iterator[Line]:
    """The memory of the process alone, from a dump on disk to the plan of three fifths of the nodes, and after edits of
    it."""
    if not knows_processes():
        return
    pods = 2 * plan.pods
    with tempfile.TemporaryDirectory() as folder:
        run((sys.executable, "-m", "bench.screens_dump", folder, str(pods), str(PER_NODE)), plan.env)
        with Terminal((*OURS, "--snapshot", folder), plan.env) as ours:
            ours.until(lambda text: "▌" in text)
            ours.settle()
            ours.press(b"m", str.strip)
            ours.settle()
            ours.press(b"g", _has_time)
            ours.settle()
            now, most = ours.memory_mib()
            for number in range(10 if plan.times > 1 else 2):
                ours.press(b"{" if number % 2 == 0 else b"}", _has_time)
                ours.settle()
            later, _ = ours.memory_mib()
    what = f"screens: {pods // PER_NODE} nodes and {pods:,} pods"
    yield Line(f"{what}, planned: memory at most so far", most, "MiB", 180)
    yield Line(f"{what}, planned: memory", now, "MiB")
    yield Line(f"{what}, planned ten times over: memory", later, "MiB")


def large(plan: Plan) -> Iterator[Line]:
    """With ten pods on each node: the CPU time and total time of a key, also on the pages of budgets and waves; the
    cost of another page; how long keys that arrive at once leave the screen unchanged; and the time until a plan of
    three fifths of the nodes is on the screen."""
    if not knows_processes():
        return
    nodes = plan.nodes * LARGER
    presses = 96 if plan.times > 1 else 12
    rows: list[float] = []
    walls: list[float] = []
    free: list[float] = []  # the same without what its thread waited for a core: others use the machine, too
    switches: list[float] = []
    others: list[float] = []
    with ExitStack() as stack:
        beside = _Beside(stack.enter_context(Terminal(HELLO, plan.env)))
        ours = stack.enter_context(_made(plan, nodes, nodes * 3 // 5, "--pods-per-node", "10", "--utilisation", "0.4"))
        ours.until(_words("▌"))
        shown_s, planning_s = time.perf_counter(), ours.cpu_s()
        planned_s = ours.until(_has_time) - shown_s
        planning_s = ours.cpu_s() - planning_s
        ours.settle()
        driven = _Driven(ours)
        for number in range(presses):
            others.append(beside.press())
            used_s, waited_s = ours.screens_cpu_s(), ours.screens_waited_s()
            name, wall_s = driven.press(number, mark=False)
            free.append(wall_s - (ours.screens_waited_s() - waited_s))
            ours.settle(PAUSE_S)
            used_s = ours.screens_cpu_s() - used_s
            driven.rest()
            walls.append(wall_s)
            (switches if name == "page of the screens" else rows).append(used_s)
        beside_rows = {page: _rows_of(page, ours, beside, presses // 2) for page in (2, 3)}
        ours.press(b"1", _page(1))
        ours.settle()
        driven.home()
        ours.settle()
        count = min(BURST, nodes - 1)  # there is no row below the last
        burst_s = ours.burst(b"j" * count, _row(count))
    what, machine = f"screens: {nodes} nodes and {nodes * 10:,} pods", beside.machine
    yield Line(f"{what}, a key of {presses}: wall, p95", 1000 * _p95(walls), "ms", 33, machine=machine)
    yield Line(f"{what}, a key of {presses}: wall without waits for a core, p95", 1000 * _p95(free), "ms")
    yield Line("screens: hello world, a key in turn with these: wall, p95", 1000 * _p95(others), "ms")
    yield Line(f"{what}, a key that moves the cursor: own CPU, p95", 1000 * _p95(rows), "ms", 8, machine=machine)
    for page, used in beside_rows.items():
        yield Line(
            f"{what}, a row or a page down of page {page}: own CPU, p95", 1000 * _p95(used), "ms", 8, machine=machine
        )
    yield Line(f"{what}, another page: own CPU, median", 1000 * median(switches), "ms", 30, machine=machine)
    yield Line(f"{what}, {count} keys at once: longest without a byte", 1000 * burst_s, "ms", 100, machine=machine)
    yield Line(f"{what}, a plan of {nodes * 3 // 5} nodes on the screen", planned_s, "s", 4)
    yield Line(f"{what}, a plan of {nodes * 3 // 5} nodes on the screen: CPU", planning_s, "s")


def _rows_of(page: int, terminal: Terminal, beside: _Beside, presses: int) -> list[float]:
    """The seconds of CPU of the process for each key that goes down, up or a page down in the table of that page."""
    terminal.press(f"{page}".encode(), _page(page))
    terminal.settle()
    used = []
    for number in range(presses):
        beside.press()
        before_s = terminal.screens_cpu_s()
        terminal.press({4: b"k", 7: b"\x06"}.get(number % 12, b"j"), _words("▌"))
        terminal.settle(PAUSE_S)
        used.append(terminal.screens_cpu_s() - before_s)
    return used


def _made(plan: Plan, nodes: int, marked: int, *more: str) -> Terminal:
    command = (sys.executable, "-m", "bench.screens_world", "--nodes", str(nodes), "--marked", str(marked), *more)
    return Terminal(command, plan.env)


def _planned(terminal: Terminal) -> None:
    terminal.until(_has_time)
    terminal.settle()


def _page(number: int) -> Shown:
    """A frame with the number of the page, as wide as the terminal."""
    return re.compile(rf"╭─ \[{number}\] [^╮]{{{COLUMNS * 3 // 4},}}╮").search


_PLAN_LINE = re.compile(r"(?: · [^·│\n]+){4}")
"""The line above the pages is the only one with so many parts."""

_has_time = re.compile(r"p95 \d").search
"""The line above the pages says how long the drain takes."""


def _p95(seconds: list[float]) -> float:
    """The p95, by nearest rank."""
    return sorted(seconds)[max(round(0.95 * len(seconds)) - 1, 0)]


def _ms(seconds: Iterator[float] | list[float]) -> float:
    return 1000 * median(seconds)


def screens(plan: Plan) -> Iterator[Line]:
    """All measurements. Python must write its compiled files: else each start would be a first one."""
    kept = {name: value for name, value in plan.env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as compiled:
        asked = Plan(
            plan.times, plan.pods, plan.nodes, plan.dumped, plan.kubectl, kept | {"PYTHONPYCACHEPREFIX": compiled}
        )
        for part in (first_paint, keys, large, first_answer, idle, live_run, memory):
            yield from part(asked)
