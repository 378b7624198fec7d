"""``--since FILE`` on the demo, for every command that has it: what is new, fixed, unchanged, and what is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.cli import exits
from kubectl_eksdoc.session.sources import open_reader
from tests.cli.running import FakeSource, Ran, document, run_cli
from tests.examples import one_in

FEW = "budget-never-allows,budget-unhealthy,pod-several-budgets,nodes-behind,webhook-down,kubelet-skew"
COMMANDS = {
    "check": ("UpgradeCheck", ("check", "--only", FEW)),
    "whole check": ("UpgradeCheck", ("check",)),
    "addon-diff": ("AddonDiff", ("addon-diff", "vpc-cni")),
    "imds-probe": ("ImdsProbe", ("imds-probe",)),
    "drain plan": ("DrainPlan", ("drain", "plan", "--effort", "0")),
}
EVERY = [pytest.param(each, marks=pytest.mark.long) if " ch" in each else each for each in sorted(COMMANDS)]
LISTS = ("new", "fixed", "changed", "notKnownAnyMore", "notJudgedThisTime", "knownNow", "suppressed")
ELSEWHERE = {"context": "x", "cluster": "y", "account": "1", "region": "z", "serverVersion": None, "uid": "another"}
Edit = Callable[[dict[str, Any]], object]


class TheDemo(FakeSource):
    """The real demo, for the commands that ask for a reader of their own."""

    def open(self, *asked: Any) -> Any:
        return open_reader(*asked)


def ask(command: str, *words: str) -> Ran:
    return run_cli(*COMMANDS[command][1], "--demo", *words, source=TheDemo())


@cache
def plain(command: str) -> Ran:
    return ask(command, "-o", "json")


def saved(folder: Path, command: str, edit: Edit = lambda _: None) -> str:
    """The answer of the demo, with what `edit` does to it."""
    document = json.loads(plain(command).out)
    edit(document)
    path = folder / "earlier answer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def since(command: str, path: str, *words: str) -> dict[str, Any]:
    ran = ask(command, "--since", path, "-o", "json", *words)
    assert words or ran.code == plain(command).code, "it is that of the findings of now"
    answer = document(ran.out, COMMANDS[command][0])
    assert answer["metadata"]["options"]["since"] == path
    told: dict[str, Any] = answer["since"]
    return told


def said(told: dict[str, Any], key: str) -> list[tuple[str, str]]:
    return [(each["code"], each["subject"]["name"]) for each in told[key]]


def failing(document: dict[str, Any]) -> dict[str, Any]:
    """The one that is alone of its code and subject."""
    keys = [(each["code"], each["subject"]) for each in document["findings"]]
    found: dict[str, Any] = next(
        each
        for each in document["findings"]
        if each["status"] == "fail" and keys.count((each["code"], each["subject"])) == 1
    )
    return found


@pytest.mark.parametrize("command", one_in(4, EVERY))
def test_what_the_earlier_one_lacks_is_new_and_what_only_it_has_is_fixed(command: str, tmp_path: Path) -> None:
    def edit(document: dict[str, Any]) -> None:
        gone = failing(document)
        document["findings"].remove(gone)
        named.append((gone["code"], gone["subject"]["name"]))
        other = copy.deepcopy(gone)
        other["subject"]["name"] = "was-here"
        document["findings"].append(other)
        named.append((other["code"], "was-here"))

    named: list[tuple[str, str]] = []
    path = saved(tmp_path, command, edit)
    told = since(command, path)
    assert said(told, "new") == named[:1]
    assert [name for key in ("fixed", "notJudgedThisTime") for name in said(told, key)] == named[1:]
    for output in ("table", "wide") if command in ("whole check", "drain plan") else ("table",):
        ran = ask(command, "--since", path, "-o", output)
        assert "1 new, 1 fixed, " in " ".join(ran.out.split())
        assert ran.code == plain(command).code


@pytest.mark.parametrize("command", one_in(4, EVERY))
def test_yaml_is_read_as_the_same(command: str, tmp_path: Path) -> None:
    path = tmp_path / "earlier.yaml"
    path.write_text(ask(command, "-o", "yaml").out, encoding="utf-8")
    told, findings = since(command, str(path)), json.loads(plain(command).out)["findings"]
    assert [told[key] for key in LISTS] == [[]] * len(LISTS)
    assert told["unchanged"] == sum(each["status"] != "pass" for each in findings) > 0
    assert (told["asked"], told["notes"], told["sameCluster"]) == ([], [], True)


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize(
    ("edit", "said_of_it"),
    [
        (lambda d: d["metadata"].update(source="live", cluster=ELSEWHERE), "is of another cluster"),
        (lambda d: d.update(kind="Interruption"), "Interruption"),
        (lambda d: d.pop("findings"), "findings is missing"),
    ],
)
def test_what_is_of_something_else_is_refused_in_a_sentence(
    command: str, edit: Edit, said_of_it: str, tmp_path: Path
) -> None:
    ran = ask(command, "--since", saved(tmp_path, command, edit))
    assert (ran.code, ran.out) == (exits.USAGE, "")
    assert said_of_it in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize(
    ("content", "said_of_it"),
    [
        (b"\0" * 257 + b"ustar\0", "no earlier answer can be made: "),
        (b"", "is empty"),
        (b"[]", "is no "),
    ],
)
def test_what_is_no_answer_is_refused_before_the_cluster_is_read(
    command: str, content: bytes, said_of_it: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    ran = ask(command, "--since", str(path))
    assert (ran.code, ran.out) == (exits.USAGE, "") and said_of_it in ran.err
    assert ran.err.startswith("error: ")


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("path", ["", "-", "nothing-here.json", "."])
def test_a_path_that_is_none(command: str, path: str, tmp_path: Path) -> None:
    ran = ask(command, "--since", str(tmp_path) if path == "." else path)
    assert (ran.code, ran.out) == (exits.USAGE, "")
    assert "-o json" in ran.err or "cannot read" in ran.err


@pytest.mark.long
def test_what_is_not_asked_for_is_not_fixed(tmp_path: Path) -> None:
    told = since("whole check", saved(tmp_path, "whole check"), "--only", "kubelet-skew,ami-al2")
    assert told["fixed"] == [] == told["new"]
    assert {each["why"] for each in told["notJudgedThisTime"]} == {"its check was not made"}
    assert "ami-al2" not in {each["code"] for each in told["notJudgedThisTime"]}
    assert [each["option"] for each in told["asked"]] == ["only"]


@pytest.mark.long
def test_what_is_suppressed_now_is_told_as_that(tmp_path: Path) -> None:
    path = saved(tmp_path, "check")
    rule = tmp_path / "rules.json"
    rule.write_text(json.dumps([{"code": "nodes-behind", "reason": "later", "until": "2027-01-01"}]))
    told = since("check", path, "--suppressions", str(rule))
    assert {each["code"] for each in told["suppressed"]} == {"nodes-behind"} and told["fixed"] == []
    assert all(each["now"]["suppressed"] for each in told["suppressed"])
    path = str(tmp_path / "with.json")
    Path(path).write_text(ask("check", "--suppressions", str(rule), "-o", "json").out, encoding="utf-8")
    back = since("check", path)
    assert {each["code"] for each in back["changed"]} == {"nodes-behind"} and back["new"] == []
    assert since("check", path, "--suppressions", str(rule))["suppressed"] == []


@pytest.mark.long
def test_a_narrower_look_has_not_judged_the_rest(tmp_path: Path) -> None:
    path = saved(tmp_path, "imds-probe")
    told = since("imds-probe", path, "--nodegroup", "blue")
    assert told["fixed"] == []
    assert {each["why"] for each in told["notJudgedThisTime"]} == {"other objects were checked"}


def test_a_way_that_has_gone_on_is_said(tmp_path: Path) -> None:
    path = saved(tmp_path, "check", lambda d: d["way"].update(now="1.32", target="1.33"))
    assert since("check", path)["notes"] == [
        "The earlier answer is about 1.32 → 1.33, this one about 1.33 → 1.34: what came or went may be the way's."
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("addon-diff", "vpc-cni", "--after"),
        ("addon-diff", "vpc-cni", "--apply"),
        ("addon-diff", "--tf-plan", "plan.json"),
        ("imds-probe", "--active"),
        ("imds-probe", "--apply", "--fix", "instance-options"),
    ],
)
def test_beside_what_gives_another_answer_it_is_refused(words: tuple[str, ...]) -> None:
    ran = run_cli(*words, "--demo", "--since", "x.json")
    assert (ran.code, ran.out) == (exits.USAGE, "") and "--since" in ran.err


def test_the_older_name_of_drain_plans_flag_says_the_same(tmp_path: Path) -> None:
    path = saved(tmp_path, "drain plan")
    assert ask("drain plan", "--baseline", path) == ask("drain plan", "--since", path)


@pytest.mark.long
def test_hostile_words_of_a_file_stay_text(tmp_path: Path) -> None:
    bad = "\x1b[2J<script>\ud800\u202e"

    def edit(document: dict[str, Any]) -> None:
        for found in document["findings"]:
            found |= {"code": bad, "message": bad}
            found["subject"]["name"] = bad
        document["metadata"] |= {"toolVersion": bad, "options": {bad: bad}}

    path = saved(tmp_path, "check", edit)
    for fmt in ("table", "wide", "markdown", "json", "yaml"):
        ran = ask("check", "--since", path, "-o", fmt)
        assert ran.code == exits.FAILS, ran.err
        assert not {"\x1b", "\u202e", "\ud800"} & set(ran.out + ran.err)
        assert fmt != "markdown" or "<script>" not in ran.out
