"""Manifests for krew: a plugin's values as the text for an index."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from tools.krew.lint.manifests import API_VERSION, KIND


@dataclass(frozen=True, slots=True)
class Platform:
    """`os` and `arch` as in Go; `arch` "" is any. `sha256` of the archive at `uri`."""

    os: str
    arch: str
    uri: str
    sha256: str
    bin: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`version` begins with a v. `description` and `caveats` are lines that are not reflowed; `caveats` "" is none."""

    name: str
    version: str
    short: str
    description: str
    homepage: str
    platforms: tuple[Platform, ...]
    caveats: str = ""


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their names, as in krew-index, and multi-line texts are block scalars."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def as_yaml(document: object) -> str:
    """The same values give the same bytes."""
    found: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)
    return found


def rendered(manifest: Manifest) -> str:
    """The text of NAME.yaml; without platforms, the text before them."""
    spec: dict[str, object] = {
        "version": manifest.version,
        "homepage": manifest.homepage,
        "shortDescription": manifest.short,
        "description": _lines(manifest.description),
    }
    if manifest.caveats:
        spec["caveats"] = _lines(manifest.caveats)
    if manifest.platforms:
        spec["platforms"] = [_platform(each) for each in manifest.platforms]
    return as_yaml({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": manifest.name}, "spec": spec})


def _lines(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip().splitlines())


def _platform(platform: Platform) -> dict[str, object]:
    labels = {"os": platform.os} | ({"arch": platform.arch} if platform.arch else {})
    return {
        "selector": {"matchLabels": labels},
        "uri": platform.uri,
        "sha256": platform.sha256,
        "bin": platform.bin,
    }
