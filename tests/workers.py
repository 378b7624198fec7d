"""A pytest plugin that runs tests in several processes, which are forked after collection.

    pytest -p tests.workers --workers N

pytest-xdist imports and collects everything once for each worker: ten CPU seconds each here. A fork shares what was
collected. Tests are given out in chunks of neighbours, which become smaller towards the end, so that no worker waits
long for another. Tests that mostly wait for a clock (``@pytest.mark.waits``) are the first chunk of the first worker:
the others keep the cores busy meanwhile, and none of these is left for the end.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

_CHUNKS = 8
"""A chunk is one of so many parts of what is left for one worker."""

_SHORT_S = 0.01
"""A setup or teardown that passed in less is in no list of the slowest."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, metavar="N", help="run tests in N forked processes")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    workers = session.config.getoption("workers")
    if workers < 2 or len(session.items) < 2 or session.config.option.collectonly:
        return None
    if session.testsfailed and not session.config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} error(s) during collection")
    _base(session.config)  # made once, before there are several that could
    Crew(session).run(min(workers, len(session.items)))
    return True


class Worker:
    """A forked worker process, as the parent process sees it."""

    def __init__(self, session: pytest.Session, number: int, others: list[Worker]) -> None:
        self.todo: list[int] = []
        """The tests it was given and has not begun."""
        self.running: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        self.pipe, theirs = Pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self.pipe.close()
            for each in others:  # else the end of another worker could not be seen
                each.pipe.close()
            os._exit(_work(session, number, theirs))
        theirs.close()

    def give(self, chunk: list[int]) -> None:
        self.todo = list(chunk)
        self.pipe.send(chunk)

    def ended(self) -> int:
        """The exit code; a negative one is the signal that killed the process."""
        self.pipe.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Crew:
    """Distribute the tests to the workers, and collect the reports."""

    def __init__(self, session: pytest.Session) -> None:
        self._session, self._hook = session, session.config.hook
        numbers = range(len(session.items))
        self._first = [each for each in numbers if session.items[each].get_closest_marker("waits")]
        self._left = sorted({*numbers} - {*self._first})
        self._workers: list[Worker] = []
        self._numbers = 0

    def run(self, workers: int) -> None:
        try:
            while len(self._workers) < workers:
                self._begin(workers)
            while self._workers:
                ready = wait([each.pipe for each in self._workers])
                for worker in [each for each in self._workers if each.pipe in ready]:
                    self._take(worker, workers)
        finally:
            for worker in self._workers:
                os.kill(worker.pid, 15)
                worker.ended()

    def _begin(self, workers: int) -> None:
        worker = Worker(self._session, self._numbers, self._workers)
        self._numbers += 1
        self._workers.append(worker)
        self._give(worker, workers)

    def _give(self, worker: Worker, workers: int) -> None:
        if self._first:
            chunk, self._first = self._first, []
        else:
            size = max(1, len(self._left) // (workers * _CHUNKS))
            chunk, self._left = self._left[:size], self._left[size:]
        worker.give(chunk)

    def _take(self, worker: Worker, workers: int) -> None:
        try:
            what, value = worker.pipe.recv()
        except EOFError:
            self._lost(worker, workers)
            return
        if what == "begins":
            worker.running = value
            worker.todo.remove(value)
        elif what == "report":
            self._report(self._hook.pytest_report_from_serializable(config=self._session.config, data=value))
        elif what == "warning":
            text, when, nodeid, location = value
            said = warnings.WarningMessage(
                text, Warning, location[0] if location else "", location[1] if location else 0
            )
            told = {"warning_message": said, "when": when, "nodeid": nodeid, "location": location}
            self._hook.pytest_warning_recorded.call_historic(kwargs=told)
        elif what == "finished":
            worker.running = None
            item = self._session.items[value]
            self._hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            self._stop_if_asked()
        else:
            self._give(worker, workers)

    def _report(self, report: pytest.TestReport) -> None:
        self._hook.pytest_runtest_logreport(report=report)

    def _stop_if_asked(self) -> None:
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _lost(self, worker: Worker, workers: int) -> None:
        """A worker ended: as requested, or by a crash, which fails the test that it was running."""
        code = worker.ended()
        self._workers.remove(worker)
        if code == 0 and worker.running is None and not worker.todo:
            return
        item = self._session.items[0 if worker.running is None else worker.running]
        text = f"the worker ended with {code} while this test ran"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
        self._report(report)
        self._left = worker.todo + self._left
        if self._left:
            self._begin(workers)


def _work(session: pytest.Session, number: int, pipe: Connection) -> int:
    """Run the tests in the fork; return its exit code."""
    try:
        _alone(session.config, number)
        reporting = Reporting(session.config, pipe)
        session.config.pluginmanager.register(reporting)
        reporting.begun = True
        items = session.items
        for chunk in _chunks(pipe):
            for here, following in zip(chunk, [*chunk[1:], None], strict=True):
                pipe.send(("begins", here))
                # The session itself as the next "test": what lives as long as the session stays for the next chunk.
                then: Any = session if following is None else items[following]
                session.config.hook.pytest_runtest_protocol(item=items[here], nextitem=then)
                pipe.send(("finished", here))
        session._setupstate.teardown_exact(None)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _chunks(pipe: Connection) -> Iterator[list[int]]:
    """Read chunks until an empty one arrives."""
    while chunk := pipe.recv():
        yield chunk
        pipe.send(("more", None))


def _alone(config: pytest.Config, number: int) -> None:
    """Separate what the fork must not share with others: the files of captured output, the temporary folder, the
    terminal."""
    plugins = config.pluginmanager
    capture = plugins.get_plugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
        capture.start_global_capturing()
    plugins.unregister(name="terminalreporter")
    mine = _base(config) / f"worker-{number}"
    mine.mkdir()
    _temporary(config)._basetemp = mine


def _base(config: pytest.Config) -> Path:
    folder: Path = _temporary(config).getbasetemp()
    return folder


def _temporary(config: pytest.Config) -> Any:
    return config._tmp_path_factory  # type: ignore[attr-defined]


class Reporting:
    """Send the report of each test to the parent process."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config, self._pipe = config, pipe
        self.begun = False
        """Not before: a plugin that is registered is first told all warnings of earlier workers again."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and report.when != "call" and not report.sections and report.duration < _SHORT_S:
            return  # two of three reports, of which nothing is shown
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._pipe.send(("report", data))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: tuple[str, int, str] | None
    ) -> None:
        if not self.begun:
            return
        text = f"{warning_message.category.__name__}: {warning_message.message}"
        self._pipe.send(("warning", (text, when, nodeid, location)))
