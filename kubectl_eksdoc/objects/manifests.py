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

from kubectl_eksdoc.amazon.written_kinds import AUTO_UPDATE_ANNOTATION, LAST_APPLIED, row_of, written_versions
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import (
    Doc,
    HelmRelease,
    ManifestObject,
    ManifestText,
    ObjectName,
    UnreadablePart,
    WrittenObject,
    nested_field,
    nested_string,
)
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.yaml_events import TooDeep, parse_events

from .single import InvalidJson, decode_json
from .structs import LeanStruct

MAX_DEPTH = 50
"""Levels of Lists in Lists; kubectl creates one."""

_DOCUMENT_MARK = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_NO_CONTENT = re.compile(r"(?:[ \t]*(?:#.*|%.*|\.\.\.[ \t]*)?(?:\r?\n|\Z))*\Z")
_TEMPLATE = "{{"
_TEMPLATE_LINE = re.compile(r"^\{\{", re.MULTILINE)
"""Template lines that render whole objects; ``{{ toYaml .Values.more }}`` alone is valid YAML, a mapping of
mappings."""
_RENDERED_LINE = re.compile(r"^\{\{-?\s*(?:include|template|tpl|toYaml)\b", re.MULTILINE)
_CONTROL_LINE = re.compile(
    r"^[ \t]*\{\{-?\s*(?:(?:if|else|end|range|with)\b|/\*|\$\w*\s*:?=)(?:(?!\}\}).)*\}\}[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
"""A template line that controls which parts are rendered, and renders none itself."""
_TYPE_FIELD = re.compile(r"""^(apiVersion|kind):[ \t]*(["']?)([^\s"'#]+)\2[ \t]*(?:#.*)?$""", re.MULTILINE)
"""At the margin of a template: a field of the object itself."""
_NAME_FIELD = re.compile(r"^metadata:[ \t]*\r?\n(?:[ \t]+.*\n)*?[ \t]+name:[ \t]*([a-z0-9.-]+)[ \t]*$", re.MULTILINE)
_VERSION = re.compile(r"(?:[a-z0-9.-]+/)?v[0-9][a-z0-9]*")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]*")
"""Valid kinds; ``${API}``, ``$(API)`` and ``"{{ .Values.api }}"`` are valid YAML, but no versions."""


def parse_manifest(text: str, path: str = "") -> ManifestText:
    """Every object with a kind; documents without one, such as values and charts, are ignored. Unreadable parts are
    named."""
    content = _ManifestContent()
    for lines_before, part in _split_documents(text):
        template, counts_before = _TEMPLATE in part, (len(content.documents), len(content.unread))
        try:
            for root, line in _document_roots(part):
                for name, reason, own_line in _objects(root, "", "", MAX_DEPTH, set()):
                    first = lines_before + (line if own_line is None else own_line) + 1
                    if reason and (path or name is None):  # a release is applied only by Helm
                        content.unread.append(UnreadablePart(first, reason, template))
                    if name is not None:
                        content.documents.append(ManifestObject(name, first))
        except _UnreadableDocument as error:
            if template and (name := _name_in_template(part)) is not None:
                first = part.count("\n", 0, next(_TYPE_FIELD.finditer(part)).start())
                content.documents.append(ManifestObject(name, lines_before + first + 1))
            else:
                line = min(error.line, part.rstrip().count("\n"))  # at the end of the text the parser is one line ahead
                content.unread.append(UnreadablePart(lines_before + line + 1, str(error), template))
        renders_objects = (
            _TEMPLATE_LINE if counts_before == (len(content.documents), len(content.unread)) else _RENDERED_LINE
        )
        if counts_before[1] == len(content.unread) and renders_objects.search(part):
            content.unread.append(UnreadablePart(lines_before + 1, "it makes objects that are not in the text", True))
    return ManifestText(path, tuple(content.documents), tuple(content.unread), _TEMPLATE in text)


