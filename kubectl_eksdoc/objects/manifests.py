"""Parser of manifests: which objects are in YAML documents, JSON, and Lists of them; also in Helm releases.

Only ``apiVersion``, ``kind`` and ``metadata`` are kept, event by event: no other value is built, no tag creates an
object, and aliases do not expand. Documents are split at lines that begin with ``---``, as kubectl and Helm do
(apimachinery pkg/util/yaml; helm pkg/releaseutil), so that one unreadable document does not hide others.
"""

from __future__ import annotations

import binascii
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from kubectl_eksdoc.amazon.written_kinds import KEPT_BY_SERVER, LAST_APPLIED, row_of, written
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import (
    Doc,
    Document,
    HelmRelease,
    ManifestText,
    ObjectName,
    Unread,
    WrittenObject,
    at,
    text_at,
)
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.yaml_events import TooDeep, events_of

from .single import NoJson, decode
from .structs import Lean

DEEPEST = 50
"""Levels of Lists in Lists; kubectl creates one."""

_MARK = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_NO_CONTENT = re.compile(r"(?:[ \t]*(?:#.*|%.*|\.\.\.[ \t]*)?(?:\r?\n|\Z))*\Z")
_TEMPLATE = "{{"
_OWN_LINE = re.compile(r"^\{\{", re.MULTILINE)
"""Template lines that render whole objects; ``{{ toYaml .Values.more }}`` alone is valid YAML, a mapping of
mappings."""
_MADE = re.compile(r"^\{\{-?\s*(?:include|template|tpl|toYaml)\b", re.MULTILINE)
_CONTROL = re.compile(
    r"^[ \t]*\{\{-?\s*(?:(?:if|else|end|range|with)\b|/\*|\$\w*\s*:?=)(?:(?!\}\}).)*\}\}[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
"""A template line that controls which parts are rendered, and renders none itself."""
_SAID = re.compile(r"""^(apiVersion|kind):[ \t]*(["']?)([^\s"'#]+)\2[ \t]*(?:#.*)?$""", re.MULTILINE)
"""At the margin of a template: a field of the object itself."""
_NAME = re.compile(r"^metadata:[ \t]*\r?\n(?:[ \t]+.*\n)*?[ \t]+name:[ \t]*([a-z0-9.-]+)[ \t]*$", re.MULTILINE)
_VERSION = re.compile(r"(?:[a-z0-9.-]+/)?v[0-9][a-z0-9]*")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]*")
"""Valid kinds; ``${API}``, ``$(API)`` and ``"{{ .Values.api }}"`` are valid YAML, but no versions."""


def manifest_of(text: str, path: str = "") -> ManifestText:
    """Every object with a kind; documents without one, such as values and charts, are ignored. Unreadable parts are
    named."""
    found = _Found()
    for at_line, part in _parts(text):
        template, before = _TEMPLATE in part, (len(found.documents), len(found.unread))
        try:
            for root, line in _roots(part):
                for of, why, within in _objects(root, "", "", DEEPEST, set()):
                    first = at_line + (line if within is None else within) + 1
                    if why and (path or of is None):  # a release is applied only by Helm
                        found.unread.append(Unread(first, why, template))
                    if of is not None:
                        found.documents.append(Document(of, first))
        except _NotReadable as error:
            if template and (of := _literal(part)) is not None:
                first = part.count("\n", 0, next(_SAID.finditer(part)).start())
                found.documents.append(Document(of, at_line + first + 1))
            else:
                line = min(error.line, part.rstrip().count("\n"))  # at the end of the text the parser is one line ahead
                found.unread.append(Unread(at_line + line + 1, str(error), template))
        makes = _OWN_LINE if before == (len(found.documents), len(found.unread)) else _MADE
        if before[1] == len(found.unread) and makes.search(part):
            found.unread.append(Unread(at_line + 1, "it makes objects that are not in the text", True))
    return ManifestText(path, tuple(found.documents), tuple(found.unread), _TEMPLATE in text)


class _NotReadable(ValueError):
    """The message is the reason, a clause; `line` from 0, within the document."""

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


