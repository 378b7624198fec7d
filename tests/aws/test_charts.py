"""Chart defaults: the table of the package reports what was read, and invents nothing for versions between or
beyond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.aws.addon_side import chart_defaults, chart_variables
from kubectl_eksdoc.model.kinds import Unknown

READ = Path(__file__).parents[1] / "data" / "aws" / "eks" / "charts"
CHARTS: dict[str, Any] = json.loads((READ / "vpc-cni.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", CHARTS)
def test_every_version_is_as_it_was_read(version: str) -> None:
    assert chart_defaults("vpc-cni", f"{version}-eksbuild.1") == CHARTS[version]


def test_a_patch_between_two_that_agree_is_as_the_older_and_names_itself() -> None:
    assert chart_defaults("vpc-cni", "v1.11.1-eksbuild.3") == CHARTS["v1.11.0"]
    between = chart_defaults("vpc-cni", "v1.19.1-eksbuild.1")
    older = CHARTS["v1.19.0"]
    assert between == {**older, "env": {**older["env"], "VPC_CNI_VERSION": "v1.19.1"}}


@pytest.mark.parametrize(
    ("addon", "version", "why"),
    [
        ("coredns", "v1.11.1-eksbuild.8", "chart of coredns"),
        ("vpc-cni", "v1.23.2-eksbuild.1", "up to v1.23.1"),
        ("vpc-cni", "v1.7.5-eksbuild.1", "from v1.8.0 on"),
        ("vpc-cni", "v1.17.0-eksbuild.1", "v1.16.4 and v1.17.1 differ"),
        ("vpc-cni", "latest", "no version"),
    ],
)
def test_what_was_not_read_is_unknown(addon: str, version: str, why: str) -> None:
    found = chart_defaults(addon, version)
    assert isinstance(found, Unknown) and why in found.why


def test_the_variables_that_its_readme_documents_are_known() -> None:
    read = json.loads((READ / "vpc-cni-variables.json").read_text(encoding="utf-8"))
    assert {row["name"] for row in read} <= chart_variables()
