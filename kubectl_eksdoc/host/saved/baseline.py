"""Reads a drain plan that was saved with ``-o json``, to compare another one with it."""

from __future__ import annotations

from kubectl_eksdoc.core.model.baseline import Baseline
from kubectl_eksdoc.core.model.documents import API_VERSION, DRAIN_PLAN
from kubectl_eksdoc.errors import BaselineError
from kubectl_eksdoc.host.documents.fields import Unfit, short
from kubectl_eksdoc.host.documents.json_file import JsonFile
from kubectl_eksdoc.host.saved.earlier import SNAPSHOT, is_snapshot, maker
from kubectl_eksdoc.host.saved.plan import baseline_of

_MAKE = "A baseline is made by: kubectl eksdoc drain plan … -o json > FILE"
_EMPTY = f"A shell empties the file it writes to before the command runs: compare into another file. {_MAKE}"
_FILE = JsonFile("the baseline", "no plan", BaselineError, _MAKE, "--since (or --baseline)", _EMPTY, yaml=True)


def read_baseline(path: str) -> Baseline:
    """The saved plan at `path`.

    Raises:
        BaselineError: it cannot be opened, is no drain plan, or one of another version of this tool.
    """
    if is_snapshot(path):
        raise BaselineError(f"the baseline {path} is {SNAPSHOT}", _MAKE)
    document = _FILE.read(path)
    try:
        return baseline_of(_plan(path, document), path)
    except Unfit as error:
        hint = f"It says that it was made by kubectl eksdoc {maker(document)}. {_MAKE}"
        raise BaselineError(f"the baseline {path} is not as this version writes it: {error}", hint) from error


def _plan(path: str, document: object) -> dict[str, object]:
    """`document` if it calls itself a drain plan of this version's form."""
    if not isinstance(document, dict):
        raise BaselineError(f"the baseline {path} is no drain plan: it is JSON, but no object", _MAKE)
    version, kind = document.get("apiVersion"), document.get("kind")
    if kind != DRAIN_PLAN or not isinstance(version, str) or version.partition("/")[0] != API_VERSION.partition("/")[0]:
        what = f"a {short(kind)}" if isinstance(kind, str) and kind else "something else"
        raise BaselineError(f"the baseline {path} is no drain plan: it is {what}", _MAKE)
    if version != API_VERSION:
        raise BaselineError(
            f"the baseline {path} is in the form {short(version)}, and this version reads only {API_VERSION}",
            f"It says that it was made by kubectl eksdoc {maker(document)}. {_MAKE}",
        )
    return document
