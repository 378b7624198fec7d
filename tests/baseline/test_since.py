"""``--since FILE`` with a saved answer, or with saved facts: then the same command is run on these first."""

from __future__ import annotations

import copy
import json
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.cli import streams
from kubectl_eksdoc.session.sources import open_reader
from tests.cli.edited_snapshots import Edit, edited
from tests.cli.running import FakeSource, Ran, document, run_cli
from tests.examples import one_in

FEW = "budget-never-allows,budget-unhealthy,pod-several-budgets,nodes-behind,webhook-down,kubelet-skew"
COMMANDS = {
    "check": ("UpgradeCheck", ("check", "--only", FEW)),
    "whole check": ("UpgradeCheck", ("check",)),
    "addon-diff": ("AddonDiff", ("addon-diff", "vpc-cni")),
    "imds-probe": ("ImdsProbe", ("imds-probe",)),
    "drain plan": ("DrainPlan", ("drain", "plan", "--nodegroup", "blue", "--effort", "0")),
}
EVERY = [pytest.param(each, marks=pytest.mark.long) if " ch" in each else each for each in sorted(COMMANDS)]
ONE = [each if each == "imds-probe" else pytest.param(each, marks=pytest.mark.long) for each in sorted(COMMANDS)]
"""The cheapest; the long tests have the others."""
LISTS = ("new", "fixed", "changed", "notKnownAnyMore", "notJudgedThisTime", "knownNow", "suppressed")
RICH = Path(__file__).parents[1] / "data" / "clusters" / "rich.tar.gz"
BUDGETS = "lists/poddisruptionbudgets.policy/"
Better = Callable[[str], str]
MADE_AT = "2026-11-20T08:51:00Z"


class Anywhere(FakeSource):
    """The real sources, for the commands that need a reader of their own."""

    def open(self, *asked: Any) -> Any:
        return open_reader(*asked)


def of_budget(name: str, document: dict[str, Any]) -> None:
    """Change budget shop/sale so that it allows one disruption."""
    for budget in document["items"] if BUDGETS in name else ():
        if budget["metadata"]["name"] == "sale":
            budget["spec"]["minAvailable"] = 1
            budget["status"].update(desiredHealthy=1, disruptionsAllowed=1)


def of_field(name: str, document: dict[str, Any]) -> None:
    """Set a field of aws-node to the value that the add-on gives it."""
    for each in document["objects"] if name == "cluster-answers" else ():
        if (each["of"]["kind"], each["of"]["name"]) == ("DaemonSet", "aws-node"):
            for container in each["said"]["known"]["spec"]["template"]["spec"]["initContainers"]:
                for variable in container["env"]:
                    if variable["name"] == "DISABLE_TCP_EARLY_DEMUX":
                        variable["value"] = "false"


def of_hops(name: str, document: dict[str, Any]) -> None:
    """Let pods reach the service on the nodes that Karpenter launches next."""
    for each in document["items"] if "lists/ec2nodeclasses" in name else ():
        each["spec"]["metadataOptions"]["httpPutResponseHopLimit"] = 2


BUDGET = (of_budget, [("budget-never-allows", "sale")])
CHANGED: dict[str, tuple[Edit, list[tuple[str, str]]]] = {
    "check": BUDGET,
    "whole check": BUDGET,
    "drain plan": BUDGET,
    "addon-diff": (of_field, [("addon-field-conflict", "aws-node")]),
    "imds-probe": (of_hops, [("imds-pods-will-break", "cluster-autoscaler"), ("imds-next-differs", "reports")]),
}
"""What differs, and exactly what is found only without the difference."""


@pytest.fixture(scope="module")
def better(snapshot: str, tmp_path_factory: pytest.TempPathFactory) -> Better:
    """A snapshot with the change for a command."""

    @cache
    def made(command: str) -> str:
        return edited(snapshot, tmp_path_factory.mktemp("better") / "better.eksdoc", CHANGED[command][0])

    return made


