"""Every finding has a remedy: the texts of every code that fails or is unknown have one for all values, or the rule
passes one; the same holds for the answers of every command."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import AWS_DISABLED, AwsUnavailable, NotInSnapshot, Unknown
from kubectl_eksdoc.model.missing_rights import allow_right, remedy_for
from tests.check.command.cached_runs import RICH
from tests.cli.running import run_cli
from tests.contracts.source import PACKAGE, files, name, text
from tests.contracts.test_codes import asked, texts
from tools.same_answers import EVERYWHERE, OF_THE_DEMO


def always(told: Mapping[str, Any]) -> bool:
    """Whether there is a remedy for all values."""
    remedies = told.get("remedies", [])
    with_value, without = ({each[how] for each in remedies if how in each} for how in ("if", "unless"))
    return bool(with_value & without) or any("if" not in each and "unless" not in each for each in remedies)


WITH_REMEDIES = {"link.fails"}
"""Functions whose results have remedies from the start."""


def given() -> Iterator[tuple[str, str, bool]]:
    """The place, the text, and whether the rule itself passes a remedy."""
    for at, call, names, _ in asked():
        own = any(each.arg == "remedy" for each in call.keywords) or ast.unparse(call.func) in WITH_REMEDIES
        yield from ((at, each, own) for each in names)


def test_each_text_that_fails_or_is_unknown_has_a_remedy() -> None:
    every = list(given())
    judged = {each for each, told in texts().items() if told["status"] != Status.PASS.value}
    assert judged <= {each for _, each, _ in every}
    assert [(at, each) for at, each, own in every if each in judged and not own and not always(texts()[each])] == []


def test_each_finding_that_is_made_without_a_text_is_given_remedies() -> None:
    """Remedies are the seventh field."""
    calls = [
        (f"{name(path)} line {node.lineno}", node)
        for path in files(PACKAGE)
        if "Finding(" in text(path)
        for node in ast.walk(ast.parse(text(path)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finding"
    ]
    assert len(calls) > 3
    assert [
        at
        for at, call in calls
        if len(call.args) < 7
        and not any(isinstance(each, ast.Starred) for each in call.args)
        and not any(each.arg == "remedy" for each in call.keywords)
    ] == []


@pytest.mark.parametrize(
    ("remedies", "so"),
    [
        ([{"text": "x", "if": "a"}], False),
        ([{"text": "x", "if": "a"}, {"text": "y", "unless": "b"}], False),
        ([{"text": "x", "if": "a"}, {"text": "y", "unless": "a"}], True),
    ],
)
def test_a_remedy_of_one_case_is_none_of_the_other(remedies: list[Mapping[str, str]], so: bool) -> None:
    assert always({"remedies": remedies}) is so


@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        (Unknown("refused", "eks:ListInsights"), allow_right("eks:ListInsights").text),
        (AWS_DISABLED, "Run it without --no-aws."),
        (NotInSnapshot("the snapshot holds no Secrets"), "Ask the live cluster, or a snapshot"),
        (AwsUnavailable("there are no credentials"), "--profile where AWS could not be asked"),
        (Unknown("it timed out"), "Ask again; --debug"),
    ],
)
def test_what_makes_it_known_goes_by_why_it_is_not(why: Unknown, remedy: str) -> None:
    assert remedy in remedy_for(why).text


OF_CHECK = ("check --no-aws --target 1.34", "check --area workloads")
READING = tuple(each for each in OF_THE_DEMO if each.split() and "--print" not in each)


@pytest.mark.long
@pytest.mark.parametrize("words", (*READING, *OF_CHECK))
def test_each_finding_of_the_demo_has_a_remedy(words: str) -> None:
    _all_have_one(f"{words} --demo")


@pytest.mark.long
@pytest.mark.parametrize("words", (*EVERYWHERE, *OF_CHECK))
def test_each_finding_of_a_dump_has_a_remedy(words: str) -> None:
    """A dump has nothing from AWS, and only a part of the cluster."""
    _all_have_one(f"{words.format(next='1.34')} --snapshot {RICH}")


def _all_have_one(words: str) -> None:
    ran = run_cli(*shlex.split(words), "-o", "json")
    told = json.loads(ran.out) if ran.out.startswith("{") else {}
    found = [each for each in told.get("findings", ()) if each["status"] != "pass"]
    assert [(each["code"], each["message"]) for each in found if not each["remedy"]] == []
