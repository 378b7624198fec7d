"""The names of the AWS profiles of this machine.

Source: AWS SDKs and Tools reference, "Shared config and credentials files": sections ``[profile NAME]`` and
``[default]`` of the one, ``[NAME]`` of the other; AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE name others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_SECTION = re.compile(r"^\[\s*(?P<profile>profile\s+)?(?P<name>[^\[\]]+?)\s*\]", re.MULTILINE)
_LARGEST = 4 << 20


def profiles(environ: Mapping[str, str], home: str) -> tuple[str, ...]:
    """Sorted; those of a file that cannot be read are left out."""
    aws = os.path.join(home, ".aws")
    config = _text(environ.get("AWS_CONFIG_FILE") or os.path.join(aws, "config"), home)
    credentials = _text(environ.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.join(aws, "credentials"), home)
    found = {match["name"] for match in _SECTION.finditer(credentials)}
    found |= {match["name"] for match in _SECTION.finditer(config) if match["profile"] or match["name"] == "default"}
    return tuple(sorted(name.strip("'\"") for name in found))


def _text(path: str, home: str) -> str:
    whole = os.path.join(home, path[2:]) if path.startswith("~/") else path
    try:
        with open(whole, encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST)
    except (OSError, ValueError):
        return ""
