"""A dump made with the README's loop gives the same plan as the cluster itself."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.host.dump import DUMP_COMMAND, DumpReader
from kubectl_eksdoc.model import kinds
from tests.cli.running import called, document
from tools.demo.objects import objects as demo_objects
from tools.tables import dump


def planned(*argv: str) -> dict[str, Any]:
    ran = called("drain", "plan", "--nodegroup", "blue", "-o", "json", *argv)
    assert ran.code == 1, ran.err
    return document(ran.out, "DrainPlan")


def test_a_dump_of_the_demo_gives_the_demo_s_plan(tmp_path: Path) -> None:
    for resource, items in demo_objects().items():
        write(tmp_path, resource.plural, items)
    from_dump, from_demo = planned("--snapshot", str(tmp_path), "--cluster-name", "demo-shop"), planned("--demo")
    assert without_server(from_dump) == without_server(from_demo)


def without_server(document: dict[str, Any]) -> dict[str, object]:
    """The plan without the server's version, which a dump does not have: in the metadata, and in one command."""
    text = json.dumps({key: value for key, value in document.items() if key != "metadata"})
    rest: dict[str, object] = json.loads(text.replace(" --kubernetes-version 1.33", ""))
    return rest


def test_the_readme_dumps_every_kind_that_a_plan_reads() -> None:
    words = dump().replace("\\\n", " ").split()
    dumped = words[words.index("in") + 1 : words.index("do")]
    assert dumped == [*(resource.plural for resource in kinds.ALL), "customresourcedefinitions"]


def test_kinds_that_the_cluster_does_not_have_are_no_unknowns(tmp_path: Path) -> None:
    """The README's loop leaves no file for a kind that is not served, but it saves the definitions of those that
    are."""
    for resource, items in demo_objects().items():
        if not resource.custom:
            write(tmp_path, resource.plural, items)
    without = planned("--snapshot", str(tmp_path))
    assert states(without) == {"not-held"}
    write(tmp_path, "customresourcedefinitions", [definition("eniconfigs.crd.k8s.amazonaws.com")])
    with_definitions = planned("--snapshot", str(tmp_path))
    assert states(with_definitions) == {"not-served"}
    assert unknown(without) - unknown(with_definitions) == {"no-readiness-gate"}
    write(tmp_path, "customresourcedefinitions", [definition("targetgroupbindings.elbv2.k8s.aws")])
    assert unknown(planned("--snapshot", str(tmp_path))) == unknown(without)


def test_the_hint_names_every_kind() -> None:
    kinds_in_hint = re.search(r"kubectl get (\S+)", DUMP_COMMAND)
    assert kinds_in_hint is not None
    words = kinds_in_hint.group(1).split(",")
    assert len(words) == len([r for r in kinds.ALL if not r.custom]) + 3
    assert words[-1] == "crd" and {"cronjobs", "apiservices"} <= {*words}, "what check reads besides"
    with pytest.raises(SnapshotError) as caught:
        DumpReader(os.devnull).read(kinds.ALL)
    assert "targetgroupbindings and nodepools" in caught.value.hint


def write(folder: Path, plural: str, items: Sequence[object]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}
    (folder / f"{plural}.json").write_text(json.dumps(listed, indent=4), encoding="utf-8")


def definition(name: str) -> dict[str, object]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {},
    }


def states(plan: dict[str, Any]) -> set[str]:
    custom = {r.full_name for r in kinds.ALL if r.custom}
    return {read["state"] for read in plan["metadata"]["kindsRead"] if read["resource"] in custom}


def unknown(plan: dict[str, Any]) -> set[str]:
    return {found["code"] for found in plan["findings"] if found["status"] == "unknown"}