class _UnreadableDocument(ValueError):
    """The message is the reason, a clause; `line` from 0, within the document."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(slots=True)
class _ManifestContent:
    documents: list[ManifestObject] = field(default_factory=list)
    unread: list[UnreadablePart] = field(default_factory=list)


def _split_documents(text: str) -> Iterator[tuple[int, str]]:
    """Each document with the number of lines before it; documents without content are left out."""
    begin = line = 0
    marks = [*(each.start() for each in _DOCUMENT_MARK.finditer(text)), len(text)]
    for end in marks:
        part = text[begin:end]
        content = part.removeprefix("---")
        if part and _NO_CONTENT.match(_CONTROL_LINE.sub("", content) if _TEMPLATE in content else content) is None:
            yield line, part
        line += part.count("\n")
        begin = end


def _name_in_template(part: str) -> ObjectName | None:
    """The object in a template that is not YAML before Helm renders it: its only apiVersion and its only kind, as
    written. With two versions, only Helm knows which one is rendered."""
    type_fields = {(each.group(1), each.group(3)) for each in _TYPE_FIELD.finditer(part)}
    by_field = dict(type_fields)
    version, kind = by_field.get("apiVersion", ""), by_field.get("kind", "")
    if len(type_fields) != 2 or not (_VERSION.fullmatch(version) and _KIND.fullmatch(kind)) or kind.endswith("List"):
        return None
    name = _NAME_FIELD.search(part)
    return ObjectName(version, kind, "", name.group(1) if name else "of a template")


def _objects(
    root: Any, version: str, kind: str, depth_left: int, visited: set[tuple[int, str, str]]
) -> Iterator[tuple[ObjectName | None, str, int | None]]:
    """`version` and `kind` come from the enclosing List. Yields the name, the reason why it cannot be identified, and
    its line, as far as each is known. `visited`: with aliases, a short text can contain the same Lists millions of
    times.
    """
    if isinstance(root, list) and any(isinstance(each, dict) and each.get("kind") for each in root):
        yield None, "it is a sequence of objects, which kubectl does not take: make it the items of a List", None
    if not isinstance(root, dict) or (at := (id(root), version, kind)) in visited:
        return
    visited.add(at)
    kind, version = nested_string(root, "kind") or kind, nested_string(root, "apiVersion") or version
    items, line = root.get("items"), root.get(_LINE_KEY)
    if kind == "List" and not (items is None or isinstance(items, list)):
        yield None, "the items of a List are no list", line
    elif kind.endswith("List") and isinstance(items, list):
        if not depth_left:
            yield None, f"it has Lists in Lists, deeper than {MAX_DEPTH}", line
            return
        item_type = ("", "") if kind == "List" else (version, kind.removesuffix("List"))
        if not all(isinstance(each, dict) and (item_type[1] or each.keys() & _TYPE_KEYS) for each in items):
            yield None, f"an item of a {kind} is no object with a kind", line
        for each in items:
            yield from _objects(each, *item_type, depth_left - 1, visited)
    elif reason := _unidentified_reason(root, version, kind):
        yield None, reason, line
    elif kind:
        namespace, name = (nested_string(root, "metadata", key) for key in ("namespace", "name"))
        yield ObjectName(version, kind, namespace, name), _not_judged_reason(root, version, kind), line


def _not_judged_reason(root: Mapping[Any, Any], version: str, kind: str) -> str:
    """Why its content is not checked: it is a template, or holds objects that are applied later. ConfigMaps that hold
    configuration of other programs are ignored."""
    if kind == "Template" and version in ("v1", "template.openshift.io/v1"):
        return "what is made of a Template is not judged: check what oc process prints"
    data = root.get("data")
    for key, text in data.items() if kind == "ConfigMap" and isinstance(data, dict) else ():
        type_fields = (
            {each.group(1): each.group(3) for each in _TYPE_FIELD.finditer(text)} if isinstance(text, str) else {}
        )
        if len(type_fields) > 1 and not type_fields["kind"].endswith(("Config", "Configuration")):
            return f"its {key} holds a {type_fields['kind']}, which is not judged: check it as a file"
    return ""


def _unidentified_reason(root: Mapping[Any, Any], version: str, kind: str) -> str:
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


def _document_roots(part: str) -> Iterator[tuple[Any, int]]:
    """The relevant part of each document, and its line; text that is not YAML is parsed as JSON."""
    import yaml

    try:
        yield from _EventWalker(part).roots()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = f"   {part[3:]}" if part.startswith("---") else part
        is_json = text.lstrip().startswith("{") and not text.lstrip().startswith(_TEMPLATE)
        if is_json and not isinstance(error, (_UnreadableDocument, TooDeep)):
            yield from _json_roots(text)
            return
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise _UnreadableDocument(
            f"it is no YAML: {' '.join(str(problem).split())}", getattr(mark, "line", 0)
        ) from error


def _json_roots(part: str) -> Iterator[tuple[Any, int]]:
    """JSON documents one after the other, as kubectl accepts them; tabs, and surrogate pairs, are not YAML."""
    position, decoder = 0, json.JSONDecoder()
    while (rest := _SPACE.match(part, position)) is not None and rest.end() < len(part):
        line = part.count("\n", 0, rest.end())
        try:
            root, position = decoder.raw_decode(part, rest.end())
        except (ValueError, RecursionError) as error:
            raise _UnreadableDocument(f"it is neither YAML nor JSON: {error}", line) from error
        yield root, line


_SPACE = re.compile(r"[ \t\r\n]*")
_MERGE = "<<"
_LINE_KEY = None
"""Key of an object's first line, from 0; no text can have this key."""
_TYPE_KEYS = frozenset({"kind", "apiVersion", _MERGE})
_NULLS = ("", "~", "null", "Null", "NULL")
_META: Mapping[str, Any] = {"name": None, "namespace": None}


