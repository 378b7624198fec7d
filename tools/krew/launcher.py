"""The launcher of kubectl eksdoc in a krew archive: this file behind launcher.sh, beside lib with all dependencies.

Any Python must be able to parse it, so that one that is too old can report that, or another one is found.
"""

import os
import sys

LIB = os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib")
COMPILED = os.path.join(LIB, "msgspec", "_core")
OTHERS = ("python3.15", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10")

FITS = "import sys; sys.path.insert(0, sys.argv[1]); import msgspec"
NEWEST = (3, 15)
UPGRADE = (
    "Upgrade it (kubectl krew upgrade eksdoc), or install an older Python beside this one, which is then found on PATH "
    "as python3.13: brew install python@3.13 (macOS), apt install python3.13, dnf install python3.13."
)
INSTALL = (
    "Install one: brew install python@3.13 (macOS), apt install python3 (Debian 12, Ubuntu 22.04 or newer), "
    "dnf install python3.11 (Amazon Linux, RHEL)."
)

MACH_O = b"\xcf\xfa\xed\xfe"
PROCESSORS = {b"\x07\x00\x00\x01": "x86_64", b"\x0c\x00\x00\x01": "arm64"}
"""By the bytes after MACH_O (mach/machine.h: CPU_TYPE_X86_64, CPU_TYPE_ARM64)."""


def fits():  # type: () -> bool
    """True where lib has the compiled modules for this very Python, which is so from 3.10 on."""
    try:
        from importlib.machinery import EXTENSION_SUFFIXES
    except ImportError:
        return False
    there = [path for path in (COMPILED + suffix for suffix in EXTENSION_SUFFIXES) if os.path.exists(path)]
    return any(can_load(path, os.uname()[4], "CS_GNU_LIBC_VERSION" in os.confstr_names) for path in there)


def can_load(path, machine, glibc):  # type: (str, str, bool) -> bool
    """False for a module of another machine: macOS uses one name for all processors (and an x86_64 Python runs on
    arm64, too), and Python 3.10 with musl uses the name that it would use with glibc."""
    processor = of_macos(path)
    if processor:
        return processor == machine
    return glibc or not path.endswith("-linux-gnu.so")


def of_macos(path):  # type: (str) -> str
    """The processor of a macOS module, "" for any other file."""
    with open(path, "rb") as file:
        head = file.read(8)
    return PROCESSORS.get(head[4:], "") if head.startswith(MACH_O) else ""


def made_for():  # type: () -> str
    """The machine of lib, "" where it is unknown."""
    folder, name = os.path.split(COMPILED)
    modules = sorted(each for each in os.listdir(folder) if each.startswith(name + ".cpython-"))
    if not modules:
        return ""
    processor = of_macos(os.path.join(folder, modules[0]))
    if processor:
        return "darwin " + processor
    words = modules[0].split("-")  # _core.cpython-310-x86_64-linux-gnu.so
    return words[3] + " " + words[2] if len(words) > 3 else ""


def run_with_another():  # type: () -> None
    """Continue with the first Python on PATH that fits. Each is tried before: a shim may exist and yet not run."""
    import subprocess

    with open(os.devnull, "wb") as nowhere:
        for name in OTHERS:
            for folder in os.environ.get("PATH", "").split(os.pathsep):
                program = os.path.join(folder, name)
                if not os.path.isabs(program) or not os.access(program, os.X_OK):
                    continue
                probe = [program, "-B", "-c", FITS, LIB]
                try:
                    found = subprocess.call(probe, stdout=nowhere, stderr=nowhere) == 0
                    if found:
                        # argv[0] stays: the name of a link selects the command.
                        os.execv(program, [program] + sys.argv)
                except OSError:
                    continue


def cache_folder():  # type: () -> str
    """The folder for byte code of lib, "" for none: the folder that krew installs may not be writable, and belongs to
    krew."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        top = os.path.join(home, "Library", "Caches")
    else:
        top = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(top):
            top = os.path.join(home, ".cache")
    return os.path.join(top, "kubectl-eksdoc", "pycache") if os.path.isabs(top) else ""


def prune(cache):  # type: (str) -> None
    """Remove the byte code of versions that krew has removed; runs at the first run of each version. krew keeps a
    version in store/PLUGIN/VERSION, and the cache has byte code below the whole path of its source."""
    root = os.path.dirname(LIB)
    if not cache or os.path.isdir(cache + root):
        return
    import shutil

    store = os.path.dirname(os.path.dirname(root))
    for plugin in listed(cache + store):
        for version in listed(os.path.join(cache + store, plugin)):
            if not os.path.exists(os.path.join(store, plugin, version)):
                shutil.rmtree(os.path.join(cache + store, plugin, version), ignore_errors=True)


def listed(folder):  # type: (str) -> list[str]
    try:
        return os.listdir(folder)
    except OSError:
        return []


def refuse():  # type: () -> None
    """Report why, but not during completion, where the text would appear in the typed line."""
    name = os.path.basename(sys.argv[0])
    if name.startswith("kubectl_complete-") or sys.argv[1:2] == ["__complete"]:
        sys.exit(1)
    here = "%s %s" % (sys.platform, os.uname()[4])
    python3 = "python3 is %s for %s (%s)" % (sys.version.split()[0], here, sys.executable)
    version = sys.version_info[:2]
    if (3, 10) <= version <= NEWEST and made_for() not in ("", here):
        sys.stderr.write(
            "error: this kubectl eksdoc is for %s, and %s: put a python3 for that machine on PATH, or install it for "
            "this one with KREW_OS and KREW_ARCH set (linux or darwin, amd64 or arm64).\n" % (made_for(), python3)
        )
    else:
        needs = "error: kubectl eksdoc needs CPython 3.10 to %d.%d; %s" % (NEWEST + (python3,))
        if version > NEWEST:
            sys.stderr.write("%s, which is newer than this archive. %s\n" % (needs, UPGRADE))
        else:
            sys.stderr.write("%s, and there is no other one on PATH that fits. %s\n" % (needs, INSTALL))
    sys.exit(2)


def main():  # type: () -> None
    if not fits():
        run_with_another()
        refuse()
    if not os.environ.get("PYTHONDONTWRITEBYTECODE") and sys.pycache_prefix is None:
        cache = cache_folder()
        prune(cache)
        sys.pycache_prefix = cache or None
    here = os.path.dirname(LIB)
    # First in sys.path, so that a package that the user has installed is not imported instead.
    sys.path[:] = [LIB] + [place for place in sys.path if place != here]
    from kubectl_eksdoc.launch import main as launched

    launched()


if __name__ == "__main__":
    main()
