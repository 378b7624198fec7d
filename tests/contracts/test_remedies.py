"""Commands in remedies and steps exist: each command, its subcommand and its flags, wherever the package has them.
Those of kubectl, eksctl and helm are listed with their sources; those of awscli come from the models of botocore."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.exceptions import UnknownServiceError
from botocore.validate import ParamValidator

from kubectl_eksdoc.cli.commands import command_parser as command_tree
from kubectl_eksdoc.cli.parser import Parser
from tests.check.command.cached_runs import RICH
from tests.cli.running import run_cli
from tests.contracts.source import PACKAGE, ROOT, files, name, text
from tests.required_programs import KUBECTLS, kubectl_of
from tools.record_flags import PLUGINS, flags_of, version_of
from tools.same_answers import OF_THE_DEMO

Words = Sequence[str | None]
"""None: an unknown word before run time, or several words."""

LISTED: Mapping[str, Any] = json.loads((ROOT / "tests" / "data" / "commands.json").read_text(encoding="utf-8"))
MAKERS = {"shell", "kubectl", "aws_command", "eks_command"}
"""Functions that build a command from words."""
AWS_GLOBALS = {"--region", "--profile", "--query", "--output", "--cli-input-json", "--cli-input-yaml", "--no-cli-pager"}


RENAMED = "--kubernetes-version"
OF_VERSIONS = {f"eks {verb}" for verb in ("create-cluster", "update-cluster-version", "create-nodegroup")} | {
    "eks update-nodegroup-version"
}
"""The names that awscli gives to the API's member `version` (awscli customizations/argrename.py)."""


OWN = {"eks update-kubeconfig", "eks get-token", "sso login"}
"""Commands of awscli that are not operations of the API (awscli customizations/eks, sso)."""


def faults(words: Words, printed: bool = False) -> Iterator[str]:
    """The errors of a command, a clause for each. `printed`: the command is complete and can be run."""
    program, rest = words[0], words[1:]
    if program == "aws":
        yield from _of_aws(rest, printed)
    elif program == "kubectl" and rest and rest[0] == "eksdoc":
        yield from of_ours(rest[1:])
    elif program in LISTED and rest and rest[0] is not None:
        listed = LISTED[program]
        known = listed["commands"]
        found = next((n for n in (2, 1) if " ".join(map(str, rest[:n])) in known), 0)
        if not found:
            yield f"{program} has no {' '.join(map(str, rest[:2]))}"
        else:
            flags = known[" ".join(map(str, rest[:found]))] | listed.get("options", {})
            yield from _strange(rest[found:], flags)
            yield from _misfits(rest[found:], flags) if printed else ()


def _strange(words: Words, flags: Collection[str]) -> Iterator[str]:
    for word in words:
        flag = (word or "").partition("=")[0]
        if flag == "--":
            return
        if re.match(r"--?[a-zA-Z]", flag) and flag not in flags:
            yield f"there is no flag {flag}"


_KINDS = {"bool": "true|false", "int": r"-?\d+", "duration": r"(\d+(\.\d+)?(h|ms|m|s))+", "text": "(?!-).*|-"}


def _misfits(words: Words, kinds: Mapping[str, str]) -> Iterator[str]:
    """Flags whose value is of another kind. A bool, and a flag that may stand alone, takes a value only after =."""
    for at, word in enumerate(words):
        flag, equals, joined = (word or "").partition("=")
        if flag == "--":
            return
        kind = kinds.get(flag, "optional")
        follows = words[at + 1] if at + 1 < len(words) else "-missing"
        value = joined if equals else follows
        if kind == "optional" or (kind == "bool" and not equals) or value is None:
            continue
        if not re.fullmatch(_KINDS[kind], value, re.DOTALL) and not _NAMED_BY_A_USER.match(value):
            yield f"{flag}: {value} is no {kind}"


