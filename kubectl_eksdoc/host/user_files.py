"""Files written by users: key bindings of the screens, and the order of nodes.

The key bindings are in ``$XDG_CONFIG_HOME/eksdoc/keys.json``, or in ``~/.config/eksdoc/keys.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from kubectl_eksdoc.errors import UsageError, os_error_text

from .documents import read_text

MAX_KEYMAP_BYTES = 1 << 20

KEYMAP_HINT = 'write {"mark": "v"}: the name of an action, and its key or several with commas'


def keymap_path(environ: Mapping[str, str]) -> Path | None:
    """The path of keys.json; None if neither variable is set. A relative XDG_CONFIG_HOME is ignored, as its
    specification says."""
    configured, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if Path(configured).is_absolute():
        return Path(configured, "eksdoc", "keys.json")
    return Path(home, ".config", "eksdoc", "keys.json") if home else None


def read_keymap(environ: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The keys by action name, and the problems of the file, a sentence each.

    Without a file, both are empty.
    """
    path = keymap_path(environ)
    try:
        if path is None or not path.is_file():
            return {}, ()
        with path.open("rb") as file:
            text = file.read(MAX_KEYMAP_BYTES)
        document = json.loads(text.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        return {}, (f"{path} cannot be read, so all keys are as they come: {os_error_text(error)}",)
    if not isinstance(document, dict):
        return {}, (f"{path} is no object, so all keys are as they come: {KEYMAP_HINT}",)
    keys = {name: key for name, key in document.items() if isinstance(key, str)}
    return keys, tuple(
        f"{path}: the key of {name!r} is no text; {KEYMAP_HINT}" for name in document if name not in keys
    )


# The order of nodes (``--order-file``).


MAX_ORDER_BYTES = 4 << 20
"""More than the names of all nodes of any cluster."""

_ORDER_HINT = "Give a file in UTF-8 with one node a line, such as -o name prints."


def read_order(path: str) -> tuple[str, ...]:
    """The node names in the file `path`, one a line, without duplicates; ``#`` begins a comment, a prefix ``node/`` is
    removed.

    Raises:
        UsageError: the file cannot be read, is not text, or names no node.
    """
    text = read_text(path, "--order-file", MAX_ORDER_BYTES, _ORDER_HINT)
    lines = (line.partition("#")[0].strip().removeprefix("node/") for line in text.splitlines())
    names = tuple(dict.fromkeys(line for line in lines if line))
    if not names:
        raise UsageError(f"--order-file {path} names no node", _ORDER_HINT)
    invalid_name = next((name for name in names if not name.isprintable() or any(c.isspace() for c in name)), "")
    if invalid_name:
        raise UsageError(f"--order-file {path}: {invalid_name[:80]!r} is no name of a node", "Write one node a line.")
    return names