@dataclass(slots=True)
class _Found:
    documents: list[Document] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Each document with the number of lines before it; documents without content are left out."""
    begin = line = 0
    marks = [*(each.start() for each in _MARK.finditer(text)), len(text)]
    for end in marks:
        part = text[begin:end]
        content = part.removeprefix("---")
        if part and _NO_CONTENT.match(_CONTROL.sub("", content) if _TEMPLATE in content else content) is None:
            yield line, part
        line += part.count("\n")
        begin = end


def _literal(part: str) -> ObjectName | None:
    """The object in a template that is not YAML before Helm renders it: its only apiVersion and its only kind, as
    written. With two versions, only Helm knows which one is rendered."""
    said = {(each.group(1), each.group(3)) for each in _SAID.finditer(part)}
    told = dict(said)
    version, kind = told.get("apiVersion", ""), told.get("kind", "")
    if len(said) != 2 or not (_VERSION.fullmatch(version) and _KIND.fullmatch(kind)) or kind.endswith("List"):
        return None
    name = _NAME.search(part)
    return ObjectName(version, kind, "", name.group(1) if name else "of a template")


def _objects(
    root: Any, version: str, kind: str, deepest: int, seen: set[tuple[int, str, str]]
) -> Iterator[tuple[ObjectName | None, str, int | None]]:
    """`version` and `kind` come from the enclosing List. Yields the name, the reason why it cannot be identified, and
    its line, as far as each is known. `seen`: with aliases, a short text can contain the same Lists millions of times.
    """
    if isinstance(root, list) and any(isinstance(each, dict) and each.get("kind") for each in root):
        yield None, "it is a sequence of objects, which kubectl does not take: make it the items of a List", None
    if not isinstance(root, dict) or (at := (id(root), version, kind)) in seen:
        return
    seen.add(at)
    kind, version = text_at(root, "kind") or kind, text_at(root, "apiVersion") or version
    items, line = root.get("items"), root.get(_LINE)
    if kind == "List" and not (items is None or isinstance(items, list)):
        yield None, "the items of a List are no list", line
    elif kind.endswith("List") and isinstance(items, list):
        if not deepest:
            yield None, f"it has Lists in Lists, deeper than {DEEPEST}", line
            return
        of_items = ("", "") if kind == "List" else (version, kind.removesuffix("List"))
        if not all(isinstance(each, dict) and (of_items[1] or each.keys() & _SAYS) for each in items):
            yield None, f"an item of a {kind} is no object with a kind", line
        for each in items:
            yield from _objects(each, *of_items, deepest - 1, seen)
    elif why := _unnamed(root, version, kind):
        yield None, why, line
    elif kind:
        namespace, name = (text_at(root, "metadata", key) for key in ("namespace", "name"))
        yield ObjectName(version, kind, namespace, name), _within(root, version, kind), line


def _within(root: Mapping[Any, Any], version: str, kind: str) -> str:
    """Why its content is not checked: it is a template, or holds objects that are applied later. ConfigMaps that hold
    configuration of other programs are ignored."""
    if kind == "Template" and version in ("v1", "template.openshift.io/v1"):
        return "what is made of a Template is not judged: check what oc process prints"
    data = root.get("data")
    for key, held in data.items() if kind == "ConfigMap" and isinstance(data, dict) else ():
        said = {each.group(1): each.group(3) for each in _SAID.finditer(held)} if isinstance(held, str) else {}
        if len(said) > 1 and not said["kind"].endswith(("Config", "Configuration")):
            return f"its {key} holds a {said['kind']}, which is not judged: check it as a file"
    return ""


def _unnamed(root: Mapping[Any, Any], version: str, kind: str) -> str:
    """Why its version and kind cannot be identified; "" if they can, or if it is not an object."""
    if not kind:
        if _MERGE in root:
            return "it takes its kind from another part of the text (<<), which is not read here"
        if root.get("kind") is not None:
            return "its kind is no text"
        return f"it has apiVersion {version}, and no kind" if "/" in version else ""
    if not version:
        return f"the apiVersion of a {kind} is " + ("no text" if root.get("apiVersion") is not None else "not said")
    if not (_VERSION.fullmatch(version) and _KIND.fullmatch(kind)):
        return f"{version!r} {kind!r} is no apiVersion and kind: another tool is to fill it in"
    return ""


def _roots(part: str) -> Iterator[tuple[Any, int]]:
    """The relevant part of each document, and its line; text that is not YAML is parsed as JSON."""
    import yaml

    try:
        yield from _Walk(part).roots()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = f"   {part[3:]}" if part.startswith("---") else part
        is_json = text.lstrip().startswith("{") and not text.lstrip().startswith(_TEMPLATE)
        if is_json and not isinstance(error, (_NotReadable, TooDeep)):
            yield from _json(text)
            return
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise _NotReadable(f"it is no YAML: {' '.join(str(problem).split())}", getattr(mark, "line", 0)) from error


def _json(part: str) -> Iterator[tuple[Any, int]]:
    """JSON documents one after the other, as kubectl accepts them; tabs, and surrogate pairs, are not YAML."""
    at, decoder = 0, json.JSONDecoder()
    while (rest := _SPACE.match(part, at)) is not None and rest.end() < len(part):
        line = part.count("\n", 0, rest.end())
        try:
            root, at = decoder.raw_decode(part, rest.end())
        except (ValueError, RecursionError) as error:
            raise _NotReadable(f"it is neither YAML nor JSON: {error}", line) from error
        yield root, line


_SPACE = re.compile(r"[ \t\r\n]*")
_MERGE = "<<"
_LINE = None
"""Key of an object's first line, from 0; no text can have this key."""
_SAYS = frozenset({"kind", "apiVersion", _MERGE})
_NULLS = ("", "~", "null", "Null", "NULL")
_META: Mapping[str, Any] = {"name": None, "namespace": None}


