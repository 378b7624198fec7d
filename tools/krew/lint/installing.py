"""The files of an archive that are installed, and the link that krew creates (internal/installation/install.go); the
licence that its validator finds (cmd/validate-krew-manifest/main.go)."""

from __future__ import annotations

from collections.abc import Iterator

from tools.krew.lint import codes
from tools.krew.lint.complaints import Complaint, quoted
from tools.krew.lint.model import Packing, Platform, PluginArchive
from tools.krew.lint.moving import ALL_OF_IT, moved
from tools.krew.lint.paths import below, inside
from tools.krew.lint.selectors import machines_of
from tools.krew.lint.trees import Tree
from tools.krew.lint.unpacking import unpacked

# fmt: off
_LICENCES = frozenset(
    (
        "license", "license.txt", "license.md", "licenses", "licenses.txt", "licenses.md", "copying", "copying.txt",
    )
)
# fmt: on
_RUNS, _EVERYBODY_RUNS = 0o100, 0o555
_OF_WINDOWS = b"MZ"


def link_name(name: str) -> str:
    """krew's link to a plugin: ``kubectl-eksdoc_drain`` of ``eksdoc-drain``."""
    return f"kubectl-{name.replace('-', '_')}"


def of_bin_path(platform: Platform, at: str) -> Iterator[Complaint]:
    """Checks of ``bin`` that need no archive."""
    if platform.bin and not inside(below(platform.bin)):
        what = f"bin leads out of the plugin's folder: {quoted(platform.bin)}"
        yield Complaint(codes.BIN_OUTSIDE, f"{at}.bin", what, "Name a file in the archive.")


def of_installation(platform: Platform, at: str, archive: PluginArchive) -> Iterator[Complaint]:
    """`at`: the place of the platform in the manifest. Nothing, where the archive cannot be unpacked."""
    if archive.packing is Packing.OTHER:
        return
    moves = ALL_OF_IT if platform.files is None else platform.files
    if not all(move.origin and move.to for move in moves) or not moves:
        return
    tree, failed = moved(unpacked(archive), moves, f"{at}.files")
    if failed is not None:
        yield failed
        return
    yield from _of_bin(platform, at, tree)
    yield from _of_licence(at, tree)


def _of_bin(platform: Platform, at: str, tree: Tree) -> Iterator[Complaint]:
    path = below(platform.bin)
    if not platform.bin or not inside(path):
        return
    entry = tree.file(path)
    if entry is None:
        what = "is a folder" if tree.is_folder(path) else "is not there after files were moved"
        yield Complaint(
            codes.BIN_MISSING, f"{at}.bin", f"{quoted(platform.bin)} {what}", "Name the program as it is installed."
        )
        return
    machines = machines_of(platform.selector)
    if any(machine.os != "windows" for machine in machines) and entry.mode & _EVERYBODY_RUNS != _EVERYBODY_RUNS:
        runs = bool(entry.mode & _RUNS)
        whom = "not everybody" if runs else "nobody"
        what = f"{quoted(platform.bin)} has mode {entry.mode:04o}: {whom} can run it"
        yield Complaint(codes.BIN_MODE, f"{at}.bin", what, "Pack it with mode 0755.", advice=runs)
    if any(machine.os == "windows" for machine in machines) and not entry.head.startswith(_OF_WINDOWS):
        what = f"{quoted(platform.bin)} is no program of Windows, and is to be run as one"
        yield Complaint(codes.BIN_WINDOWS, f"{at}.bin", what, "Pack an .exe, or leave windows out of the selector.")


def _of_licence(at: str, tree: Tree) -> Iterator[Complaint]:
    if not any(path.rpartition("/")[2].lower() in _LICENCES for path in tree.files()):
        yield Complaint(codes.LICENCE, at, "no licence is installed", "Pack a LICENSE, and let files move it.")
