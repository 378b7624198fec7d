"""Manifests for krew: a plugin's values as the text that an index holds."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from kubectl_eksdoc.core.rules.krew.manifests import API_VERSION, KIND


@dataclass(frozen=True, slots=True)
class Platform:
    """`os` and `arch` as Go names them; "" as `arch` is any. `sha256` of what `uri` leads to."""

    os: str
    arch: str
    uri: str
    sha256: str
    bin: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`version` begins with a v. `description` and `caveats` are lines that stay as they are; no `caveats` is ""."""

    name: str
    version: str
    short: str
    description: str
    homepage: str
    platforms: tuple[Platform, ...]
    caveats: str = ""


class _Block(str):
    """Text of several lines, written as such."""


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their names, as in krew-index."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _block(dumper: yaml.SafeDumper, text: _Block) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")


_Dumper.add_representer(_Block, _block)


def rendered(manifest: Manifest) -> str:
    """The text of NAME.yaml; the same values are the same bytes."""
    spec: dict[str, object] = {
        "version": manifest.version,
        "homepage": manifest.homepage,
        "shortDescription": manifest.short,
        "description": _lines(manifest.description),
    }
    if manifest.caveats:
        spec["caveats"] = _lines(manifest.caveats)
    spec["platforms"] = [_platform(each) for each in manifest.platforms]
    document = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": manifest.name}, "spec": spec}
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)


def _lines(text: str) -> _Block:
    return _Block("".join(f"{line.rstrip()}\n" for line in text.strip().splitlines()))


def _platform(platform: Platform) -> dict[str, object]:
    labels = {"os": platform.os} | ({"arch": platform.arch} if platform.arch else {})
    return {
        "selector": {"matchLabels": labels},
        "uri": platform.uri,
        "sha256": platform.sha256,
        "bin": platform.bin,
    }