@cache
def ask(command: str, *words: str) -> Ran:
    """Run the command on files that do not change."""
    return run_cli(*COMMANDS[command][1], *words, source=Anywhere())


def since(command: str, path: str, *words: str) -> dict[str, Any]:
    ran = ask(command, "--since", path, "-o", "json", *words)
    assert ran.out, ran.err
    answer = document(ran.out, COMMANDS[command][0])
    assert answer["metadata"]["options"]["since"] == path
    told: dict[str, Any] = answer["since"]
    return told


def said(told: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The changed findings, by kind of change."""
    return {key: [(each["code"], each["subject"]["name"]) for each in told[key]] for key in LISTS if told[key]}


@pytest.mark.parametrize("command", ONE)
@pytest.mark.parametrize("read", [pytest.param("--demo", marks=pytest.mark.long), "--snapshot"])
def test_beside_itself_nothing_has_changed(command: str, read: str, snapshot: str) -> None:
    source = ("--demo",) if read == "--demo" else ("--snapshot", snapshot)
    told, plain = since(command, snapshot, *source), ask(command, *source, "-o", "json")
    findings = json.loads(plain.out)["findings"]
    assert said(told) == {} and told["unchanged"] == sum(each["status"] != "pass" for each in findings) > 0
    assert (told["asked"], told["notes"], told["sameCluster"], told["observedAt"]) == ([], [], True, MADE_AT)
    assert (told["file"], told["source"]) == (snapshot, "snapshot")
    ran = ask(command, "--since", snapshot, "-o", "json", *source)
    assert ran.code == plain.code == streams.FAILS
    first, second, *rest = ran.err.splitlines()
    assert first.startswith("context demo") and second == f"compared with the snapshot {snapshot} of {MADE_AT}"
    assert rest == plain.err.splitlines()[1:]


@pytest.mark.parametrize("command", one_in(2, EVERY))
@pytest.mark.long
def test_what_was_changed_in_between_is_new_or_fixed_and_nothing_else(
    command: str, snapshot: str, better: Better
) -> None:
    path, found = better(command), CHANGED[command][1]
    assert said(since(command, path, "--snapshot", snapshot)) == {"new": found}
    if command in ("whole check", "drain plan"):
        assert said(since(command, path, "--demo")) == {"new": found}
    assert said(since(command, snapshot, "--snapshot", path)) == {"fixed": found}


@pytest.mark.parametrize("command", ["imds-probe", pytest.param("drain plan", marks=pytest.mark.long)])
def test_a_dump_of_kubectls_is_asked_as_well(command: str) -> None:
    told = since(command, str(RICH), "--snapshot", str(RICH))
    assert said(told) == {} and told["unchanged"] > 0 and told["sameCluster"] is True


@pytest.mark.long
def test_one_of_another_cluster_is_refused() -> None:
    ran = ask("imds-probe", "--demo", "--since", str(RICH))
    assert (ran.code, ran.out) == (streams.USAGE, "")
    assert f"{RICH} is of another cluster" in ran.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("addon-diff", "vpc-cni", "--demo", "--since", str(RICH)), "holds no answers of AWS"),
        (("drain", "plan", "nowhere", "--demo", "--since", str(RICH)), "nowhere"),
        (("check", "--target", "1.32", "--demo", "--since", str(RICH)), "there is no upgrade path to 1.32"),
        (("check", "--demo", "-f", "-", "--since", str(RICH)), "the manifests on standard input are read once"),
    ],
)
def test_what_is_wrong_with_the_earlier_answer_names_its_file(words: tuple[str, ...], why: str) -> None:
    ran = run_cli(*words, source=Anywhere())
    assert (ran.code, ran.out) == (streams.USAGE, "")
    assert ran.err.startswith(f"error: of {RICH} no earlier answer can be made: ") and why in ran.err
    assert "An answer that was saved will do as well: kubectl eksdoc " in ran.err


def test_a_run_goes_by_a_plan_that_somebody_has_read(snapshot: str) -> None:
    ran = run_cli("drain", "run", "--plan", snapshot, source=Anywhere())
    assert (ran.code, ran.out) == (streams.USAGE, "")
    assert "is a snapshot, and not an answer: save the result with -o json" in ran.err


# Where this answer was made of less than the earlier one: of the same cluster nothing is fixed by that --------------
LESS = {
    "check": ("check", "--target", "1.34"),
    "imds-probe": ("imds-probe",),
    "addon-diff": ("addon-diff", "--all"),
    "drain plan": ("drain", "plan", "--nodegroup", "blue", "--effort", "0"),
}


def less(command: str, earlier: str, now: str, code: str) -> dict[str, Any]:
    few = ("--only", code) if command == "check" else ()
    words = (*LESS[command], *few, "--snapshot", now, "--since", earlier, "-o", "json")
    ran = run_cli(*words, source=Anywhere())
    assert ran.out, ran.err
    told: dict[str, Any] = json.loads(ran.out)["since"]
    return told


def gone(told: dict[str, Any]) -> list[tuple[str, str]]:
    """The findings that are reported as gone."""
    return [(each["code"], each["subject"]["name"]) for key in ("fixed", "knownNow") for each in told[key]]


@pytest.mark.parametrize(
    ("command", "plural", "hidden"),
    one_in(
        3,
        [
            ("check", "replicasets", "pod-several-budgets"),
            ("drain plan", "replicasets", "pod-protected"),
            ("check", "deployments", "interruption-setting"),
            ("check", "serviceaccounts", "interruption-rights"),
            ("imds-probe", "ec2nodeclasses", "imds-roles-unknown"),
            ("check", "poddisruptionbudgets", "budget-never-allows"),
        ],
    ),
)
def test_a_list_that_is_not_there_fixes_nothing(command: str, plural: str, hidden: str, tmp_path: Path) -> None:
    with tarfile.open(RICH, "r:gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "rich" / f"{plural}.json").unlink()
    told = less(command, str(RICH), str(tmp_path / "rich"), hidden)
    assert gone(told) == []
    not_seen = (*told["notJudgedThisTime"], *told["notKnownAnyMore"])
    assert [each["why"] for each in not_seen if each["code"] == hidden and each["why"]]


def denied(service: str, operation: str) -> Edit:
    def edit(name: str, document: dict[str, Any]) -> None:
        for call in document["calls"] if name.endswith("aws-answers") else ():
            if (call["service"], call["operation"]) == (service, operation):
                call.pop("answer", None)
                right = f"{service}:{operation}"
                call["refused"] = {"kind": "denied", "message": f"no {right}", "hint": "", "more": right}

    return edit


def nobody_looked(name: str, document: dict[str, Any]) -> None:
    """No request about the objects of add-ons."""
    for each in document["objects"] if name.endswith("cluster-answers") else ():
        each["said"] = {"unknown": "not allowed", "missing": "get daemonsets.apps"}


@pytest.mark.parametrize(
    ("command", "edit", "hidden"),
    one_in(
        2,
        [
            ("check", denied("ec2", "DescribeSubnets"), "subnet-addresses"),
            ("check", denied("eks", "DescribeAddon"), "check-addons"),
            ("check", nobody_looked, "addon-field-conflict"),
            ("addon-diff", nobody_looked, "addon-field-conflict"),
        ],
    ),
)
@pytest.mark.long
def test_an_answer_that_is_refused_fixes_nothing(
    command: str, edit: Edit, hidden: str, snapshot: str, tmp_path: Path
) -> None:
    told = less(command, snapshot, edited(snapshot, tmp_path / "less.eksdoc", edit), hidden)
    assert gone(told) == []
    assert hidden in {each["code"] for each in (*told["notJudgedThisTime"], *told["notKnownAnyMore"])}


NEXT = ("--only", "cgroup-v1,check-addon-unfit,kubelet-skew,ami-al2")


def test_a_way_that_ends_earlier_fixes_nothing_of_the_longer_one(tmp_path: Path) -> None:
    further = tmp_path / "further.json"
    further.write_text(run_cli("check", "--demo", "--target", "1.35", *NEXT, "-o", "json").out, encoding="utf-8")
    ran = run_cli("check", "--demo", "--target", "1.34", *NEXT, "--since", str(further), "-o", "json")
    told = json.loads(ran.out)["since"]
    assert gone(told) == []
    assert {"cgroup-v1", "check-addon-unfit"} <= {each["code"] for each in told["notJudgedThisTime"]}
    assert {each["why"] for each in told["notJudgedThisTime"]} == {"this answer looks no further than 1.34"}


# Of an answer that was saved ---------------------------------------------------------------
ELSEWHERE = {"context": "x", "cluster": "y", "account": "1", "region": "z", "serverVersion": None, "uid": "another"}


def saved(folder: Path, command: str, edit: Callable[[dict[str, Any]], object] = lambda _: None) -> str:
    """The answer of the demo after `edit` has changed it."""
    document = json.loads(ask(command, "--demo", "-o", "json").out)
    edit(document)
    path = folder / "earlier answer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("command", one_in(4, EVERY))
def test_what_the_earlier_one_lacks_is_new_and_what_only_it_has_is_fixed(command: str, tmp_path: Path) -> None:
    def edit(document: dict[str, Any]) -> None:
        found = document["findings"]
        keys = [(each["code"], each["subject"]) for each in found]
        alone = (each for each in found if keys.count((each["code"], each["subject"])) == 1)
        gone = next(each for each in alone if each["status"] == "fail")
        other = copy.deepcopy(gone)
        found.remove(gone)
        other["subject"]["name"] = "was-here"
        found.append(other)
        named.append((gone["code"], gone["subject"]["name"]))

    named: list[tuple[str, str]] = []
    path, code = saved(tmp_path, command, edit), ask(command, "--demo", "-o", "json").code
    told = said(since(command, path, "--demo"))
    assert told.pop("new") == named
    assert list(told.values()) == [[(named[0][0], "was-here")]] and {*told} <= {"fixed", "notJudgedThisTime"}
    for output in ("json", "table", "wide") if command in ("whole check", "drain plan") else ("json", "table"):
        ran = ask(command, "--demo", "--since", path, "-o", output)
        assert ran.code == code and (output == "json" or "1 new, 1 fixed, " in " ".join(ran.out.split()))


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize(
    ("content", "said_of_it"),
    [
        (lambda d: d["metadata"].update(source="live", cluster=ELSEWHERE), "is of another cluster"),
        (lambda d: d.update(kind="Interruption"), "Interruption"),
        (lambda d: d.pop("findings"), "findings is missing"),
        (b"\0" * 257 + b"ustar\0", "no earlier answer can be made: "),
        (b"", "is empty"),
        (b"[]", "is no "),
        (None, "cannot read"),
    ],
)
def test_what_is_no_answer_about_this_cluster_is_refused_in_a_sentence(
    command: str, content: Any, said_of_it: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "file")
    if isinstance(content, bytes):
        Path(path).write_bytes(content)
    elif content is not None:
        path = saved(tmp_path, command, content)
    ran = ask(command, "--demo", "--since", path)
    assert (ran.code, ran.out) == (streams.USAGE, "")
    assert "error: " in ran.err and said_of_it in ran.err and "Traceback" not in ran.err


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
    assert (ran.code, ran.out) == (streams.USAGE, "") and "--since" in ran.err


def test_the_older_name_of_drain_plans_flag_says_the_same(tmp_path: Path) -> None:
    path = saved(tmp_path, "drain plan")
    assert ask("drain plan", "--demo", "--baseline", path) == ask("drain plan", "--demo", "--since", path)
