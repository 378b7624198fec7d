"""How archives are built: the packages, the wheels, and the files of them; without any network."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.krew.installing import newer_python, path_of
from tests.krew.plugins import broken, linted, moved
from tools import registry
from tools.krew import launcher, tree
from tools.krew.contents import NotPure, of_wheel
from tools.krew.packing import packed
from tools.krew.pins import Pin, pins
from tools.krew.platforms import MACHINES, PYTHONS
from tools.krew.tree import LAUNCHER, ROOT
from tools.krew.wheels import Unfetched, Wheels

MSGSPEC = Pin("msgspec", "0.22.0")
PURE = Pin("six", "1.17.0")


def a_wheel(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for at, content in files.items():
            archive.writestr(at, content)
    return path


# Packages -----------------------------------------------------------------------------------------


def test_pins_are_those_of_the_run_for_the_oldest_python() -> None:
    text = '# At run time\na==1.0\nb==1.0; python_version < "3.11"\nb==2.0; python_version >= "3.11"\n\n# Else\nc==1\n'
    assert pins(text) == (Pin("a", "1.0"), Pin("b", "1.0"))


@pytest.mark.parametrize("text", ["", "a==1", "# At run time\na>=1\n", "# At run time\na==1; os_name == 'nt'\n"])
def test_constraints_that_are_not_understood(text: str) -> None:
    with pytest.raises(ValueError, match=r"constraints\.txt"):
        pins(text)


# Wheels -------------------------------------------------------------------------------------------


class Index:
    """A replacement of pip: it has wheels with these names."""

    def __init__(self, *names: str, error: str = "") -> None:
        self.names = names
        self.error = error
        self.asked: list[tuple[str, ...]] = []
        self.starts = 0

    def fetch(self, *downloads: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.starts += 1
        self.asked += [tuple(words) for words in downloads]
        folder = Path(downloads[0][downloads[0].index("--dest") + 1])
        for name in self.names:
            (folder / name).write_bytes(b"")
        return subprocess.CompletedProcess([], 1 if self.error else 0, "", self.error)


def test_what_was_fetched_once_is_not_fetched_again(tmp_path: Path) -> None:
    index = Index("six-1.17.0-py2.py3-none-any.whl")
    wheels = Wheels(tmp_path / "wheels", index.fetch)
    assert wheels.pure(PURE) == wheels.pure(PURE)
    assert len(index.asked) == 1
    assert "six==1.17.0" in index.asked[0] and "--no-deps" in index.asked[0]


def test_what_is_missing_is_fetched_in_one_go(tmp_path: Path) -> None:
    index = Index("six-1.17.0-py2.py3-none-any.whl", "rich-15.0.0-py3-none-any.whl")
    wheels, pins = Wheels(tmp_path, index.fetch), (PURE, Pin("rich", "15.0.0"), MSGSPEC)
    wheels.fetch_pure(pins)
    wheels.fetch_pure(pins)
    assert [words[-2:] for words in index.asked] == [("six==1.17.0", "rich==15.0.0")]
    assert [wheels.pure(pin).name for pin in pins[:2]] == list(index.names)
    assert len(index.asked) == 1


def test_a_compiled_wheel_is_there_for_every_python_and_libc(tmp_path: Path) -> None:
    tags = {"linux_amd64": ("manylinux2014_x86_64.manylinux_2_28_x86_64", "musllinux_1_2_x86_64")}
    tags |= {"linux_arm64": ("manylinux_2_28_aarch64", "musllinux_1_2_aarch64")}
    tags |= {"darwin_amd64": ("macosx_10_9_x86_64",), "darwin_arm64": ("macosx_11_0_arm64",)}
    every = [
        f"msgspec-0.22.0-cp{python.replace('.', '')}-cp{python.replace('.', '')}-{tag}.whl"
        for machine in tags.values()
        for tag in machine
        for python in PYTHONS
    ]
    index = Index(*every)
    wheels = Wheels(tmp_path, index.fetch)
    for machine in MACHINES:
        found = [path.name for path in wheels.compiled(MSGSPEC, machine)]
        assert found == [name for name in every if name.endswith(tuple(f"-{tag}.whl" for tag in tags[machine.name]))]
    assert (index.starts, len(index.asked)) == (1, 2 * len(PYTHONS))


def test_a_wheel_of_another_version_or_machine_is_not_taken(tmp_path: Path) -> None:
    names = ("six-1.17.0.1-py3-none-any.whl", "six-1.17.0-cp310-cp310-win_amd64.whl", "sixty-1.17.0-py3-none-any.whl")
    with pytest.raises(Unfetched, match=r"no wheel of six==1\.17\.0"):
        Wheels(tmp_path, Index(*names).fetch).pure(PURE)


def test_offline_is_said_in_one_sentence(tmp_path: Path) -> None:
    said = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No matching distribution found for six==1.17.0\n"
    with pytest.raises(Unfetched) as raised:
        Wheels(tmp_path, Index(error=said).fetch).pure(PURE)
    assert str(raised.value).endswith(
        "could be fetched from the package index: ERROR: No matching distribution found for six==1.17.0"
    )


# Files --------------------------------------------------------------------------------------------


def test_only_what_is_needed_to_run_is_kept(tmp_path: Path) -> None:
    services = "botocore/data/eks"
    wheel = a_wheel(
        tmp_path,
        "botocore.whl",
        {
            "botocore/__init__.py": b"",
            "botocore/tests/test_it.py": b"",
            "botocore/typed.pyi": b"",
            f"{services}/2016-01-01/service-2.json.gz": b"old",
            f"{services}/2017-11-01/service-2.json.gz": b"new",
            f"{services}/2017-11-01/service-2.sdk-extras.json": b"",
            f"{services}/2017-11-01/examples-1.json": b"",
            "botocore/data/s3/2006-03-01/service-2.json.gz": b"",
            "botocore/data/endpoints.json": b"",
            "botocore-1.dist-info/METADATA": b"",
            "botocore-1.dist-info/WHEEL": b"",
            "botocore-1.dist-info/licenses/LICENSE": b"",
            "botocore-1.data/scripts/tool": b"",
            "botocore-1.data/purelib/extra.py": b"",
        },
    )
    assert sorted(of_wheel(wheel, Pin("botocore", "1"))) == [
        "botocore-1.dist-info/METADATA",
        "botocore-1.dist-info/RECORD",
        "botocore-1.dist-info/licenses/LICENSE",
        "botocore/__init__.py",
        "botocore/data/eks/2017-11-01/service-2.json.gz",
        "botocore/data/eks/2017-11-01/service-2.sdk-extras.json",
        "botocore/data/endpoints.json",
        "extra.py",
    ]


def test_a_damaged_wheel_is_named(tmp_path: Path) -> None:
    wheel = a_wheel(tmp_path, "x.whl", {"x/__init__.py": b""})
    wheel.write_bytes(wheel.read_bytes()[:20])
    with pytest.raises(ValueError, match=r"x\.whl is cut short or damaged"):
        of_wheel(wheel, Pin("rich", "1"))


@pytest.mark.parametrize("name", ["x/_speed.cpython-310-x86_64-linux-gnu.so", "x/speed.pyd", "x/lib.so.1", "x/elf"])
def test_nobody_else_may_bring_something_compiled(tmp_path: Path, name: str) -> None:
    wheel = a_wheel(tmp_path, "x.whl", {"x/__init__.py": b"", name: b"\x7fELF"})
    with pytest.raises(NotPure, match="rich==1 brings a compiled file: x/"):
        of_wheel(wheel, Pin("rich", "1"))


def test_who_can_do_without_goes_without(tmp_path: Path) -> None:
    files = {"yaml/__init__.py": b"", "yaml/_yaml.cpython-310-x86_64-linux-gnu.so": b"\x7fELF"}
    assert "yaml/_yaml.cpython-310-x86_64-linux-gnu.so" in of_wheel(a_wheel(tmp_path, "m.whl", files), MSGSPEC)
    assert list(of_wheel(a_wheel(tmp_path, "y.whl", files), Pin("pyyaml", "1"))) == ["yaml/__init__.py"]


# Packing ------------------------------------------------------------------------------------------


def test_the_same_files_are_the_same_bytes_and_krew_takes_them(tmp_path: Path) -> None:
    files = {LAUNCHER: b"#!/bin/sh\n", "LICENSE": b"", f"lib/{'x' * 150}/y.py": b"", "lib/a.py": b""}
    archive = packed(files, LAUNCHER)
    assert archive == packed(dict(reversed(files.items())), LAUNCHER)
    assert archive[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff", "of CPythons some name the time or the system"
    assert broken(linted(tmp_path, moved(bin=LAUNCHER), archive)) == set()


# The launcher -------------------------------------------------------------------------------------


def test_any_python_can_parse_the_launcher() -> None:
    text = tree.launcher().decode("ascii")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of escapes, on every start
        ast.parse(text, feature_version=(3, 0))
    assert text.startswith("#!/bin/sh\n")
    assert [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.JoinedStr, ast.AnnAssign))] == []


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh"])
def test_any_shell_can_parse_the_launcher(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "launcher").write_bytes(tree.launcher().partition(b"# '''\n")[0])
    done = subprocess.run([shell, "-n", str(tmp_path / "launcher")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_launcher_looks_for_every_python_that_fits() -> None:
    others = tuple(f"python{version}" for version in reversed(PYTHONS))
    assert others == launcher.OTHERS
    assert f"for python in {' '.join(('python3', *others))}; do" in tree.launcher().decode("ascii")


def test_a_newer_python_than_the_archive_knows_is_told_what_to_do(tmp_path: Path) -> None:
    """The message has one sentence for the cause and one for the remedy; an older Python beside it is used
    (test_archives)."""
    newest = int(PYTHONS[-1].partition(".")[2])
    assert (3, newest) == launcher.NEWEST
    program, core = tmp_path / "kubectl-eksdoc", tmp_path / "lib" / "msgspec"
    program.write_bytes(tree.launcher())
    program.chmod(0o755)
    core.mkdir(parents=True)
    (core / f"_core.cpython-3{newest}-{os.uname()[4]}-linux-gnu.so").write_bytes(b"\x7fELF")
    path = path_of(tmp_path / "bin", python3=newer_python(tmp_path / "newer", newest + 1))
    done = subprocess.run([str(program)], env={"PATH": path}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    said = f"error: kubectl eksdoc needs CPython 3.10 to 3.{newest}; python3 is 3.{newest + 1}.0 for "
    assert done.stderr.startswith(said) and ", which is newer than this archive. Upgrade it" in done.stderr
    assert "kubectl krew upgrade eksdoc" in done.stderr and "brew install python@3.13" in done.stderr


def test_every_text_names_the_pythons_of_the_archives() -> None:
    span = f"{PYTHONS[0]} to {PYTHONS[-1]}"
    for name in ("plugins.yaml", "README.md", "constraints.txt", "docs/troubleshooting.md", "tools/krew/launcher.sh"):
        assert span in " ".join((ROOT / name).read_text(encoding="utf-8").split()), name
    assert all(f"python3 ({span})" in each.caveats for each in registry.read().plugins)


X86_64, ARM64 = b"\x07\x00\x00\x01", b"\x0c\x00\x00\x01"


@pytest.mark.parametrize(
    ("name", "head", "machine", "glibc", "loads"),
    [
        ("_core.cpython-311-darwin.so", b"\xcf\xfa\xed\xfe" + ARM64, "arm64", False, True),
        ("_core.cpython-311-darwin.so", b"\xcf\xfa\xed\xfe" + ARM64, "x86_64", False, False),
        ("_core.cpython-311-darwin.so", b"\xcf\xfa\xed\xfe" + X86_64, "x86_64", False, True),
        ("_core.cpython-311-darwin.so", b"\xcf\xfa\xed\xfe" + X86_64, "arm64", False, False),
        ("_core.cpython-311-darwin.so", b"\xca\xfe\xba\xbe" + X86_64, "arm64", False, True),
        ("_core.cpython-310-x86_64-linux-gnu.so", b"\x7fELF", "x86_64", True, True),
        ("_core.cpython-310-x86_64-linux-gnu.so", b"\x7fELF", "x86_64", False, False),
        ("_core.cpython-311-x86_64-linux-musl.so", b"\x7fELF", "x86_64", False, True),
    ],
)
def test_a_module_of_another_machine_is_not_loaded(
    tmp_path: Path, name: str, head: bytes, machine: str, glibc: bool, loads: bool
) -> None:
    """A Python for x86_64 runs on Apple silicon, and musl's CPython 3.10 names its modules as glibc's does."""
    (tmp_path / name).write_bytes(head + b"more")
    assert launcher.can_load(str(tmp_path / name), machine, glibc) is loads


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has another folder for caches")
@pytest.mark.parametrize(
    ("cache", "expected"),
    [("/var/cache/me", "/var/cache/me"), ("", "/home/me/.cache"), ("not/absolute", "/home/me/.cache")],
)
def test_byte_code_goes_where_caches_go(monkeypatch: pytest.MonkeyPatch, cache: str, expected: str) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    assert launcher.cache_folder() == f"{expected}/kubectl-eksdoc/pycache"
