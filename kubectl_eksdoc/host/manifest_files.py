"""Manifest files: files, folders (recursively), and standard input (``-``)."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.errors import UsageError, os_error_text
from kubectl_eksdoc.files import open_file
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import HELM_TEMPLATE, Doc, ManifestText, UnreadablePart
from kubectl_eksdoc.objects.manifests import parse_manifest

from .archive import standard_input
from .documents import parse_go_yaml, read_text

STDIN = "-"
MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
"""Files that kubectl reads from a folder."""
_TEMPLATED = re.compile(r"\.(?:ya?ml|json)(?:\.(?:gotmpl|tmpl|tpl|j2|jinja2?|erb))?\Z")
"""The same, and templates of them, as named by Helmfile, Ansible and others."""


@frozen
class ManifestLimits:
    """Bytes of one file, and the number of files."""

    file_bytes: int = 32 << 20
    files: int = 50_000


DEFAULT_LIMITS = ManifestLimits()
_NO_OBJECT = "there is no Kubernetes object in it"
_CHART_FILE = "Chart.yaml"
_TEMPLATES_NOT_READ = "it is a chart of Helm, and its templates are not read"
_DEPENDENCIES_NOT_READ = "it is a chart of Helm: what the charts that it depends on make is not read"
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_GENERATOR_KEYS = ("helmCharts", "generators")
_RESOURCE_KEYS = ("resources", "bases", "components")
_HINT = "Name files or folders of manifests, or - for standard input."


def read_manifests(paths: Sequence[str], limits: ManifestLimits = DEFAULT_LIMITS) -> tuple[ManifestText, ...]:
    """Each file once, in the order of `paths`; folders are sorted. A file in a folder that cannot be read is reported
    in its place; files of a folder without an object are left out, unless none has any.

    Raises:
        UsageError: a path that the user named does not exist.
    """
    manifests: dict[str, ManifestText] = {}
    for path, is_named in _manifest_paths(paths):
        if path in manifests:
            continue
        if len(manifests) >= limits.files:
            reason = f"more than {limits.files} files are not read"
            manifests[path] = ManifestText(path, unread=(UnreadablePart(0, reason),))
            break
        manifest = _read_manifest(path, limits)
        if is_named and not (manifest.documents or manifest.unread):
            manifest = replace(manifest, unread=(UnreadablePart(0, _NO_OBJECT),))
        manifests[path] = manifest
    for path in (text for text in manifests if os.path.basename(text) in _KUSTOMIZATIONS):
        if missing := _missing_resource(path, manifests, limits):
            unread_part = UnreadablePart(0, f"it takes {missing}, which is not read", True)
            manifests[path] = replace(manifests[path], unread=(*manifests[path].unread, unread_part))
    for path in (text for text in manifests if os.path.basename(text) == _CHART_FILE):
        if reason := _unread_chart_part(path, manifests, limits):
            manifests[path] = ManifestText(path, unread=(UnreadablePart(0, reason, True),))
    for path in paths:
        texts = (
            text
            for text_path, text in manifests.items()
            if text_path == path or text_path.startswith(os.path.join(path, ""))
        )
        if not any(text.documents or text.unread for text in texts):
            manifests[path] = ManifestText(path, unread=(UnreadablePart(0, _NO_OBJECT),))
    return tuple(text for text in manifests.values() if text.documents or text.unread)


def _unread_chart_part(path: str, read_paths: Collection[str], limits: ManifestLimits) -> str:
    """The part of a chart that is not read; "" if its templates are its only source of objects."""
    folder = os.path.dirname(path)
    if not any(each.startswith(os.path.join(folder, "templates", "")) for each in read_paths):
        return _TEMPLATES_NOT_READ
    try:
        chart = parse_go_yaml(_read_bytes(path, limits.file_bytes))
    except (OSError, ValueError):
        return _DEPENDENCIES_NOT_READ
    depends = not isinstance(chart, dict) or chart.get("dependencies")
    has_subcharts = os.path.exists(os.path.join(folder, "requirements.yaml")) or os.path.exists(
        os.path.join(folder, "charts")
    )
    return _DEPENDENCIES_NOT_READ if depends or has_subcharts else ""


def _missing_resource(path: str, read_paths: Collection[str], limits: ManifestLimits) -> str:
    """A resource of a kustomization that is not among `read_paths`; "" if all are."""
    try:
        kustomization = parse_go_yaml(_read_bytes(path, limits.file_bytes))
    except OSError:
        return ""  # already reported as unreadable
    except ValueError:
        return "what is unknown"
    kustomization = kustomization if isinstance(kustomization, dict) else {}
    generator = next((key for key in _GENERATOR_KEYS if kustomization.get(key)), "")
    if generator:
        return f"{generator} from elsewhere"
    for resource in (
        resource
        for key in _RESOURCE_KEYS
        if isinstance(kustomization.get(key), list)
        for resource in kustomization[key]
    ):
        resource_path = (
            os.path.normpath(os.path.join(os.path.dirname(path), resource)) if isinstance(resource, str) else ""
        )
        if resource_path and not any(
            f"{os.path.normpath(read_path)}/".startswith(f"{resource_path}/") for read_path in read_paths
        ):
            return str(resource)
    return ""


def _manifest_paths(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each path, and whether the user named it explicitly."""
    roots = tuple(os.path.join(os.path.realpath(path), "") for path in paths if os.path.exists(path))
    for path in paths:
        if path == STDIN:
            yield path, True
            continue
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
            raise UsageError(f"-f {path} cannot be opened: {os_error_text(error)}", _HINT) from error
        if not is_folder:
            yield path, True
            continue
        for file in _walk_folder(path, roots):
            yield file, False


