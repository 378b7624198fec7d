"""Run command lines, one per line of stdin as JSON words, each in a process forked from this one.

For each it prints ``[exit code, stdout, stderr]`` as a line of JSON. PYTHONPATH selects the package.
"""

from __future__ import annotations

import json
import os
import pkgutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import kubectl_eksdoc
from kubectl_eksdoc import launch


def main() -> None:
    for module in pkgutil.walk_packages(kubectl_eksdoc.__path__, "kubectl_eksdoc."):
        if not module.name.endswith("__main__") and not module.name.startswith("kubectl_eksdoc.dns_load"):
            import_module(module.name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if not child:
                _become(json.loads(line), out.fileno(), err.fileno())
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0)
            err.seek(0)
            print(json.dumps([code, *(kept.read().decode() for kept in (out, err))]), file=answers, flush=True)


def _become(words: list[str], out: int, err: int) -> None:
    """Turn this process into the command; never returns."""
    code = 70
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.argv = [str(Path(launch.__file__).with_name("__main__.py")), *words]
        try:
            launch.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
