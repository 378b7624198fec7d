"""Manifest files: files, folders (recursively), and standard input (``-``)."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kubectl_eksdoc.errors import UsageError, cause_of
from kubectl_eksdoc.files import opened
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import HELM_TEMPLATE, Doc, ManifestText, Unread
from kubectl_eksdoc.objects.manifests import manifest_of

from .archive import standard_input
from .documents import read_text, yaml_as_go_reads_it

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
"""Files that kubectl reads from a folder."""
_TEMPLATED = re.compile(r"\.(?:ya?ml|json)(?:\.(?:gotmpl|tmpl|tpl|j2|jinja2?|erb))?\Z")
"""The same, and templates of them, as named by Helmfile, Ansible and others."""


@frozen
class ManifestLimits:
    """Bytes of one file, and the number of files."""

    size: int = 32 << 20
    files: int = 50_000


BOUNDS = ManifestLimits()
_NO_OBJECT = "there is no Kubernetes object in it"
_CHART = "Chart.yaml"
_TEMPLATES = "it is a chart of Helm, and its templates are not read"
_DEPENDS = "it is a chart of Helm: what the charts that it depends on make is not read"
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MAKERS = ("helmCharts", "generators")
_TAKES = ("resources", "bases", "components")
_HINT = "Name files or folders of manifests, or - for standard input."


def read_manifests(paths: Sequence[str], bounds: ManifestLimits = BOUNDS) -> tuple[ManifestText, ...]:
    """Each file once, in the order of `paths`; folders are sorted. A file in a folder that cannot be read is reported
    in its place; files of a folder without an object are left out, unless none has any.

    Raises:
        UsageError: a path that the user named does not exist.
    """
    found: dict[str, ManifestText] = {}
    for path, named in _files(paths):
        if path in found:
            continue
        if len(found) >= bounds.files:
            why = f"more than {bounds.files} files are not read"
            found[path] = ManifestText(path, unread=(Unread(0, why),))
            break
        read = _read(path, bounds)
        if named and not (read.documents or read.unread):
            read = replace(read, unread=(Unread(0, _NO_OBJECT),))
        found[path] = read
    for path in (each for each in found if os.path.basename(each) in _KUSTOMIZATIONS):
        if elsewhere := _elsewhere(path, found, bounds):
            more = Unread(0, f"it takes {elsewhere}, which is not read", True)
            found[path] = replace(found[path], unread=(*found[path].unread, more))
    for path in (each for each in found if os.path.basename(each) == _CHART):
        if why := _more_of(path, found, bounds):
            found[path] = ManifestText(path, unread=(Unread(0, why, True),))
    for path in paths:
        below = (each for at, each in found.items() if at == path or at.startswith(os.path.join(path, "")))
        if not any(each.documents or each.unread for each in below):
            found[path] = ManifestText(path, unread=(Unread(0, _NO_OBJECT),))
    return tuple(each for each in found.values() if each.documents or each.unread)


def _more_of(path: str, found: Collection[str], bounds: ManifestLimits) -> str:
    """The part of a chart that is not read; "" if its templates are its only source of objects."""
    folder = os.path.dirname(path)
    if not any(each.startswith(os.path.join(folder, "templates", "")) for each in found):
        return _TEMPLATES
    try:
        given = yaml_as_go_reads_it(_bytes(path, bounds.size))
    except (OSError, ValueError):
        return _DEPENDS
    depends = not isinstance(given, dict) or given.get("dependencies")
    older = os.path.exists(os.path.join(folder, "requirements.yaml")) or os.path.exists(os.path.join(folder, "charts"))
    return _DEPENDS if depends or older else ""


def _elsewhere(path: str, found: Collection[str], bounds: ManifestLimits) -> str:
    """A resource of a kustomization that is not among `read_paths`; "" if all are."""
    try:
        given = yaml_as_go_reads_it(_bytes(path, bounds.size))
    except OSError:
        return ""  # already reported as unreadable
    except ValueError:
        return "what is unknown"
    given = given if isinstance(given, dict) else {}
    maker = next((key for key in _MAKERS if given.get(key)), "")
    if maker:
        return f"{maker} from elsewhere"
    for each in (each for key in _TAKES if isinstance(given.get(key), list) for each in given[key]):
        at = os.path.normpath(os.path.join(os.path.dirname(path), each)) if isinstance(each, str) else ""
        if at and not any(f"{os.path.normpath(one)}/".startswith(f"{at}/") for one in found):
            return str(each)
    return ""


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each path, and whether the user named it explicitly."""
    roots = tuple(os.path.join(os.path.realpath(path), "") for path in paths if os.path.exists(path))
    for path in paths:
        if path == STDIN:
            yield path, True
            continue
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)
        except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
            raise UsageError(f"-f {path} cannot be opened: {cause_of(error)}", _HINT) from error
        if not is_folder:
            yield path, True
            continue
        for file in _below(path, roots):
            yield file, False


