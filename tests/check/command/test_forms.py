"""Tags in EKS's answers decide in which form upgrade steps are printed, end to end: read over HTTP, and from a
snapshot, which keeps no other tags."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.check.command.clusters import MANAGED
from tests.check.command.healthy_clusters_aws import somebody_at
from tests.check.test_checklist_forms import OF_EKSCTL, OF_TERRAFORM
from tests.cli.running import run_cli

if TYPE_CHECKING:
    from tests.aws.world.server import World

SECRET = ("owner", "ann@example.com")


def tools(told: dict[str, Any]) -> dict[str, list[str]]:
    """The tools of the steps that have forms, by the titles of the steps."""
    return {each["title"]: [form["tool"] for form in each["forms"]] for each in told["checklist"] if each["forms"]}


@pytest.mark.long
@pytest.mark.parametrize(("tags", "tool"), [(OF_EKSCTL, "eksctl"), (OF_TERRAFORM, "Terraform")])
def test_the_same_live_and_in_a_snapshot(
    tags: dict[str, str], tool: str, aws_of_this_session: World, tmp_path: Path
) -> None:
    of, path = replace(MANAGED, tags=(*tags.items(), SECRET)), str(tmp_path / "taken.eksdoc")
    try:
        with somebody_at(of, aws_of_this_session, tmp_path) as ann:
            live = ann.document("UpgradeCheck", "--target", "1.34")
            taken = ann.calls("snapshot", path)
            assert taken.code in (0, 5), taken.err
    finally:
        aws_of_this_session.reset()
    ran = run_cli("check", "--snapshot", path, "--target", "1.34", "-o", "json")
    held = json.loads(ran.out)
    found = tools(live)
    assert found == tools(held)
    assert found["Upgrade the control plane to 1.34"] == found["Update group workers in place to 1.34"] == [tool]
    assert all(tool in each for each in found.values()) and any("add-on" in each for each in found)
    with tarfile.open(path) as archive:
        texts = [file.read() for each in archive if (file := archive.extractfile(each))]
    assert any(next(iter(tags.values())).encode() in each for each in texts)
    assert not [each for each in texts if SECRET[1].encode() in each]
