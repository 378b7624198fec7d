"""``make release``: version, owner and changelog are written once, and a second build has the same bytes."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from kubectl_eksdoc import __version__
from tests import required_programs
from tests.contracts.source import PACKAGE
from tests.contracts.test_archives import held
from tools import registry
from tools.krew import lock
from tools.krew.pins import Pin, of_file
from tools.krew.platforms import MACHINES, PYTHONS
from tools.krew.wheels import COMPILED, EITHER_WAY, Unfetched, Wheels
from tools.registry import ROOT
from tools.release import prepare, sources
from tools.release.build import built
from tools.release.sbom import sbom

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- new\n\n## [0.1.0] - 2026-01-31\n\n- old\n"


def a_tree(root: Path) -> Path:
    (root / "kubectl_eksdoc").mkdir(parents=True)
    (root / prepare.VERSION_FILE).write_text('"""x"""\n\n__version__ = "0.1.0"\n')
    (root / prepare.OWNER_FILE).write_text("defaults:\n  owner: OWNER\n  homepage: x/{owner}\n")
    (root / prepare.IMAGE_FILE).parent.mkdir()
    (root / prepare.IMAGE_FILE).write_text('_RELEASED = "ghcr.io/OWNER/kubectl-eksdoc:x"\n')
    (root / prepare.CHANGELOG).write_text(CHANGELOG)
    return root


def test_version_owner_and_section_are_written_once(tmp_path: Path) -> None:
    root = a_tree(tmp_path)
    changed = prepare.prepared(root, "0.2.0", "Acme", "2026-12-01")
    assert changed == [prepare.VERSION_FILE, prepare.OWNER_FILE, prepare.IMAGE_FILE, prepare.CHANGELOG]
    assert prepare.version_of(root) == "0.2.0"
    assert "  owner: Acme\n" in (root / prepare.OWNER_FILE).read_text()
    assert (root / prepare.IMAGE_FILE).read_text() == '_RELEASED = "ghcr.io/acme/kubectl-eksdoc:x"\n'
    text = (root / prepare.CHANGELOG).read_text()
    assert "## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- new\n" in text
    assert prepare.section(text, "0.2.0") == ("2026-12-01", "### Added\n\n- new\n")
    assert prepare.prepared(root, "0.2.0", "Acme", "") == [], "a second run changes nothing"


@pytest.mark.parametrize(
    ("version", "owner", "date"),
    [("v0.2.0", "", ""), ("0.2", "", ""), ("0.1.0", "", "2026-02-01"), ("0.2.0", "no/name", ""), ("0.2.0", "-x", "")]
    + [("0.2.0", "", date) for date in ("tomorrow", "1.12.2026", "2026-13-01", "20261201")],
)
def test_what_is_no_release_changes_nothing(tmp_path: Path, version: str, owner: str, date: str) -> None:
    root = a_tree(tmp_path)
    with pytest.raises(prepare.Refused):
        prepare.prepared(root, version, owner, date)
    assert prepare.version_of(root) == "0.1.0" and (root / prepare.CHANGELOG).read_text() == CHANGELOG


def test_without_anything_unreleased_there_is_no_new_version() -> None:
    with pytest.raises(prepare.Refused, match=r"nothing under \[Unreleased\]"):
        prepare.with_section("## [Unreleased]\n\n## [0.1.0] - 2026-01-31\n\n- old\n", "0.2.0", "")
    with pytest.raises(prepare.Refused, match="no section"):
        prepare.section(CHANGELOG, "0.3.0")


# Wheels and their checksums -----------------------------------------------------------------------


def a_wheel(folder: Path, name: str, *headers: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{'-'.join(name.split('-')[:2])}.dist-info/METADATA", "\n".join(headers) + "\n")
    return path


def test_every_wheel_of_the_archives_has_a_checksum() -> None:
    """In the file that ``make lock`` writes; the build of the archives compares them with the wheels. pip uses a
    compiled wheel if there is one."""
    held = lock.read()
    assert list(held) == [str(pin) for pin in of_file(ROOT)]
    counted = {name.partition("==")[0]: len(sums) for name, sums in held.items() if len(sums) > 1}
    compiled = sum(len(machine.libcs) for machine in MACHINES) * len(PYTHONS)
    assert counted.pop(COMPILED) == compiled
    assert {*counted} == {*EITHER_WAY} and all(number >= len(PYTHONS) for number in counted.values())


def test_a_wheel_with_another_checksum_is_refused(tmp_path: Path) -> None:
    pin, wheel = Pin("six", "1.17.0"), a_wheel(tmp_path, "six-1.17.0-py2.py3-none-any.whl")
    text = lock.rendered({pin: [wheel]})
    assert lock.parsed(text) == {"six==1.17.0": {lock.sha256(wheel)}}
    assert Wheels(tmp_path, locked=lock.parsed(text)).pure(pin) == wheel
    wheel.write_bytes(wheel.read_bytes() + b"more")
    for locked in (lock.parsed(text), {}):
        with pytest.raises(Unfetched, match="is not a wheel that tools/krew/requirements.txt names"):
            Wheels(tmp_path, locked=locked).pure(pin)


def test_the_bill_of_materials_names_licences_checksums_and_what_needs_what(tmp_path: Path) -> None:
    rich = a_wheel(
        tmp_path, "rich-15.0.0-py3-none-any.whl", "License-Expression: MIT", "Requires-Dist: Py_Gments>=2",
        'Requires-Dist: six; extra == "x"',
    )  # fmt: skip
    pygments = a_wheel(tmp_path, "py_gments-2.0-py3-none-any.whl", "Classifier: License :: OSI Approved :: BSD License")
    six = a_wheel(tmp_path, "six-1.17.0-py3-none-any.whl")
    wheels = {Pin("rich", "15.0.0"): [rich], Pin("py-gments", "2.0"): [pygments], Pin("six", "1.17.0"): [six]}
    text = sbom("0.2.0", "2026-12-01", wheels)
    assert text == sbom("0.2.0", "2026-12-01", wheels)
    found = json.loads(text)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert re.fullmatch("urn:uuid:[0-9a-f-]{36}", found["serialNumber"])
    first, second, third = found["components"]
    assert first["purl"] == "pkg:pypi/rich@15.0.0" and first["licenses"] == [{"license": {"name": "MIT"}}]
    assert second["licenses"] == [{"license": {"name": "BSD License"}}] and "licenses" not in third
    (reference,) = first["externalReferences"]
    assert reference["hashes"] == [{"alg": "SHA-256", "content": lock.sha256(rich)}]
    needs = {each["ref"]: each["dependsOn"] for each in found["dependencies"]}
    assert needs["pkg:pypi/rich@15.0.0"] == ["pkg:pypi/py-gments@2.0"] and needs["pkg:pypi/six@1.17.0"] == []
    assert len(needs["pkg:pypi/kubectl-eksdoc@0.2.0"]) == 3


def test_a_source_archive_has_no_trace_of_where_it_was_made() -> None:
    def tar(names: list[str], mtime: int, uid: int) -> bytes:
        held = io.BytesIO()
        with tarfile.open(fileobj=held, mode="w:gz") as archive:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime, entry.uid, entry.mode = 1, mtime, uid, 0o775 if name == "x/run" else 0o664
                archive.addfile(entry, io.BytesIO(b"a"))
        return held.getvalue()

    made = sources.normalized(tar(["x/run", "x/a"], 5, 1000), 86400)
    assert made == sources.normalized(tar(["x/a", "x/run"], 9, 0), 86400)
    with tarfile.open(fileobj=io.BytesIO(made)) as archive:
        assert [(e.name, e.mode, e.mtime, e.uid, e.uname) for e in archive] == [
            ("x/a", 0o644, 86400, 0, ""),
            ("x/run", 0o755, 86400, 0, ""),
        ]


def test_the_package_index_gets_links_that_lead_somewhere() -> None:
    text = "![a b](docs/a.svg) [`x`](docs/x.md#y), [k](https://krew.dev) [l](#l) and [LICENSE](LICENSE)"
    assert sources.described(text, "https://github.com/acme/x", "v1.0.0") == (
        "![a b](https://github.com/acme/x/raw/v1.0.0/docs/a.svg) [`x`](https://github.com/acme/x/blob/v1.0.0/docs/x.md#y),"
        " [k](https://krew.dev) [l](#l) and [LICENSE](https://github.com/acme/x/blob/v1.0.0/LICENSE)"
    )


# The whole of it ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of this tree, with a section for its version if the changelog has none yet. The first process builds
    it."""
    top = tmp_path_factory.getbasetemp()
    top = top.parent if top.name.startswith("worker-") else top
    with (top / "release.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        return top / "release" / "dist" if (top / "release").exists() else _released(top / "release")


def _released(top: Path) -> Path:
    """Without tests, which are most of the files and only in the source archive."""
    root = top / "clone"
    for path in sources.files(ROOT):
        copy = root / path.relative_to(ROOT)
        if copy.relative_to(root).parts[0] in ("tests", "bench"):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
        os.utime(copy, (1, len(str(top))))
    text = (root / prepare.CHANGELOG).read_text(encoding="utf-8")
    if f"## [{__version__}]" not in text:
        prepare.prepared(root, "", "", "2026-12-01")
    try:
        built(root, top / "dist", Wheels(ROOT / "build" / "krew" / "wheels", locked=lock.read()))
    except Unfetched as error:
        required_programs.missing(f"package index ({error})")
    return top / "dist"


@pytest.mark.long
def test_the_same_sources_are_the_same_bytes(release: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        again = _released(tmp_path / "another folder")
    finally:
        os.umask(before)
    names = sorted(path.name for path in release.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    assert [name for name in names if (release / name).read_bytes() != (again / name).read_bytes()] == []


@pytest.mark.long
def test_a_release_is_whole(release: Path) -> None:
    names = {path.name for path in release.iterdir()}
    assert {
        f"kubectl_eksdoc-{__version__}.tar.gz",
        f"kubectl_eksdoc-{__version__}-py3-none-any.whl",
        f"kubectl-eksdoc_v{__version__}.cdx.json",
        "requirements.txt",
        "NOTES.md",
        "SHA256SUMS",
        *(f"{plugin.name}.yaml" for plugin in registry.read().plugins),
    } == names
    sums = dict(reversed(line.split("  ")) for line in (release / "SHA256SUMS").read_text().splitlines())
    assert sums == {n: hashlib.sha256((release / n).read_bytes()).hexdigest() for n in names - {"SHA256SUMS"}}
    bill = json.loads((release / f"kubectl-eksdoc_v{__version__}.cdx.json").read_text())
    assert [each["name"] for each in bill["components"] if "licenses" not in each] == []
    sums = {h["content"] for c in bill["components"] for each in c["externalReferences"] for h in each["hashes"]}
    assert sums <= frozenset().union(*lock.read().values())


def _answers(program: Path, home: Path) -> None:
    """The plugin answers with the expected exit codes as the only program on PATH."""
    env = {"PATH": str(program.parent), "HOME": str(home), "LANG": "C.UTF-8"}
    for words, code in ((("--version",), 0), (("drain", "plan", "--demo"), 1)):
        done = subprocess.run([str(program), *words], env=env, cwd=home, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert "8 nodes to drain" in done.stdout or done.stdout == f"kubectl eksdoc {__version__}\n"


@pytest.mark.long
def test_the_wheel_runs_in_an_empty_environment(release: Path, tmp_path: Path) -> None:
    """With the packages of requirements.txt. pip builds this same wheel from the source archive."""
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    (wheel,) = release.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(tmp_path / "venv"), "--disable-pip-version-check", "install"]
    for words in (("--require-hashes", "-r", str(release / "requirements.txt")), ("--no-deps", str(wheel))):
        done = subprocess.run([*pip, "-q", "--no-compile", *words], capture_output=True, text=True)
        if done.returncode and "No matching distribution" in done.stderr:
            required_programs.missing("package index")
        assert done.returncode == 0, done.stderr
    _answers(tmp_path / "venv" / "bin" / "kubectl-eksdoc", tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        metadata = archive.read(f"kubectl_eksdoc-{__version__}.dist-info/METADATA").decode()
    assert "](docs/" not in metadata and "# kubectl eksdoc" in metadata
    assert {"License: Apache-2.0", "Requires-Python: >=3.10"} <= {*metadata.splitlines()}
    assert {name for name in inside if ".dist-info/" not in name} == held(PACKAGE)
    assert any(name.endswith("/LICENSE") for name in inside)
    assert len([*(tmp_path / "venv" / "bin").glob("kubectl*eksdoc*")]) == 14


TOOLS = {
    "pipx": ("install", "--python", sys.executable, "--pip-args=-c {constraints}", "{wheel}"),
    "uv": ("tool", "install", "--python", sys.executable, "--constraints", "{constraints}", "{wheel}"),
}


@pytest.mark.long
@pytest.mark.parametrize("tool", TOOLS)
def test_tools_that_install_programs_take_the_wheel(release: Path, tmp_path: Path, tool: str) -> None:
    program = required_programs.found(tool)
    (wheel,) = release.glob("*.whl")
    words = [each.format(wheel=wheel, constraints=ROOT / "constraints.txt") for each in TOOLS[tool]]
    homes = {"HOME": str(tmp_path), "PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    homes |= {"UV_TOOL_DIR": str(tmp_path / "uv"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin"), "UV_SYSTEM_CERTS": "1"}
    done = subprocess.run([program, *words], env={**os.environ, **homes}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _answers(tmp_path / "bin" / "kubectl-eksdoc", tmp_path)
