"""Fleets over HTTP, with a process for each member: some that answer, and every kind of failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import document as valid
from tests.cli.running import judge
from tests.embedded.clients import worlds
from tests.fleet.command.served_clusters import Places, places

CHECKED = ("check", "--only", "budget-never-allows,kubelet-skew", "-o", "json")


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Places]:
    with places(tmp_path) as found:
        yield found


def document(text: str) -> dict[str, Any]:
    found = valid(text, "Fleet")
    for member in found["members"]:
        if member["result"] is not None:
            judge(member["result"]["kind"]).validate(member["result"])
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
    dump = {"name": "traps", "snapshot": str(worlds.archive("small-traps"))}
    (there.folder / "fleet").write_text(json.dumps(["prod-a", dump, {"name": "gone", "snapshot": "gone.snap"}]))
    code, out, err = there.run(*CHECKED, "--fleet", "fleet", "--suppressions", "accepted.yaml")
    assert code == 2, err  # one cannot be read
    found = {each["name"]: each for each in document(out)["members"]}
    assert found["prod-a"]["exitCode"] == 0 and found["prod-a"]["result"]["suppressed"]
    assert (found["gone"]["exitCode"], found["gone"]["standing"]) == (2, "not-judged")
    assert found["traps"]["source"] == "snapshot" and found["traps"]["result"]["suppressed"]