def _below(folder: str, roots: tuple[str, ...]) -> Iterator[str]:
    """Files below a folder, as ``kubectl apply -R`` walks it: symbolic links to folders are not followed, hidden
    folders are entered. An unreadable folder, or a link to a folder outside of all `roots`, is returned like a file."""
    shut: list[str] = []
    for at, folders, files in os.walk(folder, onerror=lambda error: shut.append(str(error.filename))):
        yield from shut
        shut.clear()
        folders[:] = sorted(each for each in folders if each != ".git")
        links = (os.path.join(at, each) for each in folders if os.path.islink(os.path.join(at, each)))
        yield from (each for each in links if not os.path.join(os.path.realpath(each), "").startswith(roots))
        wanted = _rendered if _is_rendered(at) else _may_be_manifest
        yield from (os.path.join(at, name) for name in sorted(files) if wanted(name))
    yield from shut


def _may_be_manifest(name: str) -> bool:
    return _TEMPLATED.search(name) is not None or name.endswith(_KUSTOMIZATIONS)


def _is_rendered(folder: str) -> bool:
    """Whether it is the templates folder of a chart, or below it."""
    chart, found, _ = os.path.join(os.path.abspath(folder), "").rpartition(f"{os.sep}templates{os.sep}")
    return bool(found) and os.path.exists(os.path.join(chart, _CHART))


def _rendered(name: str) -> bool:
    """Helm renders all files there, whatever their suffix (helm pkg/engine/engine.go; pkg/ignore/rules.go)."""
    return not name.startswith(("_", ".")) and not name.endswith("NOTES.txt")


def _read(path: str, bounds: ManifestLimits) -> ManifestText:
    """The manifest at `path`, or the reason why it cannot be read."""
    if os.path.islink(path) and os.path.isdir(path):
        return _unread(path, "it is a link to a folder, which is not read: name that folder, too")
    try:
        read = _bytes(path, bounds.size)
        if len(read) > bounds.size:
            return _unread(path, f"it is larger than {bounds.size >> 20} MiB")
        return manifest_of(read.decode("utf-8-sig"), path)
    except UnicodeDecodeError:
        return _unread(path, "it is no text in UTF-8")
    except (OSError, ValueError) as error:
        return _unread(path, f"it cannot be read: {cause_of(error)}")


def _bytes(path: str, most: int) -> bytes:
    if path == STDIN:
        with io.BufferedReader(standard_input()) as given:
            return given.read(most + 1)
    with opened(path) as file:
        return file.read(most + 1)


def _unread(path: str, why: str) -> ManifestText:
    return ManifestText(path, unread=(Unread(0, why),))


# Documents of a rendered manifest that a user names.


_TYPE = ("apiVersion", "kind")


def read_documents(path: str, flag: str, most_bytes: int) -> tuple[Doc, ...]:
    """The documents of a file, or of the YAML and JSON files in a folder. For the folder of a chart, those of its
    templates: a template or a dependency is represented by a document of the kind `HELM_TEMPLATE`.

    Raises:
        UsageError: a file cannot be read.
    """
    folder, wanted = Path(path), "Give the output of helm template for the add-on's chart, or its published manifest."
    files = sorted(each for each in folder.glob("*") if each.suffix in ENDINGS) if folder.is_dir() else [folder]
    docs: list[Doc] = []
    if chart := (folder / _CHART).is_file():
        below = (each for name in ("crds", "templates") for each in (folder / name).rglob("*"))
        files = sorted(each for each in below if each.suffix in ENDINGS)
        more = [each for each in (folder / "charts", folder / "requirements.yaml") if each.exists()]
        depends = "dependencies:" in read_text(str(folder / _CHART), flag, most_bytes, wanted)
        docs += [_template("charts")] if more or depends else []
    elif flag == "--chart":
        raise UsageError(f"--chart {path} is no folder of a chart: it has no {_CHART}", wanted)
    for file in files:
        text = read_text(str(file), flag, most_bytes, wanted)
        if chart and "{{" in text:
            docs.append(_template(file.relative_to(folder).as_posix()))
            continue
        for part in re.split(r"(?m)^---.*$", text):
            try:
                found = yaml_as_go_reads_it(part.encode())
            except ValueError as error:
                raise UsageError(f"{flag} {file} is not YAML: {error}", wanted) from error
            items = found.get("items") if isinstance(found, dict) and found.get("kind") == "List" else [found]
            for each in items if isinstance(items, list) else []:
                if each is None:
                    continue  # an empty document between two separators
                if not isinstance(each, dict) or not all(isinstance(each.get(name), str) for name in _TYPE):
                    raise UsageError(f"{flag} {file} has a document without apiVersion and kind", wanted)
                docs.append(each)
    return tuple(docs)


def _template(name: str) -> Doc:
    return {"apiVersion": "helm.sh/v3", "kind": HELM_TEMPLATE, "metadata": {"name": name}}
