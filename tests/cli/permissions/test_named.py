"""The first line, and the metadata, show the cluster that was named and that AWS has confirmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.permissions.desk import NAME, REGION, desk
from tests.cli.permissions.sites import of_version
from tests.cli.permissions.test_reading import EVERYTHING

if TYPE_CHECKING:
    from tests.aws.world.server import World


COMMANDS = (
    "drain plan --nodegroup blue",
    "coredns-lameduck",
    "addon-diff --all",
    "imds-probe",
    "interruption",
)


@pytest.mark.parametrize(
    "commands",
    [("check --only kubelet-skew",), pytest.param(COMMANDS, marks=pytest.mark.long)],
    ids=("check", "others"),
)
def test_it_is_never_unknown(
    commands: tuple[str, ...], aws: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = []
    with of_version("1.29")(aws).served() as site:
        ann = desk(site, aws, tmp_path, monkeypatch)
        for command in commands:
            ran, _ = ann.run(f"{command} -o json", EVERYTHING)
            line = ran.err.partition("\n")[0]
            cluster = json.loads(ran.out)["metadata"]["cluster"]
            if f"cluster {NAME} · " not in line or f"region {REGION}" not in line or NAME not in json.dumps(cluster):
                wrong.append(f"{command}: {line} {cluster}")
    assert wrong == [], "\n".join(wrong)
