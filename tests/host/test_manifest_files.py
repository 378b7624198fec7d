"""Manifests from files, folders and standard input: unreadable ones are named, and none is skipped silently."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.host.manifest_files import ManifestLimits, read_documents, read_manifests
from kubectl_eksdoc.model.api_objects import ManifestText

PDB = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"


def made(folder: Path, **files: str | bytes) -> str:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(folder)


def whys(found: tuple[ManifestText, ...]) -> list[str]:
    return [each.why for manifest in found for each in manifest.unread]


def test_a_folder_is_read_with_all_below_it(tmp_path: Path) -> None:
    folder = made(tmp_path, b_yaml=PDB, a__deep_yml=PDB, c_json=f"# {PDB}", d_txt=PDB, e_tpl=PDB)
    made(tmp_path / ".git", x_yaml=PDB)
    made(tmp_path / ".helm", x_yaml=PDB)
    found = read_manifests([folder])
    assert [os.path.relpath(each.path, folder) for each in found] == ["b.yaml", "c.json", ".helm/x.yaml", "a/deep.yml"]
    assert all(each.documents or each.unread for each in found)


def test_values_in_a_folder_are_left_out_and_named_files_without_objects_are_unknown(tmp_path: Path) -> None:
    folder = made(tmp_path, values_yaml="replicas: 1\n", pdb_yaml=PDB)
    assert [each.path for each in read_manifests([folder])] == [f"{folder}/pdb.yaml"]
    assert whys(read_manifests([f"{folder}/values.yaml"])) == ["there is no Kubernetes object in it"]
    (tmp_path / "pdb.yaml").rename(tmp_path / "a.txt")
    assert whys(read_manifests([folder])) == ["there is no Kubernetes object in it"]


def test_a_chart_is_known_by_its_templates_if_it_depends_on_no_other(tmp_path: Path) -> None:
    chart = "apiVersion: v2\nname: web\n"
    (only,) = read_manifests([made(tmp_path, Chart_yaml=chart, templates__pdb_yaml=PDB)])
    assert only.documents and not only.unread
    assert whys(read_manifests([f"{tmp_path}/Chart.yaml"])) == ["it is a chart of Helm, and its templates are not read"]
    folder = made(tmp_path, Chart_yaml=f"{chart}dependencies: [{{name: db}}]\n", templates__pdb_yaml=PDB)
    first, second = read_manifests([folder])
    assert first.path == f"{folder}/Chart.yaml" and first.unread[0].template and "chart of Helm" in first.unread[0].why
    assert second.documents and not second.unread


def test_all_files_that_helm_renders_are_read_whatever_their_ending(tmp_path: Path) -> None:
    folder = tmp_path / "chart" / "templates" / "more"
    folder.mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: it\nversion: 1.0.0\n")
    for name in ("a.tpl", "b.txt", "c", "d.yaml", "_helpers.tpl", ".swp", "NOTES.txt"):
        (folder / name).write_text(PDB)
    for path in (tmp_path, folder):
        read = read_manifests([str(path)])
        assert [Path(each.path).name for each in read if each.documents] == ["a.tpl", "b.txt", "c", "d.yaml"]
    (tmp_path / "chart" / "Chart.yaml").unlink()
    assert [Path(each.path).name for each in read_manifests([str(tmp_path)]) if each.documents] == ["d.yaml"]


def test_templates_of_manifests_in_a_folder_are_read(tmp_path: Path) -> None:
    wanted = ["a.yaml.gotmpl", "b.yml.j2", "c.json.tpl"]
    for name in (*wanted, "README.md", "d.yaml.bak", "e.gotmpl"):
        (tmp_path / name).write_text(PDB)
    assert [Path(each.path).name for each in read_manifests([str(tmp_path)])] == wanted


@pytest.mark.parametrize(
    ("takes", "missing"),
    [
        ("resources: [../base]", "../base"),
        ("resources: [web.yaml, https://example.org/x.yaml]", "https://example.org/x.yaml"),
        ("helmCharts: [{name: web}]", "helmCharts from elsewhere"),
        ("resources: [web.yaml, sub]", ""),
    ],
)
def test_a_kustomization_that_takes_more_than_was_read_is_unknown(tmp_path: Path, takes: str, missing: str) -> None:
    folder = made(tmp_path, web_yaml=PDB, sub__a_yaml=PDB)
    (tmp_path / "Kustomization").write_text(takes)
    assert [why.split(",")[0] for why in whys(read_manifests([folder]))] == [f"it takes {missing}"] * bool(missing)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = made(tmp_path, a_yaml=b"\xff\xfe", b_yaml="a: [", c_yaml=PDB * 30)
    (tmp_path / "d.yaml").symlink_to(tmp_path / "nowhere")
    found = read_manifests([folder], ManifestLimits(file_bytes=len(PDB) * 20))
    assert [each.path.rpartition("/")[2] for each in found] == ["a.yaml", "b.yaml", "c.yaml", "d.yaml"]
    assert all(len(each.unread) == 1 for each in found)
    assert "UTF-8" in whys(found)[0] and "No such file" in whys(found)[3]
    assert whys(read_manifests([folder], ManifestLimits(files=1)))[-1] == "more than 1 files are not read"


@pytest.mark.parametrize("path", ["nowhere.yaml", "a\0b", ""])
def test_a_path_that_is_not_there_is_at_fault(path: str) -> None:
    with pytest.raises(UsageError, match="-f"):
        read_manifests([path])


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made(tmp_path, in_yaml=PDB)
    with (tmp_path / "in.yaml").open() as given:
        monkeypatch.setattr(sys, "stdin", given)
        (found,) = read_manifests(["-"])
    assert found.path == "-" and len(found.documents) == 1


def test_no_standard_input_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert whys(read_manifests(["-"])) == ["it cannot be read: standard input is closed"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(PDB))
    assert len(whys(read_manifests(["-"]))) == 1


def test_documents_of_a_rendered_manifest_need_a_type(tmp_path: Path) -> None:
    """A document without a type would be skipped, and its fields would count as fields that EKS does not set."""
    listed = '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret"}]}'
    folder = made(tmp_path, a_yaml=f"---\n{PDB}---\n", b_json=listed)
    kinds = [each["kind"] for each in read_documents(folder, "--manifest", 1 << 20)]
    assert kinds == ["PodDisruptionBudget", "Secret"]
    made(tmp_path, c_yaml="kind: ConfigMap\nmetadata: {name: web}\n")
    with pytest.raises(UsageError, match="c.yaml has a document without apiVersion and kind"):
        read_documents(folder, "--manifest", 1 << 20)


def test_a_folder_that_is_a_link_is_read_nowhere_else_is_named(tmp_path: Path) -> None:
    deploy, common = tmp_path / "deploy", tmp_path / "common"
    for folder in (deploy, common):
        folder.mkdir()
        (folder / "web.yaml").write_text("apiVersion: v1\nkind: Service\n")
    (deploy / "loop").symlink_to(deploy)
    assert [each.path for each in read_manifests([str(deploy)])] == [str(deploy / "web.yaml")]
    (deploy / "common").symlink_to(common)
    told = {each.path: [one.why for one in each.unread] for each in read_manifests([str(deploy)])}
    why = "it is a link to a folder, which is not read: name that folder, too"
    assert told == {str(deploy / "common"): [why], str(deploy / "web.yaml"): []}
    assert not any(each.unread for each in read_manifests([str(deploy), str(common)]))