class _Walk:
    """Walks over the parser events of one document. Mutable."""

    def __init__(self, part: str) -> None:
        import yaml

        self._yaml = yaml
        self._events: Iterator[Any] = events_of(part)
        self._anchors: dict[str, Any] = {}

    def roots(self) -> Iterator[tuple[Any, int]]:
        made: list[tuple[Any, int]] = []
        for event in self._events:
            if isinstance(event, self._yaml.DocumentStartEvent):
                first: Any = next(self._events)
                made.append((self._node(first, _OBJECT), first.start_mark.line))
        yield from made  # all of them or none: after an error the text may be parsed as JSON from its beginning

    def _node(self, event: Any, wanted: Any) -> Any:
        """The relevant part of a node: a text, a mapping with some of its keys, a list, or None for anything else."""
        yaml = self._yaml
        if isinstance(event, yaml.AliasEvent):
            return self._anchors.get(event.anchor)
        if isinstance(event, yaml.ScalarEvent):
            null = event.implicit[0] and event.value in _NULLS
            made: Any = None if null else event.value
        elif isinstance(event, yaml.MappingStartEvent):
            made = self._mapping(wanted)
            if wanted is _OBJECT:
                made[_LINE] = event.start_mark.line
        else:
            made = self._sequence(wanted)
        if event.anchor:
            self._anchors[event.anchor] = made
        return made

    def _mapping(self, wanted: Any) -> Any:
        made: dict[str, Any] = {}
        keys = wanted if isinstance(wanted, Mapping) else {}
        for event in self._events:
            if isinstance(event, self._yaml.MappingEndEvent):
                break
            key: Any = event.value if isinstance(event, self._yaml.ScalarEvent) else None
            self._skip(event)
            value = next(self._events)
            if key in keys or (wanted is _TEXTS and isinstance(key, str)):
                made[key] = self._node(value, keys.get(key))
            else:
                self._skip(value)
        return made

    def _sequence(self, wanted: Any) -> Any:
        made: list[Any] = []
        for event in self._events:
            if isinstance(event, self._yaml.SequenceEndEvent):
                break
            if wanted is _ITEMS or wanted is _OBJECT:
                made.append(self._node(event, _OBJECT))
            else:
                self._skip(event)
        return made

    def _skip(self, event: Any) -> None:
        """Skip a node and everything in it; texts with anchors are kept, because an alias may use one as an apiVersion
        later."""
        yaml, depth = self._yaml, 0
        while True:
            if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                depth += 1
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                depth -= 1
            elif isinstance(event, yaml.ScalarEvent) and event.anchor:
                self._anchors[event.anchor] = event.value
            if depth <= 0:
                return
            event = next(self._events)


_ITEMS: Mapping[str, Any] = {"items": None}
_TEXTS: Mapping[str, Any] = {}
"""Under any key."""
_OBJECT: Mapping[str, Any] = {
    "apiVersion": None,
    "kind": None,
    "metadata": _META,
    "items": _ITEMS,
    "data": _TEXTS,
    _MERGE: None,
}


# Helm releases from Secrets: only which objects are in their manifests.
#
# Sources: helm pkg/storage/driver/util.go (``release``: base64 of gzip of JSON; text without gzip is read, too) and
# secrets.go (type ``helm.sh/release.v1``; labels ``owner=helm``, ``name``, ``status``, ``version``, the revision). The
# API encodes the data of a Secret as base64 once more. Values, chart and notes are not decoded.


TYPE = "helm.sh/release.v1"
SELECTOR = "owner=helm"
LARGEST = 4 << 20
"""Bytes of a release in its Secret. An API server accepts 1 MiB (MaxSecretSize)."""
LARGEST_INFLATED = 64 << 20
STEEPEST = 300
"""Maximum compression ratio. A release is text written by users, with its chart: gzip compresses it to a tenth or a
hundredth."""

_GZIP = b"\x1f\x8b\x08"
_LABELS = ("owner", "name", "status", "version")
_DEPLOYED, _UNINSTALLED = "deployed", "uninstalled"


@frozen
class HelmRevision:
    """One revision of a release, by the labels of its Secret, whose name is `secret`."""

    namespace: str
    name: str
    revision: int
    status: str
    secret: str


