"""The DNS load generator as a Python zip archive: its own modules, and the modules of dnspython that it needs.

The archive is stored in a ConfigMap; the API server limits it to 1 MiB (core/validation, ValidateConfigMap). The same
installation always builds the same bytes.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from kubectl_eksdoc.errors import ConfigError

MAX_BYTES = 1 << 20

_DNS_LOAD, _DNSPYTHON = "kubectl_eksdoc.dns_load", "dns"
_RECORD_TYPES = ("ANY.CNAME", "ANY.OPT", "ANY.SOA", "IN.A", "IN.AAAA")
"""Record types in responses; dnspython imports them by name, and keeps other types as raw data."""

_MAIN = f"""\
import sys
from {_DNS_LOAD}.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
_EMPTY_PACKAGE = '"""Only the load generator of kubectl-eksdoc is in here."""\n'
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def packed() -> bytes:
    """A zipapp: ``python3 dns-load.pyz --plan JSON``.

    Raises:
        ConfigError: dnspython is not installed, or the archive is too large.
    """
    files = {"__main__.py": _MAIN.encode(), f"{_DNS_LOAD.partition('.')[0]}/__init__.py": _EMPTY_PACKAGE.encode()}
    program = _package_folder(_DNS_LOAD)
    files |= {f"{_DNS_LOAD.replace('.', '/')}/{path.name}": path.read_bytes() for path in program.glob("*.py")}
    root = _package_folder(_DNSPYTHON)
    files |= {
        f"{_DNSPYTHON}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in _required_modules(root, program)
    }
    files |= dict(_licence_files())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _ZIP_EPOCH), files[name], zipfile.ZIP_DEFLATED, 9)
    content = buffer.getvalue()
    if len(content) >= MAX_BYTES:
        raise ConfigError(
            f"the program that asks DNS is packed into {len(content)} bytes: a ConfigMap takes {MAX_BYTES}",
            "Install dnspython as constraints.txt has it.",
        )
    return content


def _package_folder(package: str) -> Path:
    """
    Raises:
        ConfigError: the package is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"the Python package {package} is not installed", "pip install dnspython")
    return Path(next(iter(spec.submodule_search_locations)))


def _required_modules(root: Path, program: Path) -> list[Path]:
    """The modules of dnspython that the load generator imports, the modules that those import when loaded, and the
    record types."""
    pending = [name for path in program.glob("*.py") for name in _imported_names(path)]
    pending += [f"{_DNSPYTHON}.rdtypes.{name}" for name in _RECORD_TYPES]
    module_files: dict[str, Path] = {}
    while pending:
        name = pending.pop()
        path = _module_file(root, name)
        if name in module_files or path is None:
            continue
        module_files[name] = path
        pending += [name.rpartition(".")[0], *_imported_names(path)]
    return list(module_files.values())


def _module_file(root: Path, name: str) -> Path | None:
    """The file of a module of dnspython; None for any other module."""
    top, *rest = name.split(".")
    if top != _DNSPYTHON:
        return None
    base = root.joinpath(*rest)
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


def _imported_names(path: Path) -> Iterator[str]:
    """Possible module names imported at the top level of `path`. Imports inside functions are skipped: the load
    generator does not call those functions."""
    pending: list[ast.AST] = [ast.parse(path.read_bytes())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            pending += ast.iter_child_nodes(node)


def _licence_files() -> Iterator[tuple[str, bytes]]:
    """The licence of dnspython must be distributed with it."""
    for file in metadata.files("dnspython") or ():
        path = Path(str(file.locate()))
        if file.name.upper().startswith("LICENSE") and path.is_file():
            yield f"{_DNSPYTHON}/{file.name}", path.read_bytes()
