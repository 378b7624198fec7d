"""A fleet of snapshots: judged by every command without a cluster, and each time with the same bytes."""

from __future__ import annotations

import json

import pytest

from tests.cli.fleet.places import Places
from tests.cli.running import document
from tests.embedded.clients import worlds

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory, snapshot: str) -> Places:
    """Of the demo with AWS's answers, of another cluster without, and one that is not there."""
    folder = tmp_path_factory.mktemp("snapshots")
    members = [
        {"name": "demo", "snapshot": snapshot},
        {"name": "traps", "snapshot": str(worlds.archive("small-traps"))},
        {"name": "gone", "snapshot": "gone.snap"},
    ]
    (folder / "fleet.json").write_text(json.dumps(members))
    return Places(folder, {"none": "http://127.0.0.1:1"})


@pytest.mark.parametrize(
    "command", [("check", "--target", "1.34"), ("addon-diff", "--all"), ("imds-probe",)], ids=lambda words: words[0]
)
def test_every_command_judges_them(snapshots: Places, command: tuple[str, ...]) -> None:
    asked = (*command, "--fleet", "fleet.json")
    code, out, err = snapshots.run(*asked, "-o", "json")
    assert code == 2, err  # one cannot be read
    found = document(out, "Fleet")
    by_name = {each["name"]: each for each in found["members"]}
    assert (by_name["gone"]["exitCode"], by_name["gone"]["standing"]) == (2, "not-judged")
    assert (by_name["demo"]["account"], by_name["demo"]["source"]) == ("111122223333", "snapshot")
    assert by_name["demo"]["result"]["findings"], "of its own document"
    if command == ("imds-probe",):  # one of them tells it of all
        assert snapshots.run(*asked, "-o", "json")[1] == out
