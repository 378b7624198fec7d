"""Tables and partial metadata: whole bodies, as a real kube-apiserver 1.36.2 gave them.

The Date of these answers was not recorded; the ages in them say that it was 07:46:12. Nor were the nodes in full, but
for one: the others get its status, with what their group's kubelets report (`clusters/small-traps`).
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.api.tables.table import partial, partial_list, table
from kubectl_eksdoc.kubernetes.api.resources import Served
from kubectl_eksdoc.model.api_objects import with_value
from tests.fakes import recordings

Doc = dict[str, Any]

NOW = datetime(2026, 11, 20, 7, 46, 12, tzinfo=timezone.utc)


def served(plural: str) -> Served:
    found = Catalogue().find("", "v1", plural)
    assert found is not None
    return found


def node(metadata: Doc) -> Doc:
    """A node of this metadata with the recorded status, and its own group's versions."""
    made: Doc = {**recordings.document("node"), "metadata": metadata}
    if metadata["labels"]["eks.amazonaws.com/nodegroup"] == "green":
        made = with_value(made, ("status", "nodeInfo", "kubeletVersion"), "v1.30.6-eks-94953ac")
        made = with_value(made, ("status", "nodeInfo", "osImage"), "Amazon Linux 2023")
    return made


def test_partial_metadata() -> None:
    recorded = recordings.document("pods partial metadata")
    pods = recordings.document("pods page 1")["items"][:2]
    assert partial_list(pods, recorded["metadata"]) == recorded
    assert partial(pods[0]) == recorded["items"][0]


def test_a_single_object_gives_the_table_its_version() -> None:
    one = recordings.document("node")
    said = table(served("nodes"), [one], NOW)
    assert said["metadata"] == {"resourceVersion": one["metadata"]["resourceVersion"]}


def test_what_a_row_holds_of_its_object() -> None:
    one = recordings.document("node")
    rows = {what: table(served("nodes"), [one], NOW, what)["rows"][0] for what in ("Metadata", "Object", "None")}
    assert rows["Metadata"]["object"] == partial(one)
    assert rows["Object"]["object"] == one
    assert rows["None"]["object"] is None


def test_later_events_of_a_watch_have_no_columns() -> None:
    assert table(served("nodes"), [recordings.document("node")], NOW, headers=False)["columnDefinitions"] is None


def test_an_empty_list_has_columns_and_no_rows() -> None:
    said = table(served("pods"), [], NOW, list_meta={"resourceVersion": "7"})
    assert [column["name"] for column in said["columnDefinitions"]][:3] == ["Name", "Ready", "Status"]
    assert (said["rows"], said["metadata"]) == ([], {"resourceVersion": "7"})
