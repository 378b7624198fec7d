"""The software bill of materials, as CycloneDX 1.6: the content of the archives for krew, with licences and
checksums."""

from __future__ import annotations

import json
import re
import uuid
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from tools.krew.lock import sha256
from tools.krew.pins import Pin

NAME = "kubectl-eksdoc"
_REQUIRED = re.compile(r"^([A-Za-z0-9._-]+)")


def sbom(version: str, date: str, wheels: Mapping[Pin, Sequence[Path]]) -> str:
    """The same wheels give the same text. Dependencies include all packages of an archive; the machine of a msgspec
    wheel is in its file name."""
    metadata = {pin: metadata_of(paths[0]) for pin, paths in wheels.items()}
    main = _component(Pin(NAME, version), "application", ["Apache-2.0"])
    components = [
        _component(pin, "library", licences(metadata[pin])) | {"externalReferences": list(map(_reference, paths))}
        for pin, paths in wheels.items()
    ]
    refs = {pin.name: purl(pin) for pin in wheels}
    depends = [{"ref": purl(Pin(NAME, version)), "dependsOn": sorted(refs.values())}]
    depends += [{"ref": refs[pin.name], "dependsOn": _needs(metadata[pin], refs)} for pin in wheels]
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": f"{date}T00:00:00Z", "component": main},
        "components": components,
        "dependencies": depends,
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return json.dumps({**document, "serialNumber": f"urn:uuid:{number}"}, indent=2, sort_keys=True) + "\n"


def purl(pin: Pin) -> str:
    return f"pkg:pypi/{pin.name}@{pin.version}"


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
        return HeaderParser().parsestr(archive.read(name).decode("utf-8"))


def licences(metadata: Message) -> list[str]:
    """An expression where there is one, else the names of classifiers, else the field's first line; [] for none."""
    expression = metadata.get("License-Expression")
    if expression:
        return [expression]
    named = [each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier", ()) if each.startswith("License ::")]
    field = (metadata.get("License") or "").strip().splitlines()[:1]
    return named or field


def _component(pin: Pin, kind: str, licensed: Sequence[str]) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": kind,
        "bom-ref": purl(pin),
        "name": pin.name,
        "version": pin.version,
        "purl": purl(pin),
    }
    if licensed:
        component["licenses"] = [{"license": {"name": each}} for each in licensed]
    return component


def _reference(wheel: Path) -> dict[str, Any]:
    name, version = wheel.name.split("-")[:2]
    return {
        "type": "distribution",
        "url": f"https://pypi.org/project/{name.replace('_', '-').lower()}/{version}/#files",
        "comment": wheel.name,
        "hashes": [{"alg": "SHA-256", "content": sha256(wheel)}],
    }


def _needs(metadata: Message, refs: Mapping[str, str]) -> list[str]:
    """Its requirements, without extras, that are in the archives."""
    required: Iterable[str] = metadata.get_all("Requires-Dist", ())
    names = {match[1] for each in required if "extra ==" not in each and (match := _REQUIRED.match(each))}
    return sorted(refs[name] for name in {re.sub(r"[-_.]+", "-", each).lower() for each in names} if name in refs)
