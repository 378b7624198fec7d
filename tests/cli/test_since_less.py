"""``--since`` where this answer was made of less than the earlier one: of the same cluster nothing is fixed by that."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.session.sources import open_reader
from tests.cli.edited_snapshots import Edit, edited
from tests.cli.running import FakeSource, run_cli
from tests.examples import one_in

COMMANDS = {
    "check": ("check", "--target", "1.34"),
    "imds-probe": ("imds-probe",),
    "addon-diff": ("addon-diff", "--all"),
    "drain plan": ("drain", "plan", "--nodegroup", "blue", "--effort", "0"),
}
RICH = Path(__file__).parents[1] / "data" / "clusters" / "rich.tar.gz"


class Anywhere(FakeSource):
    """The real sources, for the commands that ask for a reader of their own."""

    def open(self, *asked: Any) -> Any:
        return open_reader(*asked)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("snapshot") / "demo.eksdoc")
    taken = run_cli("snapshot", path, "--demo")
    assert taken.code == 0, taken.err
    return path


def since(command: str, earlier: str, now: str, code: str) -> dict[str, Any]:
    few = ("--only", code) if command == "check" else ()
    words = (*COMMANDS[command], *few, "--snapshot", now, "--since", earlier, "-o", "json")
    ran = run_cli(*words, source=Anywhere())
    assert ran.out, ran.err
    told: dict[str, Any] = json.loads(ran.out)["since"]
    return told


def gone(told: dict[str, Any]) -> list[tuple[str, str]]:
    """What is said to have come to an end."""
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
    told = since(command, str(RICH), str(tmp_path / "rich"), hidden)
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
    """At the objects of add-ons."""
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
    told = since(command, snapshot, edited(snapshot, tmp_path / "less.eksdoc", edit), hidden)
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
