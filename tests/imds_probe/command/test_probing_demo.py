"""A probe of the built-in cluster, served for practice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_eksdoc.drain.duration.generations import learned_kubelet_times
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.wiring.stages import ServeSettings, served
from tests.drain.command.served import Machine

pytestmark = pytest.mark.long


def test_its_groups_are_measured_as_its_aws_describes_them(tmp_path: Path) -> None:
    how = ServeSettings(
        60.0, str(tmp_path / "config"), lambda path, address: None, lambda note: None, learned_kubelet_times
    )
    with served(SourceChoice(demo=True), Connection(), None, how) as (path, _):
        ann = Machine(tmp_path, path)
        words = ("imds-probe", "--active", "--all-nodes", "--nodegroup", "blue", "--nodegroup", "green")
        ran = ann.run(*words, "--yes", "--expect-nodes", "12", "-o", "json", AWS_EC2_METADATA_DISABLED="true")
    assert ran.code == 1, ran.err
    document = json.loads(ran.out)
    found = {each["name"].partition("-")[0]: each["v4"]["verdict"] for each in document["nodes"]}
    assert found == {"blue": "reachable", "green": "unreachable"}
    assert document["cleanup"]["left"] == []
    told = {each["pod"]["v4"]["instance"] for each in document["nodes"] if each["name"].startswith("blue")}
    assert len(told) == 8, "each pod was told of its own instance"