@cache
def parsers() -> Mapping[str, Parser]:
    def below(parser: Parser, path: tuple[str, ...]) -> Iterator[tuple[str, Parser]]:
        yield " ".join(path), parser
        for word, under in (parser.command_parsers() or {}).items():
            yield from below(under, (*path, word))

    return dict(below(command_tree(), ()))


def of_ours(words: Words) -> Iterator[str]:
    if not words or words[0] is None:
        return
    path = next((n for n in (3, 2, 1, 0) if " ".join(map(str, words[:n])) in parsers()), 0)
    if not path and not words[0].startswith("-"):
        yield f"there is no kubectl eksdoc {words[0]}"
        return
    flags = {each for flag in parsers()[" ".join(map(str, words[:path]))].flags() for each in flag.option_strings}
    yield from _strange(words[path:], flags)


@cache
def _session() -> Any:
    return botocore.session.get_session()


@cache
def _operations(service: str) -> Mapping[str, frozenset[str]]:
    model = _session().get_service_model(service)
    shapes = {each: model.operation_model(each).input_shape for each in model.operation_names}
    return {
        xform_name(each, "-"): frozenset(f"--{xform_name(one, '-')}" for one in (shape.members if shape else ()))
        for each, shape in shapes.items()
    }


def _of_aws(words: Words, printed: bool) -> Iterator[str]:
    if len(words) < 2 or words[0] is None or words[1] is None:
        return
    service, verb, *rest = words
    if f"{service} {verb}" in OWN:
        return
    try:
        operations = _operations(service)
    except UnknownServiceError:
        yield f"aws has no {service}"
        return
    if verb == "wait":
        waiters = _session().get_waiter_model(service).waiter_names
        asked = {xform_name(each, "-"): each for each in waiters}
        if rest[0] not in asked:
            yield f"aws {service} cannot wait for {rest[0]}"
            return
        waited = _session().get_waiter_model(service).get_waiter(asked[rest[0]]).operation
        verb, rest = xform_name(waited, "-"), rest[1:]
    if verb not in operations:
        yield f"aws {service} has no {verb}"
        return
    renamed = {RENAMED} if f"{service} {verb}" in OF_VERSIONS else set()
    yield from _strange(rest, {*operations[verb], *AWS_GLOBALS, *renamed})
    yield from _values(service, verb, rest, printed)


def _values(service: str, verb: str, rest: Words, printed: bool) -> Iterator[str]:
    """The parameters of the API's model: the required ones, and the type of each value."""
    model = _session().get_service_model(service)
    (operation,) = (each for each in model.operation_names if xform_name(each, "-") == verb)
    shape = model.operation_model(operation).input_shape
    members = {f"--{xform_name(each, '-')}": each for each in (shape.members if shape else ())}
    if f"{service} {verb}" in OF_VERSIONS:
        members[RENAMED] = members.pop("--version", "version")
    given = {(word or "").partition("=")[0] for word in rest}
    whole = printed and not given & {"--cli-input-json", "--cli-input-yaml"}
    for flag, member in members.items() if whole else ():
        if member in shape.required_members and flag not in given:
            yield f"{flag} is required"
    for at, word in enumerate(rest if printed else ()):
        flag, equals, joined = (word or "").partition("=")
        follows = rest[at + 1] if at + 1 < len(rest) else ""
        value = joined if equals else follows
        if flag in members and value is not None:
            yield from _unfit(flag, value, shape.members[members[flag]])


_NAMED_BY_A_USER = re.compile(r"[A-Z][A-Z-]+\Z|\{")
"""A placeholder that a template fills in."""


def _unfit(flag: str, value: str, shape: Any) -> Iterator[str]:
    """Shorthand (``key=value``) is specific to awscli; the API takes JSON."""
    if value[:1] in "{[" and shape.type_name in ("structure", "list", "map") and not value.startswith("{x}"):
        try:
            told = json.loads(value)
        except ValueError:
            yield f"{flag}: {value} is no JSON"
            return
        report = ParamValidator().validate(told, shape)
        if report.has_errors():
            yield f"{flag}: {report.generate_report()}"
    elif shape.type_name == "string" and shape.enum and value not in shape.enum and not value.startswith("{"):
        yield f"{flag}: {value} is none of {', '.join(shape.enum)}"
    elif shape.type_name in ("integer", "long") and not value.isdigit() and not _NAMED_BY_A_USER.match(value):
        yield f"{flag}: {value} is no number"


