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

MOST_BYTES = 1 << 20

_PROGRAM, _DNS = "kubectl_eksdoc.dns_load", "dns"
_TYPES = ("ANY.CNAME", "ANY.OPT", "ANY.SOA", "IN.A", "IN.AAAA")
"""Record types in responses; dnspython imports them by name, and keeps other types as raw data."""

_MAIN = f"""\
import sys
from {_PROGRAM}.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
_NOTHING = '"""Only the load generator of kubectl-eksdoc is in here."""\n'
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)


def packed() -> bytes:
    """A zipapp: ``python3 dns-load.pyz --plan JSON``.

    Raises:
        ConfigError: dnspython is not installed, or the archive is too large.
    """
    files = {"__main__.py": _MAIN.encode(), f"{_PROGRAM.partition('.')[0]}/__init__.py": _NOTHING.encode()}
    program = _folder(_PROGRAM)
    files |= {f"{_PROGRAM.replace('.', '/')}/{path.name}": path.read_bytes() for path in program.glob("*.py")}
    root = _folder(_DNS)
    files |= {f"{_DNS}/{path.relative_to(root).as_posix()}": path.read_bytes() for path in _needed(root, program)}
    files |= dict(_licence())
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _FIRST_DAY), files[name], zipfile.ZIP_DEFLATED, 9)
    made = held.getvalue()
    if len(made) >= MOST_BYTES:
        raise ConfigError(
            f"the program that asks DNS is packed into {len(made)} bytes: a ConfigMap takes {MOST_BYTES}",
            "Install dnspython as constraints.txt has it.",
        )
    return made


def _folder(package: str) -> Path:
    """
    Raises:
        ConfigError: the package is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(f"the Python package {package} is not installed", "pip install dnspython")
    return Path(next(iter(spec.submodule_search_locations)))


def _needed(root: Path, program: Path) -> list[Path]:
    """The modules of dnspython that the load generator imports, the modules that those import when loaded, and the
    record types."""
    todo = [name for path in program.glob("*.py") for name in _imported(path)]
    todo += [f"{_DNS}.rdtypes.{name}" for name in _TYPES]
    found: dict[str, Path] = {}
    while todo:
        name = todo.pop()
        path = _module(root, name)
        if name in found or path is None:
            continue
        found[name] = path
        todo += [name.rpartition(".")[0], *_imported(path)]
    return list(found.values())


def _module(root: Path, name: str) -> Path | None:
    """The file of a module of dnspython; None for any other module."""
    top, *rest = name.split(".")
    if top != _DNS:
        return None
    base = root.joinpath(*rest)
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


def _imported(path: Path) -> Iterator[str]:
    """Possible module names imported at the top level of `path`. Imports inside functions are skipped: the load
    generator does not call those functions."""
    todo: list[ast.AST] = [ast.parse(path.read_bytes())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += ast.iter_child_nodes(node)


def _licence() -> Iterator[tuple[str, bytes]]:
    """The licence of dnspython must be distributed with it."""
    for file in metadata.files("dnspython") or ():
        path = Path(str(file.locate()))
        if file.name.upper().startswith("LICENSE") and path.is_file():
            yield f"{_DNS}/{file.name}", path.read_bytes()
