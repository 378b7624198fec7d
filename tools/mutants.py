"""Measures the tests: how many small faults (mutants), planted into the pure packages, make them fail?

    python -m tools.mutants sample --count 160 --to out/sample.json     draws them, with a fixed seed
    EKSDOC_REACH=out/reach python -m pytest -p tools.reach -m "not long" -n 2
    python -m tools.mutants run out/sample.json out/reach out/results   stopped and started again, it goes on
    python -m tools.mutants report out/sample.json out/results

All mutants are written into one copy of the checkout, each behind a condition on its number. A process imports and
collects the tests once and then forks for each mutant; the fork runs the tests that enter the mutated function, the
cheapest first, until one fails. A failing test counts only if it passes without the mutant. `run` needs the reach of
`tools.reach`, and the same Python. With --quick it runs what `make quick` would, had only the mutated file changed.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import copy
import gc
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tools import quick

ROOT = Path(__file__).resolve().parents[1]
PURE = ("kubectl_eksdoc/core",)
NOT_RUN = ("tests/contracts/", "tests/plugins/", "tests/krew/")
"""Tests that look at the source itself: in a copy with mutants they say nothing."""

_SWAPPED: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """`function`: the first line of the innermost function around it. Columns count bytes, as in `ast`."""

    number: int
    file: str
    function: int
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    new: str
    """The expression in its place; empty for a statement that is left out."""


def mutants_of(path: Path, root: Path = ROOT) -> Iterator[Mutant]:
    """Every mutant of one file: one operator, number, truth value, condition or statement inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = str(path.relative_to(root))
    for node in ast.iter_child_nodes(tree):
        yield from _inside(node, file, 0)


def _inside(node: ast.AST, file: str, function: int) -> Iterator[Mutant]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        for statement in node.body:
            yield from _inside(statement, file, first)
        return
    if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr | ast.pattern | ast.AnnAssign | ast.Import):
        return  # no behaviour, wording, or no place where an expression can be swapped
    if function:
        for kind, new in _changes(node):
            assert isinstance(node, ast.expr | ast.stmt)
            place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            yield Mutant(0, file, function, *place, kind, new)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            for condition in child.ifs:
                place = (
                    condition.lineno,
                    condition.col_offset,
                    condition.end_lineno or 0,
                    condition.end_col_offset or 0,
                )
                if function:
                    yield Mutant(0, file, function, *place, "filter", "True")
        yield from _inside(child, file, function)


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    changed = copy.deepcopy(node)
    if isinstance(changed, ast.Compare) and len(changed.ops) == 1 and type(changed.ops[0]) in _SWAPPED:
        changed.ops = [_SWAPPED[type(changed.ops[0])]()]  # type: ignore[list-item]
        yield "comparison", ast.unparse(changed)
    elif isinstance(changed, ast.BoolOp):
        changed.op = _SWAPPED[type(changed.op)]()  # type: ignore[assignment]
        yield "and-or", ast.unparse(changed)
    elif isinstance(changed, ast.BinOp) and type(changed.op) in _SWAPPED:
        changed.op = _SWAPPED[type(changed.op)]()  # type: ignore[assignment]
        yield "arithmetic", ast.unparse(changed)
    elif isinstance(changed, ast.UnaryOp) and isinstance(changed.op, ast.Not):
        yield "not", f"bool({ast.unparse(changed.operand)})"
    elif isinstance(changed, ast.Call) and isinstance(changed.func, ast.Name) and changed.func.id in _CALLED:
        changed.func.id = _CALLED[changed.func.id]
        yield "call", ast.unparse(changed)
    elif isinstance(changed, ast.Constant) and isinstance(changed.value, bool):
        yield "truth", str(not changed.value)
    elif isinstance(changed, ast.Constant) and isinstance(changed.value, int):
        yield "number", str(changed.value + 1)
    elif isinstance(changed, ast.IfExp):
        changed.body, changed.orelse = changed.orelse, changed.body
        yield "if-else", ast.unparse(changed)
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or isinstance(node, ast.AugAssign):
        yield "left-out", ""


