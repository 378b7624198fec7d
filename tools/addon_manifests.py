"""Add new versions to knowledge/addon_manifests.json: ``python -m tools.addon_manifests VPC_CNI EKSCTL``, two clones.

Of aws/amazon-vpc-cni-k8s it reads config/master/aws-k8s-cni.yaml of each tag from v1.11.0, and of the head where it is
prepared for a version without a tag; of eksctl-io/eksctl coredns-*.json (by the tag of its image) and the kube-proxy of
a cluster that EKS created, which is in its tests. Known versions stay unchanged. Each version is stored as its
difference. Custom resource definitions are left out: users do not write to them. With --check nothing is written, and
exit code 1 means that there are new versions.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from kubectl_eksdoc.addon_diff.manifests import NearestManifest, known_manifests, manifest_from_documents

_TO = Path(__file__).parents[1] / "kubectl_eksdoc" / "knowledge" / "addon_manifests.json"
_CNI = "config/master/aws-k8s-cni.yaml"
_ASSETS = "pkg/addons/default"
_SOURCES = {
    "vpc-cni": f"aws/amazon-vpc-cni-k8s, {_CNI} of the tag (Apache-2.0)",
    "coredns": f"eksctl-io/eksctl, {_ASSETS}/assets/coredns-*.json, by its image (Apache-2.0)",
    "kube-proxy": f"eksctl-io/eksctl, {_ASSETS}/testdata/sample-1.25.json, of a cluster that EKS made (Apache-2.0)",
}
_ABOUT = [
    "Manifests of add-ons by version, the oldest first. python -m tools.addon_manifests writes this file.",
    "changes: the differences to the previous record of the same add-on, by object and path (steps of FieldsV1).",
    "null: the object or field is removed.",
    "Custom resource definitions are left out.",
]
Fields = dict[str, dict[str, Any]]


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m tools.addon_manifests", description="Add manifests of add-ons.")
    found.add_argument("cni", type=Path, metavar="VPC_CNI", help="clone of aws/amazon-vpc-cni-k8s, with its tags")
    found.add_argument("eksctl", type=Path, metavar="EKSCTL", help="clone of eksctl-io/eksctl")
    found.add_argument("--check", action="store_true", help="write nothing; exit code 1: there are new versions")
    return found


def main(argv: Sequence[str]) -> int:
    """The exit code."""
    args = parser().parse_args(argv)
    found = {addon: _known(addon) for addon in _SOURCES}
    new = [
        (addon, version, fields)
        for addon, version, fields in (*_of_cni(args.cni), *_of_eksctl(args.eksctl))
        if version not in found[addon] and (addon != "vpc-cni" or _order(version) >= (1, 11))
    ]
    for addon, version, fields in new:
        if version not in found[addon]:
            found[addon][version] = fields
            print(f"new: {addon} {version}")
    if new and not args.check:
        records = [record for addon in sorted(found) for record in _written(addon, found[addon])]
        source = {"read": datetime.now(timezone.utc).date().isoformat(), "confidence": "high"}
        told = {"about": _ABOUT, "source": source, "records": records}
        _TO.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(bool(new) and args.check)


def _known(addon: str) -> dict[str, Fields]:
    return {each.version: _printed(each) for each in known_manifests(addon)}


def _written(addon: str, versions: Mapping[str, Fields]) -> Iterator[dict[str, Any]]:
    before: Fields = {}
    for version in sorted(versions, key=_order):
        fields = versions[version]
        changes = {of: found for of in sorted({*before, *fields}) if (found := _changed(before, fields, of))}
        yield {"addon": addon, "version": version, "changes": changes, "source": {"document": _SOURCES[addon]}}
        before = fields


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _git(repo: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(repo), *words], capture_output=True, text=True, check=True).stdout


def _of_cni(repo: Path) -> Iterator[tuple[str, str, Fields]]:
    tags = [tag for tag in _git(repo, "tag", "--list", "v1.*").split() if re.fullmatch(r"v1\.\d+\.\d+", tag)]
    for commit in (*(tag for tag in tags if _order(tag) >= (1, 11)), "HEAD"):
        text = _git(repo, "show", f"{commit}:{_CNI}")
        named = re.search(r"amazon-k8s-cni:(v[\d.]+)", text)
        if named and (commit == "HEAD" or commit == named[1]):
            yield "vpc-cni", named[1], _read(text)


def _of_eksctl(repo: Path) -> Iterator[tuple[str, str, Fields]]:
    for path in _git(repo, "ls-tree", "-r", "--name-only", "HEAD", _ASSETS).split():
        addon = "coredns" if "/coredns-" in path else "kube-proxy" if "/testdata/sample-1.25" in path else ""
        text = _git(repo, "show", f"HEAD:{path}") if addon and path.endswith(".json") else ""
        named = re.search(rf"eks/{addon}:(v[\w.]+)(?:-minimal)?(-eksbuild\.\d+)", text) if text else None
        if named:
            fields = _read(text)
            if (
                addon == "kube-proxy"
            ):  # the tag of its image may have a variant that the version of the add-on does not have
                fields = {f"DaemonSet {addon}": _without_image(fields[f"DaemonSet {addon}"])}
            yield addon, named[1] + named[2], fields


def _without_image(values: dict[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in values.items() if not path.endswith(("f:image", "template.generation"))}


def _changed(before: Fields, after: Fields, of: str) -> dict[str, Any]:
    old, new = before.get(of, {}), after.get(of, {})
    gone = dict.fromkeys(sorted(old.keys() - new.keys()))
    return {path: new[path] for path in sorted(new) if path not in old or old[path] != new[path]} | gone


def _read(text: str) -> Fields:
    docs = [each for doc in yaml.safe_load_all(text) if doc for each in doc.get("items", [doc])]
    return _printed(manifest_from_documents("", docs))


def _printed(known: NearestManifest) -> Fields:
    return {of: {" ".join(path): values[path] for path in values} for of, values in known.objects.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
