"""Finding codes and their texts: the package uses only codes that have a record, and a rule uses each record."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from kubectl_eksdoc.check.checking import Area, Gate
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Severity, Status, When
from kubectl_eksdoc.model.kinds import CheckNeed
from tests.contracts.source import PACKAGE, files, name, text

MAKER = PACKAGE / "model" / "findings.py"
OTHERS = frozenset({"severity", "remedy", "root_cause"})
"""Keyword arguments of `Finding.of` that are not values of its texts."""


@cache
def _of(path: Path) -> tuple[ast.FunctionDef | ast.Call, ...]:
    return tuple(node for node in ast.walk(ast.parse(text(path))) if isinstance(node, (ast.FunctionDef, ast.Call)))


@cache
def functions_and_calls() -> tuple[tuple[str, ast.FunctionDef | ast.Call], ...]:
    """The functions and calls of the package, with their places."""
    return tuple(
        (f"{name(path)} line {node.lineno}", node)
        for path in files(PACKAGE)
        if path != MAKER
        and re.search(
            r"CodeName|Code\.|Finding\.of|Remedy\.of|clause\(|ClauseName|_finding\(|unread_lists\(|UpgradeCheck",
            text(path),
        )
        for node in _of(path)
    )


def _last_name(call: ast.Call) -> str:
    """The last part of the name of the called function: ``of`` for ``Finding.of``, "" for a call without a name."""
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


@cache
def calls_by_function() -> Mapping[str, list[tuple[str, ast.Call]]]:
    found: dict[str, list[tuple[str, ast.Call]]] = {}
    for at, node in functions_and_calls():
        if isinstance(node, ast.Call) and _last_name(node):
            found.setdefault(ast.unparse(node.func), []).append((at, node))
    return found


def calls(function: str) -> Sequence[tuple[str, ast.Call]]:
    return calls_by_function().get(function, ())


@cache
def asked(
    maker: str = "Finding.of", kind: str = "TextName", passed: str = "text"
) -> tuple[tuple[str, ast.Call, tuple[str, ...], frozenset[str]], ...]:
    """Calls of `maker`, and of functions with such a `kind` that pass it on, such as ``link.fails``: their places, the
    texts that they use, and the names of their arguments or values, apart from the values of the texts. An argument in
    `passed` has that name."""
    found = [(at, call, named(call), OTHERS) for at, call in calls(maker) if ast.unparse(call.args[0]) != passed]
    makers: dict[tuple[str, bool, str], tuple[int, frozenset[str]]] = {}
    for at, node in functions_and_calls():
        if isinstance(node, ast.FunctionDef):
            every = [each for each in (*node.args.args, *node.args.kwonlyargs) if each.arg != "self"]
            kinds = [ast.unparse(each.annotation) if each.annotation else "" for each in every]
            if kind in kinds:
                key = _place(at, node.name), node.args.args[0].arg == "self", node.name
                makers[key] = kinds.index(kind), frozenset(each.arg for each in every)
                handed = {every[kinds.index(kind)].arg} & {
                    each.id for each in ast.walk(node) if isinstance(each, ast.Name)
                }
                assert handed == {passed}, f"{at}: each of them hands it on"
    functions = {function for _, _, function in makers}
    asking = [each for each in files(PACKAGE) if any(f"{function}(" in text(each) for function in functions)]
    for path, call in ((each, node) for each in asking for node in _of(each)):
        if isinstance(call, ast.Call) and _last_name(call) in functions:
            of, _, function = ast.unparse(call.func).rpartition(".")
            given = makers.get((_place(name(path), function), bool(of), function))
            if given and len(call.args) > given[0] and ast.unparse(call.args[given[0]]) != passed:
                at, names = f"{name(path)} line {call.lineno}", tuple(_named(call.args[given[0]]))
                found.append((at, call, names, given[1]))
    return tuple(found)


def _place(at: str, function: str) -> str:
    """The scope in which a function name is unique: its file, or its package."""
    file = at.split()[0]
    package, _, rest = file.removeprefix("kubectl_eksdoc/").partition("/")
    shown = rest.startswith(("report", "command"))
    return file if function.startswith("_") else f"{package}/{rest}" if shown else package


def of_clauses() -> tuple[tuple[str, ast.Call, tuple[str, ...], frozenset[str]], ...]:
    """As `asked`, for calls of `clause`; a clause that several codes share has no code before the slash."""
    return tuple(
        (at, call, tuple(each if each in clauses() else f"/{each.partition('/')[2]}" for each in names), others)
        for at, call, names, others in asked("clause", "ClauseName", "clause_name")
    )


def named(call: ast.Call) -> tuple[str, ...]:
    """The texts of a call: one, or several with a conditional expression."""
    return tuple(_named(call.args[0]))


def _named(first: ast.expr) -> Iterator[str]:
    if isinstance(first, ast.IfExp):
        yield from (name for part in (first.body, first.orelse) for name in _named(part))
    elif isinstance(first, ast.Constant) and isinstance(first.value, str):
        yield first.value
    elif isinstance(first, ast.JoinedStr):
        parts = (re.escape(each.value) if isinstance(each, ast.Constant) else "[^/]*" for each in first.values)
        yield from filter(re.compile("".join(map(str, parts))).fullmatch, (*texts(), *clauses()))


@cache
def written() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((PACKAGE / "knowledge" / "findings.json").read_text(encoding="utf-8"))
    return found


@cache
def records() -> Mapping[str, Mapping[str, Any]]:
    every = [record for found in written()["areas"].values() for record in found]
    counts = Counter(record["code"] for record in every)
    assert [code for code, count in counts.items() if count > 1] == [], "codes with two records"
    return {record["code"]: record for record in every}


def texts(part: str = "texts") -> dict[str, Mapping[str, Any]]:
    every = ((code, case, each) for code, found in records().items() for case, each in found.get(part, {}).items())
    return {f"{code}/{case}" if case else code: each for code, case, each in every}


def clauses() -> dict[str, Mapping[str, Any]]:
    """The clauses as texts; those that several codes share begin with a slash: ``/name``."""
    every = {**texts("clauses"), **{f"/{each}": told for each, told in written()["clauses"].items()}}
    return {each: {"severity": "", "message": told} for each, told in every.items()}


def takers() -> Mapping[str, int]:
    """Functions that take the name of a code, with the position of that parameter."""
    found = {}
    for _, node in functions_and_calls():
        if isinstance(node, ast.FunctionDef):
            kinds = [ast.unparse(each.annotation) if each.annotation else "" for each in node.args.args]
            if "CodeName" in kinds:
                found["UpgradeCheck.of" if node.name == "of" else node.name] = kinds.index("CodeName")
    return found


def given() -> Iterator[tuple[str, str]]:
    """Names of codes that are passed to functions of `check`, with their places; as keywords those of ``partial(judge,
    code="x")``."""
    for taker, index in (*takers().items(), ("partial", -1)):
        for at, call in calls(taker):
            named = [each.value for each in call.keywords if each.arg == "code"]
            for value in (*call.args[index : index + 1], *named) if index >= 0 else named:
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and "/check/" in at:
                    yield at, value.value


def test_each_code_has_a_record_and_each_record_a_rule() -> None:
    passed_on = [
        at
        for at, call in calls("Code.of")
        if not named(call) and ast.unparse(call.args[0]) not in ("code", "clause_name")
    ]
    assert passed_on == [], "a code stands as it is, or is given to a function that takes its name"
    assert [(at, code) for at, code in given() if code not in records()] == []
    several = {ast.literal_eval(each) for _, call in calls("Code.each") for each in call.args}
    known = several | {code for _, call in calls("Code.of") for code in named(call)} | {code for _, code in given()}
    filled = {text.partition("/")[0] for _, _, names, _ in (*asked(), *of_clauses()) for text in names}
    assert sorted(known - records().keys()) == []
    assert sorted(records().keys() - known - filled) == []


def test_each_text_is_used_and_has_all_of_its_values() -> None:
    assert [fault for at, call, names, others in asked() for fault in faults(at, call, names, texts(), others)] == []
    assert sorted(texts().keys() - {text for _, _, names, _ in asked() for text in names}) == []


def test_each_clause_is_used_and_has_all_of_its_values() -> None:
    every, known = of_clauses(), clauses()
    assert [fault for at, call, names, others in every for fault in faults(at, call, names, known, others)] == []
    assert sorted(known.keys() - {each for _, _, names, _ in every for each in names}) == []


def test_each_shared_remedy_is_used_and_has_all_of_its_values() -> None:
    shared = {each: {"severity": "", "message": "", "remedies": [told]} for each, told in written()["remedies"].items()}
    assert [fault for at, call in calls("Remedy.of") for fault in faults(at, call, named(call), shared)] == []
    assert sorted(shared.keys() - {each for _, call in calls("Remedy.of") for each in named(call)}) == []


def faults(
    at: str,
    call: ast.Call,
    names: tuple[str, ...],
    known: Mapping[str, Mapping[str, Any]],
    others: frozenset[str] = OTHERS,
) -> Iterator[str]:
    given = {each.arg or "" for each in call.keywords}
    if not names or "" in given or not known.keys() >= {*names}:
        yield f"{at}: there is no such text, it is not a literal, or its values are not given by name"
        return
    if others == OTHERS and any(("severity" in known[each]) is ("severity" in given) for each in names):
        yield f"{at}: its severity is in the record or is given, one of both"
    if (wanted := {field for each in names for field in fields(known[each])} - others) != given - others:
        yield f"{at}: its texts have {sorted(wanted)}, and it is given {sorted(given - others)}"


def fields(record: Mapping[str, Any]) -> Iterator[str]:
    remedies = record.get("remedies", [])
    parts = [record["message"], record.get("missing", "")]
    for part in (*parts, *(each.get(key, "") for each in remedies for key in ("text", "command"))):
        for _, field, inside, _ in Formatter().parse(part):
            yield from (field, *fields({"message": inside})) if field else ()
    yield from (each[key] for each in remedies for key in ("if", "unless") if key in each)


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ('Finding.of("a", s)', "its texts have ['count'], and it is given []"),
        ('Finding.of("b", s, count=1)', "no such text"),
        ('Finding.of("a", s, severity=x, count=1)', "one of both"),
    ],
)
def test_faults_are_seen(call: str, fault: str) -> None:
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    found = list(faults("here", node, named(node), {"a": {"severity": "low", "message": "{count} of them"}}))
    assert (fault in found[0]) if fault else found == []


def test_a_value_inside_another_and_one_that_a_remedy_depends_on_are_values() -> None:
    record = {"message": "{a:x {b}|}", "remedies": [{"text": "y", "if": "c"}, {"text": "z", "unless": "d"}]}
    assert sorted(fields(record)) == ["a", "b", "c", "d"]


RESOURCES = {each.full_name for each in vars(kinds).values() if isinstance(each, kinds.Resource)}
KEYS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "record": (
        frozenset({"code", "title", "about"}),
        frozenset({"needs", "area", "gate", "asks", "brief", "update", "texts", "clauses"}),
    ),
    "text": (frozenset({"status", "message"}), frozenset({"severity", "missing", "remedies"})),
    "remedy": (frozenset({"text"}), frozenset({"command", "when", "if", "unless"})),
}
"""The required keys, and the optional keys."""
WORDS = {
    "area": {each.value for each in Area} | {"disruption"},
    "gate": {each.value for each in Gate},
    "asks": {each.value for each in CheckNeed},
    "update": {"stops", "may-stop", "evicts"},
    "needs": RESOURCES,
    "severity": {each.value for each in Severity},
    "status": {each.value for each in Status},
    "when": {each.value for each in When},
}


TYPES = {"needs": list, "asks": list, "remedies": list, "texts": dict, "clauses": dict}
"""All other keys are texts."""


def misspelled(record: Mapping[str, Any], kind: str = "record") -> Iterator[str]:
    """Keys that `Finding.of` and `Code.of` would ignore, or report only at run time."""
    required, may = KEYS[kind]
    yield from (f"its {kind} has no {key}" for key in sorted(required - record.keys()))
    yield from (f"its {kind} has {key}, which nothing reads" for key in sorted(record.keys() - required - may))
    for key in record.keys() & (required | may):
        wanted = TYPES.get(key, str)
        if not isinstance(record[key], wanted):
            yield f"{key}: {record[key]!r} is no {wanted.__name__}"
            return
        if wanted is str and not record[key].strip():
            yield f"{key} is empty"
    if kind == "record" and not re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", record.get("code", "")):
        yield "a code is small letters and digits, joined by -"
    for key in WORDS.keys() & record.keys():
        told = record[key] if isinstance(record[key], list) else [record[key]]
        yield from (f"{key}: there is no {each}" for each in told if each not in WORDS[key])
    for each in record.get("texts", {}).values():
        yield from misspelled(each, "text")
    for each in record.get("remedies", ()):
        yield from misspelled(each, "remedy")
    if kind == "text" and (record.get("status") == "unknown") is not bool(record.get("missing")):
        yield "what is unknown says what is missing, and nothing else does"
    said = (*(record.get(key, "") for key in ("message", "text")), *record.get("clauses", {}).values())
    parts = [field for each in said for field in Formatter().parse(each)]
    yield from (
        f"{field}: # and one word only" for _, field, more, _ in parts if more and "#" in more and "|" not in more
    )
    yield from (f"{field}: more than two alternatives" for _, field, more, _ in parts if _alternatives(more or "") > 2)


def _alternatives(more: str) -> int:
    """The parts between | outside of braces."""
    outer = re.sub(r"\{[^{}]*\}", "", more)
    return _alternatives(outer) if outer != more else more.count("|") + 1


def test_each_record_is_whole() -> None:
    assert [(code, fault) for code, record in records().items() for fault in misspelled(record)] == []
    assert [each for told in written()["remedies"].values() for each in misspelled(told, "remedy")] == []


def test_each_remedy_is_a_sentence() -> None:
    """It may end with a value that is copied, or with the address of a command; each alternative ends it."""
    own = (each for text in texts().values() for each in text.get("remedies", ()))
    told = [each["text"] for each in (*own, *written()["remedies"].values())]
    assert [each for each in told if not re.fullmatch(r"(?=[A-Z{\"-]).*(?:[.:?|]\}*|\{\w+\}|api/token)", each)] == []


def test_what_is_not_known_reads_as_a_sentence() -> None:
    """For example: how old a kubelet is is not known."""
    assert [name for name, each in clauses().items() if re.search(r"\b(is|are),?$", each["message"])] == []


def test_no_two_codes_have_the_same_title() -> None:
    counts = Counter(record["title"] for record in records().values())
    assert [title for title, count in counts.items() if count > 1] == []


def test_each_check_and_no_other_code_has_an_area() -> None:
    areas = written()["areas"]
    assert [each["code"] for each in areas["check"] if "area" not in each] == []
    assert [each["code"] for area in areas if area != "check" for each in areas[area] if "area" in each] == []


_TEXT = {"severity": "low", "status": "unknown", "message": "{n:# pod|# pods}", "missing": "pods", "remedies": []}


@pytest.mark.parametrize(
    ("record", "text", "remedy", "fault"),
    [
        ({"gat": "after"}, {}, {}, "its record has gat, which nothing reads"),
        ({"gate": "befor-nodes"}, {}, {}, "gate: there is no befor-nodes"),
        ({}, {"status": "pass"}, {}, "what is unknown says what is missing"),
        ({}, {"remedies": {}}, {}, "remedies: {} is no list"),
        ({}, {"message": "{n:# pod}"}, {}, "n: # and one word only"),
        ({}, {"message": "{n:a {m:b|c}|d}"}, {}, ""),
    ],
)
def test_what_is_misspelled_is_seen(record: Any, text: Any, remedy: Any, fault: str) -> None:
    whole = {"": {**_TEXT, "remedies": [{"text": "Wait.", **remedy}], **text}}
    found = list(misspelled({"code": "a", "title": "b", "about": "c", "texts": whole, **record}))
    assert (fault in found[0]) if fault else found == []


_OF_FEATURES = re.compile(r"(addon|dns|imds|interruption|insight|tf)(-[a-z0-9]+)+")
_NO_CODES = frozenset({"addon-diff", "dns-autoscaler"})
"""A command, and a Deployment."""


def compared(module: ast.Module) -> Iterator[str]:
    """Names that codes are compared with, and other texts in the form of the codes of features."""
    constants = {
        target.id: each.value
        for each in module.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _OF_FEATURES.fullmatch(node.value):
            yield node.value
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(".code.name"):
            for of in node.comparators:
                of = constants.get(of.id, of) if isinstance(of, ast.Name) else of
                parts = of.keys if isinstance(of, ast.Dict) else [of]
                within = (each for part in parts if part is not None for each in ast.walk(part))
                yield from (str(each.value) for each in within if isinstance(each, ast.Constant))


def test_a_code_is_compared_with_names_that_have_a_record() -> None:
    """A comparison with another name is never true, so its branch is silently never taken."""
    known = records().keys() | written()["remedies"].keys() | _NO_CODES
    wrong = [
        f"{name(path)}: {each}"
        for path in files(PACKAGE)
        if "code.name" in text(path)
        for each in compared(ast.parse(text(path)))
        if each not in known
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "source",
    ["x.code.name == 'nods'", "x.code.name in ('nods',)", "A = {'nods'}\nx.code.name in A", "'dns-nods' in failing"],
)
def test_a_misspelled_name_is_seen(source: str) -> None:
    (found,) = compared(ast.parse(source))
    assert found in ("nods", "dns-nods")
