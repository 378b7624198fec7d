"""A dump with an object that no API server would have stored: the object is named, and no check passes because it is
missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW
from tests.cli.running import Ran, called
from tests.examples import one_in
from tests.host import dumps

Edit = Callable[[dict[str, Any]], object]
ALL = ("-l", "!no-such-label")


def ran(folder: Path, stem: str, edit: Edit, *words: str) -> Ran:
    """Run a command on the recorded cluster, with the first object of a list edited."""
    lists = dict(dumps.lists_of("small-traps"))
    lists[stem] = deepcopy(lists[stem])
    edit(lists[stem]["items"][0])
    files = {f"{name}.json": dumps.compact(body) for name, body in lists.items()}
    return called(*words, "--snapshot", str(dumps.folder(folder, files)), "-o", "json", now=lambda: NOW)


def relabelled(doc: dict[str, Any]) -> None:
    doc["spec"]["template"]["metadata"]["labels"] = {"not": "selected"}


def against_pods(doc: dict[str, Any]) -> None:
    doc["spec"]["affinity"] = {"podAntiAffinity": "none"}


@pytest.mark.long
@pytest.mark.parametrize("stem", ["deployments", "daemonsets", "replicasets"])
def test_a_template_that_its_selector_does_not_take_ends_a_rehearsal_in_words(stem: str, tmp_path: Path) -> None:
    """Controllers would create pods from it forever."""
    done = ran(tmp_path, stem, relabelled, "rehearse", *ALL)
    said = json.loads(done.out)
    read = {each["resource"]: each for each in said["metadata"]["kindsRead"]}[f"{stem}.apps"]
    assert done.code in (1, 5) and read["state"] == "invalid"
    assert "`selector` does not match template `labels`" in read["detail"]


@pytest.mark.parametrize(
    "edit", one_in(3, [lambda doc: doc.pop("spec"), lambda doc: doc["metadata"].pop("name"), against_pods])
)
@pytest.mark.parametrize("words", [("rehearse", *ALL), ("drain", "plan", *ALL), ("check", "--target", "1.37")])
@pytest.mark.long
def test_pods_that_are_not_valid_are_unknown(edit: Edit, words: tuple[str, ...], tmp_path: Path) -> None:
    done = ran(tmp_path, "pods", edit, *words)
    said = json.loads(done.out)
    assert done.code in (1, 5)
    assert {each["resource"]: each["state"] for each in said["metadata"]["kindsRead"]}["pods"] == "invalid"
    assert any("pods.json: " in note for note in said["metadata"]["notes"])


@pytest.mark.parametrize("command", ["imds-probe", "interruption", "coredns-lameduck"])
def test_other_commands_do_not_pass_without_them(command: str, tmp_path: Path) -> None:
    done = ran(tmp_path, "pods", lambda doc: doc.pop("spec"), command)
    assert done.code in (1, 5)
    found = json.loads(done.out)["findings"]
    assert [each for each in found if each["status"] == "unknown" and "has no spec" in json.dumps(each)]
