"""Mutants: the possible ones of a file, a random sample, and a copy of the checkout with them."""

from __future__ import annotations

import ast
import copy
import random
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PURE = tuple(
    f"kubectl_eksdoc/{name}"
    for name in (
        "addon_diff",
        "amazon",
        "check",
        "coredns_lameduck",
        "drain",
        "imds_probe",
        "interruption",
        "kubernetes",
        "model",
    )
)
"""Packages that decide. Modules in them that touch the world, show or wait (`BESIDE`, files or folders) are left
out."""

BESIDE = frozenset(("apply", "command", "journals", "loop", "printed", "read", "report", "runner"))
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
    """The replacement expression; empty for a removed statement."""


def mutants_of(path: Path, root: Path = ROOT) -> Iterator[Mutant]:
    """Every mutant of one file: one operator, number, boolean, condition or statement inside a function."""
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
        return  # no behaviour, only wording, or no place where an expression can be replaced
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
    """`count` mutants, each with the same probability; none is inside another of the same file."""
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
    """`text` with `mutants`; line numbers do not change."""
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
    # Processes that tests start read it from the environment.
    active = 'import builtins, os; builtins.EKSDOC_MUTANT = int(os.environ.get("EKSDOC_MUTANT", "0"))'
    start.write_text(start.read_text(encoding="utf-8") + f"\n{active}\n", encoding="utf-8")
