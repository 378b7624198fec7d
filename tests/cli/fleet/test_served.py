"""Fleets over HTTP, with a process for each member: some that answer, and every way in which one cannot."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kubectl_eksdoc.render.schemas as schemas
from tests.cli.fleet.places import Places, places

JUDGE = jsonschema.Draft202012Validator(schemas.load("Fleet"))
CHECKED = ("check", "--only", "budget-never-allows,kubelet-skew", "-o", "json")


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Places]:
    with places(tmp_path) as found:
        yield found


def document(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    JUDGE.validate(found)
    for member in found["members"]:
        if member["result"] is not None:
            jsonschema.Draft202012Validator(schemas.load(member["result"]["kind"])).validate(member["result"])
    return found


@pytest.mark.long
def test_each_is_a_row_whatever_became_of_it(there: Places) -> None:
    for name, server in (("prod-a", "fine"), ("prod-b", "closed"), ("prod-c", "forbidden"), ("prod-d", "slow")):
        there.add(name, server)
    code, out, err = there.run(*CHECKED, "--fleet", "prod-*")
    assert code == 3, err
    assert err == "fleet prod-* · 4 clusters · check · 4 at once, 3m for each at most\n"
    found = {each["name"]: each for each in document(out)["members"]}
    assert {name: each["standing"] for name, each in found.items()} == {
        "prod-a": "fails",
        "prod-b": "not-judged",
        "prod-c": "not-judged",
        "prod-d": "fails",
    }
    assert found["prod-b"]["reason"].endswith("cannot be reached: the connection is refused")
    assert "nobody" in found["prod-c"]["reason"]
    assert {each["context"] for each in found.values()} == set(found)
    (note,) = document(out)["notes"]
    assert note == "prod-a, prod-d are the same cluster."


@pytest.mark.long
def test_what_is_said_of_one_is_what_its_command_says_alone(there: Places) -> None:
    there.add("prod-a", "fine")
    _, out, _ = there.run(*CHECKED, "--fleet", "prod-*")
    code, alone, _ = there.run(*CHECKED, "--context", "prod-a")
    (member,) = document(out)["members"]
    single = json.loads(alone)
    for each in (member["result"], single):
        each["metadata"]["observedAt"] = ""
    assert (member["exitCode"], member["result"]) == (code, single)
    assert [{**each, "member": "prod-a"} for each in single["findings"]] == document(out)["findings"]


@pytest.mark.long
def test_relative_paths_are_those_of_whoever_asks(there: Places) -> None:
    there.add("prod-a", "fine")
    (there.folder / "accepted.yaml").write_text(
        "- {code: budget-never-allows, reason: known, until: '2099-01-01'}\n- "
        "{code: kubelet-skew, reason: known, until: '2099-01-01'}\n"
    )
    (there.folder / "fleet").write_text("prod-a # ours\n")
    code, out, err = there.run(*CHECKED, "--fleet", "fleet", "--suppressions", "accepted.yaml")
    assert code == 0, err
    assert document(out)["members"][0]["result"]["suppressed"]


@pytest.mark.long
@pytest.mark.parametrize("command", [("addon-diff", "--all"), ("imds-probe",)], ids=" ".join)
def test_the_other_commands_do_the_same(there: Places, command: tuple[str, ...]) -> None:
    for name, server in (("a", "fine"), ("b", "closed")):
        there.add(name, server)
    code, out, err = there.run(*command, "--fleet", "a,b", "-o", "json")
    found = document(out)
    assert code == found["exitCode"] and code in (2, 3, 4), err  # nothing says which region is to be asked
    assert len(found["members"]) == 2
    assert all(each["reason"] for each in found["members"] if each["standing"] == "not-judged")


@pytest.mark.long
def test_nine_end_in_the_time_of_the_slowest(there: Places) -> None:
    """Three that never answer would take a minute one after the other, and the others some seconds each."""
    kinds = ["fine"] * 2 + ["slow"] * 2 + ["silent"] * 3 + ["closed", "forbidden"]
    for number, kind in enumerate(kinds):
        # The names are mixed, so that those which take long are not asked all at once.
        there.add(f"c{number * 7 % 9}-{kind}", kind)
    begun_s = time.monotonic()
    code, out, err = there.run(*CHECKED, "--fleet", "c*", "--fleet-timeout", "20s", "--parallel", "6")
    took_s = time.monotonic() - begun_s
    assert code == 3, err
    found = document(out)
    assert len(found["members"]) == 9
    standing = Counter((each["name"].partition("-")[2], each["standing"]) for each in found["members"])
    assert standing == {
        ("fine", "fails"): 2,
        ("slow", "fails"): 2,
        ("silent", "not-judged"): 3,
        ("closed", "not-judged"): 1,
        ("forbidden", "not-judged"): 1,
    }
    late = [each["reason"] for each in found["members"] if each["name"].endswith("silent")]
    assert late == ["no answer within 20s"] * 3
    assert 20 <= took_s < 60, "the sum is more than 60 s"
    assert {each["code"]: len(each["members"]) for each in found["shared"]} == {
        "budget-never-allows": 4,
        "kubelet-skew": 4,
    }
