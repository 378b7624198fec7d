"""The fleet file, which lists clusters: YAML, JSON or plain lines; its paths are relative to its own folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.fleet import fleet_file_path, read_fleet

ARN = "arn:aws:eks:eu-west-1:111122223333:cluster/shop"


def read(folder: Path, text: str) -> list[object]:
    path = folder / "fleet"
    path.write_text(text, encoding="utf-8")
    return read_fleet(str(path), "WANTED")


@pytest.mark.parametrize(
    "text",
    [
        f"prod-eu\n# a comment\n\n  {ARN}  # ours\nprod-*\n",
        f"# first\n- prod-eu\n- {ARN}\n- 'prod-*'\n",
        json.dumps(["prod-eu", ARN, "prod-*"], indent="\t"),
        f"clusters:\n- prod-eu\n- {ARN}\n- 'prod-*'\n",
        f"\ufeffprod-eu\r\n{ARN}\r\nprod-*\r\n",
    ],
)
def test_every_way_to_write_it(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == ["prod-eu", ARN, "prod-*"] and read(tmp_path, "# nothing\n") == []


def test_paths_belong_to_the_folder_of_the_file(tmp_path: Path) -> None:
    text = "- {name: a, snapshot: dumps/a.tar.gz}\n- {context: b, kubeconfig: /k, region: dumps}\n- {snapshot: ~/b}\n"
    first, second, third = read(tmp_path, text)
    assert first == {"name": "a", "snapshot": str(tmp_path / "dumps/a.tar.gz")}
    assert second == {"context": "b", "kubeconfig": "/k", "region": "dumps"}
    assert third == {"snapshot": os.path.expanduser("~/b")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: prod\n", "holds no list of clusters"),
        ("- {name: prod\n", "is neither YAML nor JSON"),
        ("- &a prod\n- *a\n", "is neither YAML nor JSON: it has aliases"),
        ("- {context: a, profile: b, profile: c}\n", "is neither YAML nor JSON: 'profile' is twice in one object"),
    ],
)
def test_what_is_no_list_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(tmp_path, text)
    with pytest.raises(UsageError, match="cannot be read"):
        read_fleet(str(tmp_path), "WANTED")


def test_what_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prod").write_text("a\n")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert [fleet_file_path(text) for text in ("@prod", "./prod", "prod", "/x", "@new")] == [
        "prod",
        "./prod",
        "prod",
        "/x",
        "new",
    ]
    assert [fleet_file_path(text) for text in ("folder", "prod-*", ARN, "prod,", "")] == ["", "", "", "", ""]


@given(st.text(max_size=60))
def test_whatever_stands_in_it_is_a_list_or_refused(text: str) -> None:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"eksdoc-fleet-{os.getpid()}"
    path.write_text(text.encode("utf-8", "replace").decode(), encoding="utf-8", newline="")
    try:
        assert isinstance(read_fleet(str(path), "WANTED"), list)
    except UsageError as error:
        assert error.message.startswith("--fleet")
    finally:
        path.unlink()


def test_a_path_is_no_flag_and_not_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fleet.yaml").write_text('[{snapshot: "-"}, {snapshot: --demo}]')
    assert read_fleet("fleet.yaml", "") == [{"snapshot": "./-"}, {"snapshot": "./--demo"}]