def drawn(files: Iterable[Path], count: int, seed: int, root: Path = ROOT) -> tuple[Mutant, ...]:
    """`count` mutants, each as likely as any other; none lies inside another of the same file."""
    every = [mutant for path in files for mutant in mutants_of(path, root)]
    random.Random(seed).shuffle(every)
    chosen: list[Mutant] = []
    for mutant in every:
        if len(chosen) < count and not any(_overlap(mutant, other) for other in chosen):
            chosen.append(mutant)
    return tuple(replace(mutant, number=number) for number, mutant in enumerate(chosen, 1))


def _overlap(one: Mutant, other: Mutant) -> bool:
    return one.file == other.file and not (
        (one.end_line, one.end_column) <= (other.line, other.column)
        or (other.end_line, other.end_column) <= (one.line, one.column)
    )


def planted(text: str, mutants: Iterable[Mutant]) -> str:
    """`text` with `mutants`; lines stay where they are."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for one in sorted(mutants, key=lambda mutant: (mutant.line, mutant.column), reverse=True):
        first, last = lines[one.line - 1 : one.line], lines[one.line - 1 : one.end_line]
        before, whole = first[0][: one.column], b"".join(last)
        length = len(whole) - len(last[-1]) + one.end_column
        original, after = whole[one.column : length], whole[length:]
        if one.kind == "left-out":
            middle = f"if EKSDOC_MUTANT != {one.number}: ".encode() + original
        else:
            middle = f"(({one.new}) if EKSDOC_MUTANT == {one.number} else (".encode() + original + b"))"
        lines[one.line - 1 : one.end_line] = (before + middle + after).splitlines(keepends=True)
    return b"".join(lines).decode()


def copied(mutants: Sequence[Mutant], to: Path, root: Path = ROOT) -> None:
    """The checkout at `root` with `mutants`, none of them active."""
    names = subprocess.run(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"], cwd=root, capture_output=True)
    for name in filter(None, names.stdout.decode().split("\0")):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    by_file = defaultdict(list)
    for mutant in mutants:
        by_file[mutant.file].append(mutant)
    for file, those in by_file.items():
        text = planted((root / file).read_text(encoding="utf-8"), those)
        compile(text, file, "exec")
        (to / file).write_text(text, encoding="utf-8")
    start = to / "kubectl_eksdoc" / "__init__.py"
    # Processes that tests start are told by the environment.
    active = 'import builtins, os; builtins.EKSDOC_MUTANT = int(os.environ.get("EKSDOC_MUTANT", "0"))'
    start.write_text(start.read_text(encoding="utf-8") + f"\n{active}\n", encoding="utf-8")


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

    def tests_of(self, mutant: Mutant) -> tuple[str, ...]:
        """The cheapest first."""
        those = set(self.tests.get((mutant.file, mutant.function), ()))
        return tuple(
            sorted((one for one in those if not one.startswith(NOT_RUN)), key=lambda one: (self.seconds[one], one))
        )


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
        names = [name for name in self._reached.tests_of(mutant) if name in items]
        if self._near:
            files = {file: place for place, file in enumerate(quick.chosen([mutant.file]))}
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
            # Twice with the mutant and never without it: a test that fails now and then kills nothing.
            if self._trusted[failed] and self._forked(mutant.number, [items[failed]])[0] is not None:
                return row | {"result": "killed", "by": failed, "how": how}
            cut = cut[cut.index(failed) + 1 :]
        return row

    def _forked(self, number: int, items: Sequence[pytest.Item]) -> tuple[str | None, str]:
        """The first test that fails with this mutant, and how."""
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
        # Those that a test starts have the pipe too, unless it is closed for them.
        os.set_inheritable(self._pipe, False)
        builtins.EKSDOC_MUTANT = number  # type: ignore[attr-defined]
        os.environ["EKSDOC_MUTANT"] = str(number)
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        try:
            for item, following in zip(items, [*items[1:], None], strict=True):
                os.write(self._pipe, f"{item.nodeid}\n".encode())
                # Of CPU, as other processes may be busy; and for what only waits, of the clock.
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


def run(sample: Path, reach: Path, results: Path, jobs: int, limit: float, root: Path, near: bool) -> int:
    """Judges what is not judged yet; each process appends to a file of its own in `results`."""
    results.mkdir(parents=True, exist_ok=True)
    mutants = read_sample(sample)
    done = {
        number for number, row in read_results(results).items() if row["run"] == row["tests"] or limit <= row["limit"]
    }
    done |= {number for number, row in read_results(results).items() if row["result"] == "killed"}
    left = [mutant for mutant in mutants if mutant.number not in done]
    with tempfile.TemporaryDirectory(prefix="eksdoc-mutants-") as folder:
        tree = Path(folder)
        copied(mutants, tree, root)
        for tool in ("mutants.py", "quick.py"):
            shutil.copy2(Path(__file__).with_name(tool), tree / "tools" / tool)
        env = {**os.environ, "PYTHONPATH": folder, "EKSDOC_MUTANT": "0"}
        shares = [[str(mutant.number) for mutant in left[at::jobs]] for at in range(jobs)]
        where = [str(path.resolve()) for path in (sample, reach)]
        serving = [
            subprocess.Popen(
                [sys.executable, "-m", "tools.mutants", "serve", *where]
                + [str((results / f"{at}.jsonl").resolve()), str(limit), ",".join(share)]
                + ["--quick"] * near,
                cwd=tree,
                env=env,
            )
            for at, share in enumerate(shares)
            if share
        ]
        return max((server.wait() for server in serving), default=0)


def serve(sample: Path, reach: Path, result: Path, limit: float, numbers: frozenset[int], near: bool) -> int:
    mutants = [mutant for mutant in read_sample(sample) if mutant.number in numbers]
    plugin = Server(mutants, Reached.read(reach), result, limit, near)
    return int(pytest.main(["-q", "-m", "not long", "-p", "no:cacheprovider", "-p", "no:xdist"], plugins=[plugin]))


def read_sample(path: Path) -> tuple[Mutant, ...]:
    return tuple(Mutant(**row) for row in json.loads(path.read_text(encoding="utf-8")))


def read_results(folder: Path) -> dict[int, dict[str, Any]]:
    rows = [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]
    return {row["number"]: row for row in sorted(rows, key=lambda row: (row["result"] == "killed", row["run"]))}


def report(sample: Path, results: Path) -> int:
    rows = read_results(results)
    counts = Counter(row["result"] for row in rows.values())
    print(", ".join(f"{count} {result}" for result, count in sorted(counts.items())), "of", len(read_sample(sample)))
    for mutant in read_sample(sample):
        row = rows.get(mutant.number)
        if row is None or row["result"] != "killed":
            of = "not run yet" if row is None else f"{row['result']}, {row['run']} of {row['tests']} tests run"
            print(f"{mutant.number}: {mutant.file}:{mutant.line} {mutant.kind} -> {mutant.new or 'left out'} ({of})")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    sampling = commands.add_parser("sample")
    sampling.add_argument("files", nargs="*", type=Path, help=f"default: all of {', '.join(PURE)}")
    sampling.add_argument("--count", type=int, default=160)
    sampling.add_argument("--seed", type=int, default=1)
    sampling.add_argument("--to", type=Path, required=True)
    running = commands.add_parser("run")
    serving = commands.add_parser("serve")
    reporting = commands.add_parser("report")
    for one in (running, serving, reporting):
        one.add_argument("sample", type=Path)
    for one in (running, serving):
        one.add_argument("reach", type=Path)
        one.add_argument("--quick", action="store_true", help="only the tests of make quick")
    for one in (running, serving, reporting):
        one.add_argument("results", type=Path)
    running.add_argument("--jobs", type=int, default=2)
    running.add_argument("--limit", type=float, default=1e9, help="seconds of tests for one mutant")
    running.add_argument("--root", type=Path, default=ROOT, help="the checkout whose tests are measured")
    serving.add_argument("limit", type=float)
    serving.add_argument("numbers")
    args = parser.parse_args()
    if args.command == "sample":
        files = [path.resolve() for path in args.files] or sorted(
            path for folder in PURE for path in (ROOT / folder).rglob("*.py")
        )
        chosen = drawn(files, args.count, args.seed)
        args.to.parent.mkdir(parents=True, exist_ok=True)
        args.to.write_text(json.dumps([asdict(mutant) for mutant in chosen], indent=1), encoding="utf-8")
        return 0
    if args.command == "run":
        return run(args.sample, args.reach, args.results, args.jobs, args.limit, args.root.resolve(), args.quick)
    if args.command == "serve":
        numbers = frozenset(int(number) for number in args.numbers.split(","))
        return serve(args.sample, args.reach, args.results, args.limit, numbers, args.quick)
    return report(args.sample, args.results)


if __name__ == "__main__":
    sys.exit(main())
