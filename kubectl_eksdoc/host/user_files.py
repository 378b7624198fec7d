"""The user's file of keys for the screens: ``$XDG_CONFIG_HOME/eksdoc/keys.json``, or ``~/.config/eksdoc/keys.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from kubectl_eksdoc.errors import cause_of

MOST_BYTES = 1 << 20

WANTED = 'write {"mark": "v"}: the name of an action, and its key or several with commas'


def path_of(environ: Mapping[str, str]) -> Path | None:
    """None where neither variable says where; a relative XDG_CONFIG_HOME counts as none, as its specification says."""
    configured, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if Path(configured).is_absolute():
        return Path(configured, "eksdoc", "keys.json")
    return Path(home, ".config", "eksdoc", "keys.json") if home else None


def read_keymap(environ: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The keys by the names of their actions, and what is wrong with the file, a sentence each.

    Without a file there are none and nothing is wrong.
    """
    path = path_of(environ)
    try:
        if path is None or not path.is_file():
            return {}, ()
        with path.open("rb") as file:
            text = file.read(MOST_BYTES)
        found = json.loads(text.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        return {}, (f"{path} cannot be read, so all keys are as they come: {cause_of(error)}",)
    if not isinstance(found, dict):
        return {}, (f"{path} is no object, so all keys are as they come: {WANTED}",)
    keys = {name: key for name, key in found.items() if isinstance(key, str)}
    return keys, tuple(f"{path}: the key of {name!r} is no text; {WANTED}" for name in found if name not in keys)