class _EventWalker:
    """Walks over the parser events of one document. Mutable."""

    def __init__(self, part: str) -> None:
        import yaml

        self._yaml = yaml
        self._events: Iterator[Any] = parse_events(part)
        self._anchors: dict[str, Any] = {}

    def roots(self) -> Iterator[tuple[Any, int]]:
        roots_found: list[tuple[Any, int]] = []
        for event in self._events:
            if isinstance(event, self._yaml.DocumentStartEvent):
                first: Any = next(self._events)
                roots_found.append((self._node(first, _OBJECT), first.start_mark.line))
        yield from roots_found  # all of them or none: after an error the text may be parsed as JSON from its beginning

    def _node(self, event: Any, shape: Any) -> Any:
        """The relevant part of a node: a text, a mapping with some of its keys, a list, or None for anything else."""
        yaml = self._yaml
        if isinstance(event, yaml.AliasEvent):
            return self._anchors.get(event.anchor)
        if isinstance(event, yaml.ScalarEvent):
            null = event.implicit[0] and event.value in _NULLS
            value: Any = None if null else event.value
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(shape)
            if shape is _OBJECT:
                value[_LINE_KEY] = event.start_mark.line
        else:
            value = self._sequence(shape)
        if event.anchor:
            self._anchors[event.anchor] = value
        return value

    def _mapping(self, shape: Any) -> Any:
        mapping: dict[str, Any] = {}
        keys = shape if isinstance(shape, Mapping) else {}
        for event in self._events:
            if isinstance(event, self._yaml.MappingEndEvent):
                break
            key: Any = event.value if isinstance(event, self._yaml.ScalarEvent) else None
            self._skip(event)
            value = next(self._events)
            if key in keys or (shape is _TEXTS and isinstance(key, str)):
                mapping[key] = self._node(value, keys.get(key))
            else:
                self._skip(value)
        return mapping

    def _sequence(self, shape: Any) -> Any:
        items: list[Any] = []
        for event in self._events:
            if isinstance(event, self._yaml.SequenceEndEvent):
                break
            if shape is _ITEMS or shape is _OBJECT:
                items.append(self._node(event, _OBJECT))
            else:
                self._skip(event)
        return items

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


HELM_SECRET_TYPE = "helm.sh/release.v1"
HELM_SELECTOR = "owner=helm"
MAX_RELEASE_BYTES = 4 << 20
"""Bytes of a release in its Secret. An API server accepts 1 MiB (MaxSecretSize)."""
MAX_INFLATED_BYTES = 64 << 20
MAX_COMPRESSION_RATIO = 300
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


def helm_revision(secret: Doc) -> HelmRevision | None:
    """None if it is not a revision of a release; only its metadata is read."""
    namespace, secret_name = (nested_string(secret, "metadata", key) for key in ("namespace", "name"))
    owner, name, status, version = (nested_string(secret, "metadata", "labels", label) for label in _LABELS)
    if owner != "helm" or not name or not secret_name or not _is_revision_number(version):
        return None
    return HelmRevision(namespace, name, int(version), status, secret_name)


def _is_revision_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def current_revisions(revisions: Iterable[HelmRevision]) -> tuple[HelmRevision, ...]:
    """The current revision of each release, from which the next ``helm upgrade`` starts: the deployed one, else the
    last, failed or superseded (helm pkg/action/upgrade.go, prepareUpgrade). Uninstalled releases with a kept history
    are left out: they are not in the cluster."""
    best: dict[tuple[str, str], HelmRevision] = {}
    for each in revisions:
        key = each.namespace, each.name
        if key not in best or _rank(best[key]) < _rank(each):
            best[key] = each
    return tuple(each for _, each in sorted(best.items()) if each.status != _UNINSTALLED)