# Places in the package that have commands.


def _word(node: ast.expr) -> list[str | None]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        first = node.values[0] if node.values else None
        begin = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        return [begin if begin.startswith("-") and "=" in begin else None]
    return [None]


def _maker(call: ast.Call) -> str:
    """``shell``, also of ``commands.shell``."""
    of = call.func
    return of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""


def _made(call: ast.Call) -> Words | None:
    """The words that are passed to a maker."""
    maker = _maker(call)
    words = [word for arg in call.args for word in _word(arg)]
    if maker.endswith("shell"):
        return words if words and words[0] in ("kubectl", "aws", "eksctl", "helm") else None
    if maker.endswith("kubectl"):
        return None if words[0] is None else ["kubectl", *words[0].split(), *words[1:]]
    if maker == "aws_command":
        return ["aws", *words[1:]]
    if words[1:] and words[1] is not None:
        return ["aws", "eks", *words[1].split(), *words[2:]]
    return None


@cache
def written() -> tuple[tuple[str, Words], ...]:
    """The commands in calls of the package, and in texts of its strings and records."""
    found: list[tuple[str, Words]] = []
    for path in files(PACKAGE):
        if not re.search(r"kubectl|aws|eksctl|helm|nodeadm|terraform|eks_command\(", text(path)):
            continue
        of = name(path)
        for node in ast.walk(ast.parse(text(path))):
            every: Iterable[Words] = ()
            if isinstance(node, ast.Call) and _maker(node) in MAKERS and node.args:
                made = _made(node)
                every = [made] if made else []
            elif said := _said(node):
                every = in_prose(said)
            found += [(f"{of} line {getattr(node, 'lineno', 0)}", words) for words in every]
    for at, said in _records():
        found += [(at, words) for words in in_prose(said)]
    return tuple(found)


