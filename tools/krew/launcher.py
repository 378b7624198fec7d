#!/usr/bin/env python3
"""kubectl eksdoc as krew installs it: this file, and beside it lib with all that it needs.

Any Python must be able to parse it, so that one that is too old can say so, or another one be found in its place.
"""

import os
import sys

LIB = os.path.join(os.path.dirname(os.path.realpath(__file__)), "lib")
COMPILED = os.path.join(LIB, "msgspec", "_core")
OTHERS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3.10")

FITS = """
import os, sys
from importlib.machinery import EXTENSION_SUFFIXES
sys.exit(not any(os.path.exists(sys.argv[1] + suffix) for suffix in EXTENSION_SUFFIXES))
"""


def fits():  # type: () -> bool
    """True where lib has what is compiled for this very Python, which is the case from 3.10 on."""
    try:
        from importlib.machinery import EXTENSION_SUFFIXES
    except ImportError:
        return False
    return any(os.path.exists(COMPILED + suffix) for suffix in EXTENSION_SUFFIXES)


def run_with_another():  # type: () -> None
    """Go on with the first Python on PATH that fits. Each is tried before: a shim may be there, and yet not run."""
    import subprocess

    with open(os.devnull, "wb") as nowhere:
        for name in OTHERS:
            for folder in os.environ.get("PATH", "").split(os.pathsep):
                program = os.path.join(folder, name)
                if not os.path.isabs(program) or not os.access(program, os.X_OK):
                    continue
                probe = [program, "-c", FITS, COMPILED]
                try:
                    found = subprocess.call(probe, stdout=nowhere, stderr=nowhere) == 0
                    if found:
                        # argv[0] stays: by it a link says which command it is.
                        os.execv(program, [program] + sys.argv)
                except OSError:
                    continue


def cache_folder():  # type: () -> str
    """Where byte code of lib is kept, "" for no place: what krew installs may not be writable, and is not ours."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        top = os.path.join(home, "Library", "Caches")
    else:
        top = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(top):
            top = os.path.join(home, ".cache")
    return os.path.join(top, "kubectl-eksdoc", "pycache") if os.path.isabs(top) else ""


def refuse():  # type: () -> None
    sys.stderr.write(
        "error: kubectl eksdoc needs CPython 3.10 to 3.14; python3 is %s (%s) on %s, and there is no other one on PATH "
        "that fits. Install one: brew install python@3.13 (macOS), apt install python3 (Debian 12, Ubuntu 22.04 or "
        "newer), dnf install python3.11 (Amazon Linux, RHEL).\n"
        % (sys.version.split()[0], sys.executable, sys.platform)
    )
    sys.exit(2)


def main():  # type: () -> None
    if not fits():
        run_with_another()
        refuse()
    if not os.environ.get("PYTHONDONTWRITEBYTECODE") and sys.pycache_prefix is None:
        sys.pycache_prefix = cache_folder() or None
    here = os.path.dirname(LIB)
    # Before all else, so that what somebody has installed for themselves is not taken in its place.
    sys.path[:] = [LIB] + [place for place in sys.path if place != here]
    from kubectl_eksdoc.launch import main as launched

    launched()


if __name__ == "__main__":
    main()
