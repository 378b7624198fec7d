"""A dump as the README's loop makes it gives the plan that the cluster itself gives."""

from __future__ import annotations

import io
import json
from pathlib import Path

from kubectl_eksdoc.cli.main import run
from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.embedded.demo import objects as demo_objects
from tools.tables import dump


def planned(*argv: str) -> dict[str, object]:
    out, err = io.StringIO(), io.StringIO()
    code = run(["drain", "plan", "--nodegroup", "blue", "-o", "json", *argv], out, err)
    assert code == 1, err.getvalue()
    document: dict[str, object] = json.loads(out.getvalue())
    return document


def test_a_dump_of_the_demo_gives_the_demo_s_plan(tmp_path: Path) -> None:
    for resource, items in demo_objects().items():
        listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}
        (tmp_path / f"{resource.plural}.json").write_text(json.dumps(listed, indent=4), encoding="utf-8")
    from_dump, from_demo = planned("--snapshot", str(tmp_path), "--cluster-name", "demo-shop"), planned("--demo")
    assert without_server(from_dump) == without_server(from_demo)


def without_server(document: dict[str, object]) -> dict[str, object]:
    """Without the server's version, which a dump does not hold: in the metadata, and in one command."""
    text = json.dumps({key: value for key, value in document.items() if key != "metadata"})
    rest: dict[str, object] = json.loads(text.replace(" --kubernetes-version 1.33", ""))
    return rest


def test_names_that_were_given_stand_in_the_commands_of_the_plan() -> None:
    rich = str(Path(__file__).parents[1] / "data" / "clusters" / "rich.tar.gz")
    told = json.dumps(planned("--snapshot", rich, "--cluster-name", "shop")["handoffs"])
    assert "--cluster-name shop --nodegroup-name blue" in told and "CLUSTER" not in told
    assert "--cluster-name CLUSTER --nodegroup-name blue" in json.dumps(planned("--snapshot", rich)["handoffs"])


def test_the_readme_dumps_every_kind_that_a_plan_reads() -> None:
    words = dump().replace("\\\n", " ").split()
    assert words[words.index("in") + 1 : words.index("do")] == [resource.plural for resource in kinds.ALL]