def kept(secret: Doc) -> HelmRevision | None:
    """None if it is not a revision of a release; only its metadata is read."""
    namespace, own = (text_at(secret, "metadata", key) for key in ("namespace", "name"))
    owner, name, status, version = (text_at(secret, "metadata", "labels", label) for label in _LABELS)
    if owner != "helm" or not name or not own or not _number(version):
        return None
    return HelmRevision(namespace, name, int(version), status, own)


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def latest(found: Iterable[HelmRevision]) -> tuple[HelmRevision, ...]:
    """The current revision of each release, from which the next ``helm upgrade`` starts: the deployed one, else the
    last, failed or superseded (helm pkg/action/upgrade.go, prepareUpgrade). Uninstalled releases with a kept history
    are left out: they are not in the cluster."""
    best: dict[tuple[str, str], HelmRevision] = {}
    for each in found:
        key = each.namespace, each.name
        if key not in best or _rank(best[key]) < _rank(each):
            best[key] = each
    return tuple(each for _, each in sorted(best.items()) if each.status != _UNINSTALLED)


def _rank(each: HelmRevision) -> tuple[bool, int]:
    return each.status == _DEPLOYED, each.revision


def release(of: HelmRevision, secret: Doc) -> HelmRelease:
    """The release in the complete Secret."""
    made = HelmRelease(of.namespace, of.name, of.revision, of.status, ManifestText(""))
    try:
        held = _held(secret)
    except _HelmReleasesNotReadable as error:
        return replace(made, manifest=Unknown(f"the Secret {of.secret} of namespace {of.namespace} {error}"))
    hooks = (hook.manifest or "" for hook in held.hooks or ())
    return replace(made, manifest=manifest_of(held.manifest or ""), hooks=manifest_of("\n---\n".join(hooks)))


class _HelmReleasesNotReadable(ValueError):
    """The reason, as words that follow the name of the Secret; without any of its content."""


class _Hook(Lean):
    manifest: str | None = None


class _Release(Lean):
    manifest: str | None = None
    hooks: list[_Hook] | None = None


_decode = msgspec.json.Decoder(_Release).decode


def _held(secret: Doc) -> _Release:
    try:
        return _decode(_helm_releases_json(secret))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _HelmReleasesNotReadable("holds no release: what is in it is no JSON of one") from error


def _helm_releases_json(secret: Doc) -> bytes:
    held = text_at(secret, "data", "release")
    if not held:
        raise _HelmReleasesNotReadable("has no release in it")
    if len(held) > 2 * LARGEST:
        raise _HelmReleasesNotReadable(f"is larger than {LARGEST >> 20} MiB")
    packed = _base64(_base64(held.encode("utf-8", "replace")))
    return _inflated(packed) if packed.startswith(_GZIP) else packed


def _base64(text: bytes) -> bytes:
    try:
        return binascii.a2b_base64(text)
    except (binascii.Error, ValueError) as error:
        raise _HelmReleasesNotReadable("holds no release: it is no base64") from error


def _inflated(packed: bytes) -> bytes:
    """The output is limited, whatever the data claims."""
    most = min(LARGEST_INFLATED, max(1 << 20, STEEPEST * len(packed)))
    inflating: Any = zlib.decompressobj(wbits=31)
    try:
        made: bytes = inflating.decompress(packed, most + 1)
    except zlib.error as error:
        raise _HelmReleasesNotReadable("holds no release: it is no gzip") from error
    if len(made) > most:
        raise _HelmReleasesNotReadable(f"grows to more than {most >> 20} MiB when it is unpacked")
    if not inflating.eof:
        raise _HelmReleasesNotReadable("holds a truncated release")
    return made


# API versions in which an object was written: from its metadata, of which nothing else is kept.
#
# Source: amazon.written_kinds.


def written_object(doc: Doc, kind: str, api_version: str) -> WrittenObject | None:
    """`kind` and `api_version` as the server returns them. None if no write record has a version that is ever
    removed."""
    signs = written({**doc, "kind": kind}, _applied(at(doc, "metadata", "annotations", LAST_APPLIED)))
    if not any(row_of(sign) is not None for sign in signs):
        return None
    namespace, name = (text_at(doc, "metadata", key) for key in ("namespace", "name"))
    kept = at(doc, "metadata", "annotations", KEPT_BY_SERVER) == "true"
    return WrittenObject(ObjectName(api_version, kind, namespace, name), signs, kept)


def has_managed_fields(doc: Doc) -> bool:
    """Every object of an API server has them; kubectl omits them unless told to show them."""
    return bool(at(doc, "metadata", "managedFields"))


def _applied(text: Any) -> Any:
    """Version and kind of the last applied manifest; None if there is none."""
    if not isinstance(text, str):
        return None
    try:
        said = decode(text.encode("utf-8", "replace"))
    except NoJson:
        return None
    return {key: said.get(key) for key in ("apiVersion", "kind")} if isinstance(said, dict) else None