def _walk_folder(folder: str, roots: tuple[str, ...]) -> Iterator[str]:
    """Files below a folder, as ``kubectl apply -R`` walks it: symbolic links to folders are not followed, hidden
    folders are entered. An unreadable folder, or a link to a folder outside of all `roots`, is returned like a file."""
    unreadable: list[str] = []
    for current_folder, folders, files in os.walk(folder, onerror=lambda error: unreadable.append(str(error.filename))):
        yield from unreadable
        unreadable.clear()
        folders[:] = sorted(each for each in folders if each != ".git")
        links = (
            os.path.join(current_folder, each) for each in folders if os.path.islink(os.path.join(current_folder, each))
        )
        yield from (each for each in links if not os.path.join(os.path.realpath(each), "").startswith(roots))
        is_manifest = _is_helm_template if _is_in_chart_templates(current_folder) else _may_be_manifest
        yield from (os.path.join(current_folder, name) for name in sorted(files) if is_manifest(name))
    yield from unreadable


def _may_be_manifest(name: str) -> bool:
    return _TEMPLATED.search(name) is not None or name.endswith(_KUSTOMIZATIONS)


def _is_in_chart_templates(folder: str) -> bool:
    """Whether it is the templates folder of a chart, or below it."""
    chart, separator, _ = os.path.join(os.path.abspath(folder), "").rpartition(f"{os.sep}templates{os.sep}")
    return bool(separator) and os.path.exists(os.path.join(chart, _CHART_FILE))


def _is_helm_template(name: str) -> bool:
    """Helm renders all files there, whatever their suffix (helm pkg/engine/engine.go; pkg/ignore/rules.go)."""
    return not name.startswith(("_", ".")) and not name.endswith("NOTES.txt")


def _read_manifest(path: str, limits: ManifestLimits) -> ManifestText:
    """The manifest at `path`, or the reason why it cannot be read."""
    if os.path.islink(path) and os.path.isdir(path):
        return _unreadable(path, "it is a link to a folder, which is not read: name that folder, too")
    try:
        content = _read_bytes(path, limits.file_bytes)
        if len(content) > limits.file_bytes:
            return _unreadable(path, f"it is larger than {limits.file_bytes >> 20} MiB")
        return parse_manifest(content.decode("utf-8-sig"), path)
    except UnicodeDecodeError:
        return _unreadable(path, "it is no text in UTF-8")
    except (OSError, ValueError) as error:
        return _unreadable(path, f"it cannot be read: {os_error_text(error)}")


def _read_bytes(path: str, max_bytes: int) -> bytes:
    if path == STDIN:
        with io.BufferedReader(standard_input()) as stream:
            return stream.read(max_bytes + 1)
    with open_file(path) as file:
        return file.read(max_bytes + 1)


def _unreadable(path: str, reason: str) -> ManifestText:
    return ManifestText(path, unread=(UnreadablePart(0, reason),))


# Documents of a rendered manifest that a user names.


_TYPE_KEYS = ("apiVersion", "kind")


def read_documents(path: str, flag: str, max_bytes: int) -> tuple[Doc, ...]:
    """The documents of a file, or of the YAML and JSON files in a folder. For the folder of a chart, those of its
    templates: a template or a dependency is represented by a document of the kind `HELM_TEMPLATE`.

    Raises:
        UsageError: a file cannot be read.
    """
    folder, hint = Path(path), "Give the output of helm template for the add-on's chart, or its published manifest."
    files = (
        sorted(item for item in folder.glob("*") if item.suffix in MANIFEST_SUFFIXES) if folder.is_dir() else [folder]
    )
    docs: list[Doc] = []
    if is_chart := (folder / _CHART_FILE).is_file():
        chart_files = (item for name in ("crds", "templates") for item in (folder / name).rglob("*"))
        files = sorted(item for item in chart_files if item.suffix in MANIFEST_SUFFIXES)
        subcharts = [item for item in (folder / "charts", folder / "requirements.yaml") if item.exists()]
        has_dependencies = "dependencies:" in read_text(str(folder / _CHART_FILE), flag, max_bytes, hint)
        docs += [_template_document("charts")] if subcharts or has_dependencies else []
    elif flag == "--chart":
        raise UsageError(f"--chart {path} is no folder of a chart: it has no {_CHART_FILE}", hint)
    for file in files:
        text = read_text(str(file), flag, max_bytes, hint)
        if is_chart and "{{" in text:
            docs.append(_template_document(file.relative_to(folder).as_posix()))
            continue
        for part in re.split(r"(?m)^---.*$", text):
            try:
                document = parse_go_yaml(part.encode())
            except ValueError as error:
                raise UsageError(f"{flag} {file} is not YAML: {error}", hint) from error
            items = (
                document.get("items") if isinstance(document, dict) and document.get("kind") == "List" else [document]
            )
            for item in items if isinstance(items, list) else []:
                if item is None:
                    continue  # an empty document between two separators
                if not isinstance(item, dict) or not all(isinstance(item.get(name), str) for name in _TYPE_KEYS):
                    raise UsageError(f"{flag} {file} has a document without apiVersion and kind", hint)
                docs.append(item)
    return tuple(docs)


def _template_document(name: str) -> Doc:
    return {"apiVersion": "helm.sh/v3", "kind": HELM_TEMPLATE, "metadata": {"name": name}}
