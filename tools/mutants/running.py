"""Run for each mutant the tests that reach it, in a fork of a process that has collected them."""

from __future__ import annotations

import builtins
import gc
import json
import os
import signal
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tools import quick
from tools.mutants.planting import Mutant

NOT_RUN = ("tests/contracts/", "tests/plugins/", "tests/krew/")
"""Tests that read the source itself: in a copy with mutants they are meaningless."""


@dataclass(frozen=True, slots=True)
class Reached:
    """For a function (file, first line) the tests that enter it; for a test its seconds."""

    tests: Mapping[tuple[str, int], tuple[str, ...]]
    seconds: Mapping[str, float]

    @classmethod
    def read(cls, folder: Path) -> Reached:
        tests, seconds = defaultdict(list), {}
        for path in sorted(folder.glob("*.json")):
            kept = json.loads(path.read_text(encoding="utf-8"))
            for test, (spent, entered) in kept["tests"].items():
                seconds[test] = spent
                for number in entered:
                    tests[tuple(kept["functions"][number])].append(test)
        return cls({where: tuple(those) for where, those in tests.items()}, seconds)

    def tests_of(self, mutant: Mutant, near: Mapping[str, int]) -> tuple[str, ...]:
        """The nearest files first, and of these the cheapest tests: the test that kills a mutant is usually among the
        first."""

        def order(test: str) -> tuple[int, float, str]:
            place = near.get(test.split("::")[0], 99)
            return 0 if place < 8 else 1 if place < 99 else 2, self.seconds[test], test

        those = set(self.tests.get((mutant.file, mutant.function), ()))
        return tuple(sorted((one for one in those if not one.startswith(NOT_RUN)), key=order))


class Server:
    """A pytest plugin: instead of running the tests, it runs for each mutant those that reach it, in a fork."""

    def __init__(
        self, mutants: Sequence[Mutant], reached: Reached, results: Path, limit: float, near: bool = False
    ) -> None:
        self._near = near
        self._mutants = mutants
        self._reached = reached
        self._results = results
        self._limit = limit
        self._trusted: dict[str, bool] = {}
        self._pipe = -1

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        gc.collect()
        gc.freeze()
        for mutant in self._mutants:
            row = self._judged(mutant, items)
            with self._results.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
        return True

    def _judged(self, mutant: Mutant, items: Mapping[str, pytest.Item]) -> dict[str, Any]:
        files = {file: place for place, file in enumerate(quick.chosen([mutant.file]))}
        names = [name for name in self._reached.tests_of(mutant, files) if name in items]
        if self._near:
            names = [name for name in names if name.split("::")[0] in files]
            names.sort(key=lambda name: files[name.split("::")[0]])
        row: dict[str, Any] = {"number": mutant.number, "tests": len(names), "limit": self._limit}
        budget, cut = self._limit, []
        for name in names:
            budget -= self._reached.seconds[name]
            if budget > 0:
                cut.append(name)
        row |= {"run": len(cut), "result": "survived" if names else "unreached"}
        while cut:
            failed, how = self._forked(mutant.number, [items[name] for name in cut])
            if failed is None:
                break
            if failed not in self._trusted:
                self._trusted[failed] = self._forked(0, [items[failed]])[0] is None
            # Twice with the mutant and never without it: a flaky test kills no mutant.
            if self._trusted[failed] and self._forked(mutant.number, [items[failed]])[0] is not None:
                return row | {"result": "killed", "by": failed, "how": how}
            cut = cut[cut.index(failed) + 1 :]
        return row

    def _forked(self, number: int, items: Sequence[pytest.Item]) -> tuple[str | None, str]:
        """The first test that fails with this mutant, and its failure."""
        read, self._pipe = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            self._in_child(number, items)
        os.close(self._pipe)
        with os.fdopen(read, "r", encoding="utf-8") as said:
            begun = said.read().splitlines()
        _, status = os.waitpid(child, 0)
        try:
            os.killpg(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if begun and begun[-1] == "passed":
            return None, ""
        timed_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF)
        how = "timeout" if timed_out else "failed"
        return (begun[-1] if begun else items[0].nodeid), how

    def _in_child(self, number: int, items: Sequence[pytest.Item]) -> None:
        os.setsid()
        # Child processes of a test inherit the pipe, unless it is closed for them.
        os.set_inheritable(self._pipe, False)
        builtins.EKSDOC_MUTANT = number  # type: ignore[attr-defined]
        os.environ["EKSDOC_MUTANT"] = str(number)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            for item, following in zip(items, [*items[1:], None], strict=True):
                os.write(self._pipe, f"{item.nodeid}\n".encode())
                # CPU time, as other processes may be busy; and wall-clock time, for tests that only wait.
                signal.signal(signal.SIGPROF, signal.SIG_DFL)
                signal.setitimer(signal.ITIMER_PROF, 10 + 10 * self._reached.seconds[item.nodeid])
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(300)
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            os.write(self._pipe, b"passed\n")
        finally:
            os._exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(1)
