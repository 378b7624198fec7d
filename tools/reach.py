"""A pytest plugin that records which functions of the package each test enters, and the CPU time of each test.

Used by `tools.mutants`: ``EKSDOC_REACH=DIR python -m pytest -p tools.reach``. It needs Python 3.12 (sys.monitoring).
Each process writes ``DIR/<pid>.json``: ``functions`` (file and first line), and for each test the indices of the
functions that it entered and its seconds of CPU. A cached function of the tests, a cached property and a fixture of a
wide scope count for every test that uses them; caches of the package are cleared before each test.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar, cast

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = f"{_ROOT}/kubectl_eksdoc/"
_TESTS = f"{_ROOT}/tests/"
_T = TypeVar("_T")
# sys.monitoring is newer than the oldest Python that types are checked for.
_MONITORING: Any = getattr(sys, "monitoring", None)


class Reach:
    """The functions that are entered: a stack of sets, the innermost computation on top."""

    def __init__(self) -> None:
        self.numbers: dict[CodeType, int] = {}
        self.stack: list[set[int]] = [set()]

    def begin(self) -> None:
        tool = _MONITORING.COVERAGE_ID
        _MONITORING.use_tool_id(tool, "eksdoc-reach")
        _MONITORING.register_callback(tool, _MONITORING.events.PY_START, self._entered)
        _MONITORING.set_events(tool, _MONITORING.events.PY_START)

    def _entered(self, code: CodeType, _offset: int) -> object:
        if code.co_filename.startswith(_PACKAGE):
            self.stack[-1].add(self.numbers.setdefault(code, len(self.numbers)))
        return _MONITORING.DISABLE

    @contextmanager
    def recording(self) -> Iterator[set[int]]:
        """The functions that are entered inside, also those that were entered before."""
        self.stack.append(set())
        _MONITORING.restart_events()
        try:
            yield self.stack[-1]
        finally:
            entered = self.stack.pop()
            self.stack[-1] |= entered


_REACH = Reach()
_PACKAGE_CACHES: list[Any] = []


def _recorded_cache(maxsize: Any, typed: bool, function: Callable[..., _T]) -> Any:
    """A cache whose every hit counts the functions that the first call entered."""
    charged: dict[Hashable, set[int]] = {}

    @functools.wraps(function)
    def computed(*args: Any, **named: Any) -> _T:
        with _REACH.recording() as entered:
            answer = function(*args, **named)
        charged[(args, tuple(sorted(named.items())))] = entered
        return answer

    cached = _LRU_CACHE(maxsize, typed)(computed)

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> _T:
        answer = cached(*args, **named)
        _REACH.stack[-1] |= charged.get((args, tuple(sorted(named.items()))), set())
        return cast("_T", answer)

    called.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
    called.cache_info = cached.cache_info  # type: ignore[attr-defined]
    return called


_LRU_CACHE = functools.lru_cache


def _lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    if callable(maxsize):
        return _lru_cache()(maxsize)

    def decorate(function: Callable[..., _T]) -> Any:
        file = function.__code__.co_filename if hasattr(function, "__code__") else ""  # a class has none
        if file.startswith(_TESTS):
            return _recorded_cache(maxsize, typed, function)
        cached = _LRU_CACHE(maxsize, typed)(function)
        if file.startswith(_PACKAGE):
            _PACKAGE_CACHES.append(cached)
        return cached

    return decorate


class _CachedProperty(functools.cached_property):  # type: ignore[type-arg]
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        kept = instance.__dict__.setdefault("__reach__", {})
        if self.attrname not in kept:
            with _REACH.recording() as kept[self.attrname]:
                return super().__get__(instance, owner)
        _REACH.stack[-1] |= kept[self.attrname]
        return super().__get__(instance, owner)

    # A descriptor with __set__ has precedence over the instance's own dict.
    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.attrname] = value


class Plugin:
    """Records each test of this process."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[float, list[int]]] = {}
        self.fixtures: dict[str, set[int]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        with _REACH.recording() as entered:
            answer = yield
        self.fixtures[fixturedef.argname] = self.fixtures.get(fixturedef.argname, set()) | entered
        return answer

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: object) -> Generator[None, Any, Any]:
        for cached in _PACKAGE_CACHES:
            cached.cache_clear()
        began = _cpu()
        with _REACH.recording() as entered:
            answer = yield
        for name in getattr(item, "fixturenames", ()):
            entered |= self.fixtures.get(name, set())
        self.tests[item.nodeid] = (round(_cpu() - began, 4), sorted(entered))
        if not isinstance(nextitem, pytest.Item):  # a process of tests.workers may get no further chunk
            self.pytest_sessionfinish()
        return answer

    def pytest_sessionfinish(self) -> None:
        prefix = len(str(_ROOT)) + 1
        functions = [[code.co_filename[prefix:], code.co_firstlineno] for code in _REACH.numbers]
        where = Path(os.environ["EKSDOC_REACH"])
        where.mkdir(parents=True, exist_ok=True)
        body = json.dumps({"functions": functions, "tests": self.tests}, separators=(",", ":"))
        (where / f"{os.getpid()}.json").write_text(body, encoding="utf-8")


def _cpu() -> float:
    """CPU time of this process and of its children that ended."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def pytest_configure(config: pytest.Config) -> None:
    """Before any module of the tests or of the package is imported."""
    functools.lru_cache = _lru_cache
    functools.cache = lambda function: _lru_cache(None)(function)
    functools.cached_property = _CachedProperty  # type: ignore[misc]
    _REACH.begin()
    config.pluginmanager.register(Plugin())