def _rank(revision: HelmRevision) -> tuple[bool, int]:
    return revision.status == _DEPLOYED, revision.revision


def helm_release(revision: HelmRevision, secret: Doc) -> HelmRelease:
    """The release in the complete Secret."""
    empty_release = HelmRelease(revision.namespace, revision.name, revision.revision, revision.status, ManifestText(""))
    try:
        content = _decode_release(secret)
    except _UnreadableRelease as error:
        return replace(
            empty_release, manifest=Unknown(f"the Secret {revision.secret} of namespace {revision.namespace} {error}")
        )
    hooks = (hook.manifest or "" for hook in content.hooks or ())
    return replace(
        empty_release, manifest=parse_manifest(content.manifest or ""), hooks=parse_manifest("\n---\n".join(hooks))
    )


class _UnreadableRelease(ValueError):
    """The reason, as words that follow the name of the Secret; without any of its content."""


class _Hook(LeanStruct):
    manifest: str | None = None


class _Release(LeanStruct):
    manifest: str | None = None
    hooks: list[_Hook] | None = None


_decode = msgspec.json.Decoder(_Release).decode


def _decode_release(secret: Doc) -> _Release:
    try:
        return _decode(_release_json(secret))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _UnreadableRelease("holds no release: what is in it is no JSON of one") from error


def _release_json(secret: Doc) -> bytes:
    encoded = nested_string(secret, "data", "release")
    if not encoded:
        raise _UnreadableRelease("has no release in it")
    if len(encoded) > 2 * MAX_RELEASE_BYTES:
        raise _UnreadableRelease(f"is larger than {MAX_RELEASE_BYTES >> 20} MiB")
    packed = _decode_base64(_decode_base64(encoded.encode("utf-8", "replace")))
    return _inflate(packed) if packed.startswith(_GZIP) else packed


def _decode_base64(text: bytes) -> bytes:
    try:
        return binascii.a2b_base64(text)
    except (binascii.Error, ValueError) as error:
        raise _UnreadableRelease("holds no release: it is no base64") from error


def _inflate(packed: bytes) -> bytes:
    """The output is limited, whatever the data claims."""
    limit = min(MAX_INFLATED_BYTES, max(1 << 20, MAX_COMPRESSION_RATIO * len(packed)))
    inflating: Any = zlib.decompressobj(wbits=31)
    try:
        inflated: bytes = inflating.decompress(packed, limit + 1)
    except zlib.error as error:
        raise _UnreadableRelease("holds no release: it is no gzip") from error
    if len(inflated) > limit:
        raise _UnreadableRelease(f"grows to more than {limit >> 20} MiB when it is unpacked")
    if not inflating.eof:
        raise _UnreadableRelease("holds a truncated release")
    return inflated


# API versions in which an object was written: from its metadata, of which nothing else is kept.
#
# Source: amazon.written_kinds.


def written_object(doc: Doc, kind: str, api_version: str) -> WrittenObject | None:
    """`kind` and `api_version` as the server returns them. None if no write record has a version that is ever
    removed."""
    signs = written_versions(
        {**doc, "kind": kind}, _applied_type(nested_field(doc, "metadata", "annotations", LAST_APPLIED))
    )
    if not any(row_of(sign) is not None for sign in signs):
        return None
    namespace, name = (nested_string(doc, "metadata", key) for key in ("namespace", "name"))
    kept_by_server = nested_field(doc, "metadata", "annotations", AUTO_UPDATE_ANNOTATION) == "true"
    return WrittenObject(ObjectName(api_version, kind, namespace, name), signs, kept_by_server)


def has_managed_fields(doc: Doc) -> bool:
    """Every object of an API server has them; kubectl omits them unless told to show them."""
    return bool(nested_field(doc, "metadata", "managedFields"))


def _applied_type(text: Any) -> Any:
    """Version and kind of the last applied manifest; None if there is none."""
    if not isinstance(text, str):
        return None
    try:
        applied = decode_json(text.encode("utf-8", "replace"))
    except InvalidJson:
        return None
    return {key: applied.get(key) for key in ("apiVersion", "kind")} if isinstance(applied, dict) else None
