"""The texts of findings are in their records: a rule that creates a finding or a remedy passes no sentence for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.contracts.source import PACKAGE, files, name, text

JUDGING = (*("addon_diff", "check", "coredns_lameduck", "drain", "imds_probe", "interruption", "model", "probes"),)
MAKERS = frozenset(
    ("Finding", "Finding.of", "Remedy", "Remedy.of", "link.fails", "of_change", "clause")
    + ("unknown_finding", "unread_lists", "unknown_node_groups", "unknown_result", "unread_finding", "stays_result")
    + ("unknown_link", "filters.scale_remedy")
)
EVIDENCE = 2
"""The third argument of `Finding.of`: the observed value, unchanged. The second one, its subject, is a name."""

_ENGLISH = re.compile(r"[A-Za-z]{2,}[,:;]? |(?<!^) [A-Za-z]{2,}")

_SCOPES = (ast.FunctionDef, ast.ClassDef)


def sentences(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """The function, the line, and the sentence."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.Module)):
            continue
        own = [node for part in function.body if not isinstance(part, _SCOPES) for node in _inside(part)]
        made = {
            target.id: node.value
            for node in own
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in own:
            if isinstance(node, ast.Call) and (maker := ast.unparse(node.func)) in MAKERS:
                given = [each for at, each in enumerate(node.args) if maker != "Finding.of" or at not in (1, EVIDENCE)]
                given = given[:1] if maker == "link.fails" else given
                given += [each.value for each in node.keywords if each.arg not in ("evidence", "root_cause")]
                for value in given:
                    value = made.get(value.id, value) if isinstance(value, ast.Name) else value
                    for said in _texts(value):
                        if _ENGLISH.search(said):
                            yield getattr(function, "name", "the module"), node.lineno, said


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The node with all below it, without nested functions."""
    yield node
    for each in ast.iter_child_nodes(node):
        if not isinstance(each, _SCOPES):
            yield from _inside(each)


def _texts(node: ast.AST) -> Iterator[str]:
    """The expressions that build a text. Results of other functions are checked there; lists may be joined."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in node.values)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        yield from (said for each in node.args for said in _texts(each))
    elif isinstance(node, ast.GeneratorExp):
        yield from _texts(node.elt)
    elif isinstance(node, (ast.IfExp, ast.BoolOp, ast.BinOp, ast.Tuple, ast.List, ast.Starred)):
        parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        yield from (said for each in parts if not isinstance(each, ast.Compare) for said in _texts(each))


def found() -> Iterator[tuple[str, int, str]]:
    for top in JUDGING:
        for path in files(PACKAGE / top):
            shown = {"report", "command"} & {*path.relative_to(PACKAGE).with_suffix("").parts}
            if not shown and re.search(r"Finding|Remedy|_finding\(|unknown_", text(path)):
                yield from ((f"{name(path)}: {at}", line, said) for at, line, said in sentences(ast.parse(text(path))))


def test_no_rule_puts_a_text_together() -> None:
    assert list(found()) == []


@pytest.mark.parametrize(
    ("planted", "so"),
    [
        ('Finding.of("a/b", subject, ("it was seen so",))', False),
        ('Finding.of("a/b", subject, then="it may not start again")', True),
        ('Finding.of("a/b", subject, zone=zone or "zone unknown")', True),
        ('Finding.of("a/b", subject, where="; ".join(f"some lie in {name}" for name in old))', True),
        ('link.fails("a/b", "a line of evidence", rule=rule)', False),
        ('unread_lists(facts, "a", f"which {kind} run", kinds.PODS)', True),
    ],
)
def test_a_text_is_seen(planted: str, so: bool) -> None:
    assert bool(list(sentences(ast.parse(f"def rule():\n    yield {planted}\n")))) is so


def test_a_text_that_was_given_a_name_is_seen() -> None:
    rule = 'def rule():\n    said = f"{name} is gone"\n    return Finding.of("a/b", subject, said=said)\n'
    assert list(sentences(ast.parse(rule))) == [("rule", 3, "… is gone")]
