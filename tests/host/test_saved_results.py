"""A saved result is read back unchanged, and any other file at the path is rejected in one sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.baseline.changes import outline_of
from kubectl_eksdoc.check.plan import CheckScope
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.host.saved import is_snapshot, read_saved_result
from kubectl_eksdoc.model.api_objects import IMDS_PROBE, UPGRADE_CHECK
from kubectl_eksdoc.model.baseline import SavedResult
from kubectl_eksdoc.report.text import Appearance
from tests.check.report.checked import SKEW, STUCK, accepted, usual, view

SEEN = view(usual(SKEW, STUCK), CheckScope(suppressions=(accepted(STUCK),)))
TEXT = SEEN.render("json", Appearance())


def read(text: str | bytes, folder: Path, kind: str = UPGRADE_CHECK) -> SavedResult:
    path = folder / "answer.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_saved_result(str(path), kind, "check")


def refusal(text: str | bytes, folder: Path, kind: str = UPGRADE_CHECK) -> str:
    with pytest.raises(BaselineError) as caught:
        read(text, folder, kind)
    assert "\n" not in caught.value.message and caught.value.exit_code == 2
    return caught.value.message.removeprefix(f"{folder / 'answer.json'} ")


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_an_answer_is_read_back_as_it_was_made(output: str, tmp_path: Path) -> None:
    plan, found = SEEN.plan, read(SEEN.render(output, Appearance()), tmp_path)
    cluster = plan.facts.cluster
    assert found.findings == tuple(map(outline_of, plan.findings))
    assert found.suppressed == tuple(outline_of(each.finding) for each in plan.suppressed) != ()
    assert (found.identity, found.source, found.tool_version) == (cluster.identity, cluster.source, SEEN.tool_version)
    assert found.codes == {code.name for each in plan.judged for code in each.check.codes}
    assert found.read == {each.resource.full_name for each in cluster.reads if each.known}
    assert found.options == SEEN.options and found.way == "1.33 → 1.34"
    assert found.file == str(tmp_path / "answer.json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is no answer of this tool: it is no object"),
        ('{"apiVersion": "v1", "kind": "List"}', "is no answer of this tool: it is a List, as a dump is"),
        ('{"apiVersion": "eksdoc.io/v1alpha1", "kind": []}', "is no answer of this tool: it is something else"),
        (
            '{"apiVersion": "eksdoc.io/v9", "kind": "UpgradeCheck"}',
            "is in the form eksdoc.io/v9, and this",
        ),
        ('{"apiVersion": "eksdoc.io/v1alpha1", "kind": "UpgradeCheck"}', "metadata is missing"),
        (gzip.compress(b"x" * 257 + b"ustar\x0000", mtime=0), "is a snapshot, and not an answer: save the result"),
        (b"\x1f\x8b\x08", "is not JSON: it is packed, and broken"),
        (b"x" * 257 + b"ustar\x0000", "is a snapshot, and not an answer: save the result with -o json"),
        ("", "is empty"),
        (TEXT[:-40], "is not JSON, or not all of it"),
        ("[" * 200_000, "it is nested too deeply"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_no_answer_is_refused(text: str | bytes, said: str, tmp_path: Path) -> None:
    assert said in refusal(text, tmp_path)


def test_an_answer_of_another_command_is_named(tmp_path: Path) -> None:
    said = refusal(TEXT, tmp_path, IMDS_PROBE)
    assert said == "is an answer of another command than check: UpgradeCheck"
    said = refusal('{"apiVersion": "eksdoc.io/v1alpha1", "kind": "Fleet"}', tmp_path)
    assert said == "is the answer of a fleet: only that of one cluster is compared"


def test_a_folder_is_a_dump_and_what_is_not_there_is_no_snapshot(tmp_path: Path) -> None:
    assert is_snapshot(str(tmp_path)) and not is_snapshot(str(tmp_path / "none")) and not is_snapshot("a\0b")
    for path, said in ((tmp_path, "is a snapshot"), (tmp_path / "none", "cannot read"), (Path("-"), "not standard")):
        with pytest.raises(BaselineError, match=said):
            read_saved_result(str(path), UPGRADE_CHECK, "check")


def test_what_an_older_version_did_not_write_is_left_open(tmp_path: Path) -> None:
    document = json.loads(TEXT)
    kept = {key: document[key] for key in ("apiVersion", "kind", "metadata", "findings")}
    found = read(json.dumps(kept), tmp_path)
    assert (found.codes, found.suppressed, found.addons, found.way) == (None, (), {}, "")
    assert found.findings == read(TEXT, tmp_path).findings


def test_what_powershell_writes_is_read(tmp_path: Path) -> None:
    assert read(TEXT.encode("utf-16"), tmp_path) == read(TEXT, tmp_path)


STRANGE = (None, True, -1, 1e300, 10**30, "", "x", "\ud800\x1b[2J", [], ["a", 1], {}, {"name": "x"}, [[]])


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key or position) in a document."""
    keys: Any = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    return [place for key in keys for place in ((node, key), *places(node[key]))]


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
def test_whatever_a_value_is_changed_to(step: int, tmp_path: Path) -> None:
    """The reader returns facts or a refusal, never another error."""
    document = json.loads(TEXT)
    document["metadata"]["kindsRead"] = document["metadata"]["kindsRead"][:2]
    document |= {"checklist": [], "checks": document["checks"][:2]}
    seen = set()
    for holder, key in places(document)[::step]:
        kept = holder[key]
        for value in STRANGE:
            holder[key] = value
            try:
                read(json.dumps(document), tmp_path)
                seen.add("read")
            except BaselineError as error:
                assert "\n" not in error.message
                seen.add("refused")
        holder[key] = kept
    assert seen == {"read", "refused"}
