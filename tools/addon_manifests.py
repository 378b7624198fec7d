"""Make knowledge/addon_manifests.json of a folder of manifests: ``python -m tools.addon_manifests FOLDER``.

The folder has ``ADDON/VERSION.yaml`` (or .json), such as ``vpc-cni/v1.20.4.yaml``: config/master/aws-k8s-cni.yaml of
each tag of aws/amazon-vpc-cni-k8s, and pkg/addons/default/assets/coredns-*.json of eksctl-io/eksctl, by the tag of its
image. Each version is written as what it changes. Custom resource definitions are left out: users do not write to them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from kubectl_eksdoc.addon_diff.fields import value_at
from kubectl_eksdoc.kubernetes.api.ownership.fields import fields_of
from kubectl_eksdoc.kubernetes.api.ownership.trees import names_item
from kubectl_eksdoc.kubernetes.api.schema import schema_of

_TO = Path(__file__).parents[1] / "kubectl_eksdoc" / "knowledge" / "addon_manifests.json"
_SOURCES = {
    "vpc-cni": "aws/amazon-vpc-cni-k8s, config/master/aws-k8s-cni.yaml of the tag (Apache-2.0)",
    "coredns": "eksctl-io/eksctl, pkg/addons/default/assets/coredns-*.json, by its image (Apache-2.0)",
}
_ABOUT = [
    "Manifests of add-ons by version, the oldest first; python -m tools.addon_manifests makes them.",
    "changes: by object and path (steps of FieldsV1), what is other than in the record before of the same add-on;",
    "null: it is gone. Custom resource definitions are left out.",
]
Fields = dict[str, dict[str, Any]]


def main(folder: Path) -> None:
    records = [record for addon in sorted(_SOURCES) for record in _of(folder / addon, addon)]
    source = {"read": datetime.now(timezone.utc).date().isoformat(), "confidence": "high"}
    told = {"about": _ABOUT, "source": source, "records": records}
    _TO.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _of(folder: Path, addon: str) -> Iterator[dict[str, Any]]:
    before: Fields = {}
    for path in sorted(folder.iterdir(), key=lambda each: [int(n) for n in re.findall(r"\d+", each.stem)]):
        fields = _read(path)
        changes = {of: found for of in sorted({*before, *fields}) if (found := _changed(before, fields, of))}
        source = {"document": _SOURCES[addon]}
        yield {"addon": addon, "version": path.stem, "changes": changes, "source": source}
        before = fields


def _changed(before: Fields, after: Fields, of: str) -> dict[str, Any]:
    old, new = before.get(of, {}), after.get(of, {})
    gone = dict.fromkeys(sorted(old.keys() - new.keys()))
    return {path: new[path] for path in sorted(new) if path not in old or old[path] != new[path]} | gone


def _read(path: Path) -> Fields:
    found: Fields = {}
    for doc in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        for each in (doc or {}).get("items", [doc] if doc else []):
            if each["kind"] != "CustomResourceDefinition":
                found[f"{each['kind']} {each['metadata']['name']}"] = dict(_leaves(each))
    return found


def _leaves(doc: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """With the version of a fieldRef, which the API server adds to the value as a whole."""
    place = schema_of(doc["apiVersion"], doc["kind"]).root
    paths = tuple(fields_of(doc, place))
    for path in paths:
        above = path[-1].startswith("k:") and not any(
            each[: len(path)] == path and not names_item(each) for each in paths
        )
        value = value_at(doc, path, place)
        if (above or not names_item(path)) and value is not None and path[:2] not in _IDENTITY:
            assert not any(" " in step for step in path), path
            yield " ".join(path), {"apiVersion": "v1", **value} if path[-1] == "f:fieldRef" else value


_IDENTITY = (("f:apiVersion",), ("f:kind",), ("f:metadata", "f:name"), ("f:metadata", "f:namespace"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