def _said(node: ast.AST) -> str:
    """Values that are filled in are shown as a name in braces."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_said(each) if isinstance(each, ast.Constant) else "{x}" for each in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _records() -> Iterator[tuple[str, str]]:
    for path in sorted((PACKAGE / "knowledge").glob("*.json")):
        for said in _texts(json.loads(path.read_text(encoding="utf-8"))):
            yield path.name, said


def _texts(told: object) -> Iterator[str]:
    if isinstance(told, str):
        yield told
    elif isinstance(told, dict):
        for key, each in told.items():
            yield from _texts(each) if key not in ("about", "source") else ()
    elif isinstance(told, list):
        for each in told:
            yield from _texts(each)


_COMMAND = re.compile(
    r"(?<![\w/.-])(kubectl|aws|eksctl|helm|nodeadm|terraform) ((?:[a-z][\w-]*|--?[a-z][\w-]*(?:=\S*)?|…|\{\w+\}| )+)"
)


NO_COMMAND = {"needs", "that", "made", "would", "have"}
"""Words that follow the name of the tool in a sentence."""


def in_prose(said: str) -> Iterator[Words]:
    """Commands in a sentence: the program and the words after it, up to the first character that cannot be in a
    word."""
    for program, rest in _COMMAND.findall(said):
        words = [each.partition("{")[0] or None for each in rest.split()]
        if words[0] is None or (rest.split()[1:2] and rest.split()[1] in NO_COMMAND):
            continue
        if program == "kubectl" and words[0] == "eksdoc" and len(words) > 1:
            yield [program, *words]
        elif program == "aws" and words[0] in _services() and len(words) > 1:
            yield [program, *words[:2], *(each for each in words[2:] if each and each.startswith("-"))]
        elif program in ("kubectl", "eksctl", "nodeadm", "terraform") and words[0] in _verbs(program):
            yield [program, *words]


@cache
def _services() -> frozenset[str]:
    return frozenset(_session().get_available_services())


@cache
def _verbs(program: str) -> set[str]:
    return {each.split()[0] for each in LISTED[program]["commands"]}


@pytest.mark.long
def test_commands_are_found() -> None:
    every = [" ".join(word or "…" for word in words) for _, words in written()]
    assert len(every) > 250
    for known in ("kubectl convert -f …", "aws eks wait cluster-active", "eksctl delete nodegroup --cluster", "helm …"):
        assert any(each.startswith(known) for each in every), known


@pytest.mark.long
@pytest.mark.parametrize("program", ["kubectl eksdoc", "kubectl", "aws", "eksctl", "helm", "nodeadm", "terraform"])
def test_each_command_that_is_written_exists(program: str) -> None:
    ours = program == "kubectl eksdoc"
    wrong = [
        f"{at}: {' '.join(word or '…' for word in words)}: {fault}"
        for at, words in written()
        if words[0] == program.split()[0] and (len(words) > 1 and words[1] == "eksdoc") is ours
        for fault in faults(words)
    ]
    assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize("version", KUBECTLS)
def test_each_flag_of_kubectl_that_is_written_is_in_its_help(version: str) -> None:
    """For every installed kubectl: remedies must work with old versions, too."""
    program, record = kubectl_of(version), LISTED["kubectl"]["commands"]
    common = flags_of(program, "options")
    if f"kubectl {version_of(program)}," in LISTED["kubectl"]["source"]:
        every = {each: flags for each, flags in record.items() if each not in PLUGINS}
        assert {each: flags_of(program, each) for each in every} == every
        assert common == LISTED["kubectl"]["options"]
    used: dict[str, set[str]] = defaultdict(set)
    for _, (name_of_it, *rest) in written():
        if name_of_it != "kubectl" or rest[0] == "eksdoc":
            continue
        verb = next((said for n in (2, 1) if (said := " ".join(map(str, rest[:n]))) in record), "")
        flags = [(word or "").partition("=")[0] for word in rest]
        until = flags.index("--") if "--" in flags else len(flags)
        used[verb] |= {each for each in flags[:until] if re.match(r"--?[a-zA-Z]", each)}
    assert len(used) > 15
    helps = {each: flags_of(program, each) for each in used if each in record and each not in PLUGINS and used[each]}
    assert {each: lacking for each in helps if (lacking := used[each] - helps[each].keys() - common.keys())} == {}


PROGRAMS = {"kubectl", "aws", "eksctl", "helm", "terraform", "nodeadm"}
OF_THE_SHELL = {"date", "grep", "jq", "printf", "sleep"}


def _lines(told: object, field: str = "") -> Iterator[str]:
    """The lines of a result that are commands."""
    if isinstance(told, dict):
        for key, each in told.items():
            yield from _lines(each, str(key))
    elif isinstance(told, list):
        for each in told:
            yield from _lines(each, field)
    elif isinstance(told, str) and field in ("command", "commands", "verify"):
        yield told


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        *(f"{each} --demo" for each in OF_THE_DEMO if each not in ("", "options", "drain")),
        *("check --demo --target 1.33", "check --demo --target 1.34", f"check --target 1.34 --snapshot {RICH}"),
    ],
)
def test_each_command_of_every_result_exists(words: str) -> None:
    ran = run_cli(*shlex.split(words), "-o", "json")
    lines = dict.fromkeys(_lines(json.loads(ran.out))) if ran.out.startswith("{") else {}
    parts = [part for line in lines for part in _parts(line) if re.fullmatch("[a-z]+", part[0])]
    assert {part[0] for part in parts} <= PROGRAMS | OF_THE_SHELL
    assert [f"{' '.join(each)}: {fault}" for each in parts for fault in faults(each, True)] == []


def _parts(line: str) -> Iterator[list[str]]:
    """The single commands of a line with several, in sequence or nested; the output of a nested command is a value."""
    while inner := re.search(r"\$\(\(?([^()]*)\)?\)", line):
        yield from _parts(inner[1])
        line = f"{line[: inner.start()]}{{x}}{line[inner.end() :]}"
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    part: list[str] = []
    for word in (*lexer, ";"):
        if not set(word) <= set("();<>|&$"):
            part.append(word.removeprefix("query=$"))
        elif part:
            yield part
            part = []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("kubectl", "migrate", "x"), "kubectl has no migrate x"),
        (("kubectl", "get", "pods", "--everything"), "there is no flag --everything"),
        (("kubectl", "eksdoc", "check", "--aim", "1.34"), "there is no flag --aim"),
        (("aws", "eks", "describe-cluster", "--cluster-name", "x"), "there is no flag --cluster-name"),
        (("aws", "eks", "describe-nodegroup", "--cluster-name", "x"), "--nodegroup-name is required"),
        (
            ("aws", "eks", "update-addon", "--cluster-name=x", "--addon-name=y", "--resolve-conflicts", "FORCE"),
            "--resolve-conflicts: FORCE is none of OVERWRITE, NONE, PRESERVE",
        ),
        (
            (
                *("aws", "eks", "update-nodegroup-config", "--cluster-name=x", "--nodegroup-name=y"),
                "--scaling-config={",
            ),
            "--scaling-config: { is no JSON",
        ),
        (("aws", "eks", "wait", "cluster-ready"), "aws eks cannot wait for cluster-ready"),
        (("kubectl", "scale", "deployment", "web", "--replicas", "two"), "--replicas: two is no int"),
        (("kubectl", "patch", "pdb", "web", "--type", "-p", "{}"), "--type: -p is no text"),
    ],
)
def test_what_does_not_exist_is_a_fault(words: tuple[str, ...], why: str) -> None:
    assert why in list(faults(words, True))


def of_records() -> tuple[str, ...]:
    """The commands in texts of findings and symptoms; values of a rule stay in braces."""
    told = json.loads((PACKAGE / "knowledge" / "findings.json").read_text(encoding="utf-8"))
    texts = (text for records in told["areas"].values() for each in records for text in each.get("texts", {}).values())
    remedies = (*(remedy for text in texts for remedy in text.get("remedies", ())), *told["remedies"].values())
    found = [remedy["command"] for remedy in remedies if remedy.get("command")]
    symptoms = json.loads((PACKAGE / "knowledge" / "symptoms.json").read_text(encoding="utf-8"))["records"]
    found += [cause["look"] for each in symptoms for cause in each["causes"] if "look" in cause]
    return tuple(each for each in found if not re.fullmatch(r"\{\w+\}", each))


def unparsed(command: str) -> Iterator[str]:
    try:
        parts = list(_parts(command))
    except ValueError as error:
        yield str(error)
        return
    for words in parts:
        if words[0] not in ("kubectl", "aws", "eksctl", "helm", "terraform", "date") and not words[0].startswith("{"):
            yield f"there is no program {words[0]}"
        yield from faults([None if word.startswith("{") else word for word in words])


def test_each_command_of_a_text_parses() -> None:
    every = of_records()
    assert len(every) > 30
    assert [f"{each}: {fault}" for each in every for fault in unparsed(each)] == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("kubectl logs -n {namespace} {pod} --tail=50", ""),
        ("kubetcl get nodeclaims", "there is no program kubetcl"),
        ("kubectl get nodeclaims 'x", "No closing quotation"),
        ("kubectl get pods -n {namespace} A/b --xnosuch=1", "there is no flag --xnosuch"),
    ],
)
def test_a_command_that_does_not_parse_is_a_fault(command: str, why: str) -> None:
    found = list(unparsed(command))
    assert (why in " ".join(found)) if why else found == []
