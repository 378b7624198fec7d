"""Reader for the manifest of a krew plugin, from a file."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.files import open_file
from kubectl_eksdoc.host.documents import parse_go_yaml
from tools.krew.lint.decoding import decoded
from tools.krew.lint.model import PluginManifest

MOST_BYTES = 1 << 20
"""The largest manifest in krew-index has 30 KiB."""

_HINT = "Name the file that is to be NAME.yaml in plugins/ of an index."


def read_manifest(path: str) -> PluginManifest:
    """The manifest in a file.

    Raises:
        UsageError: it cannot be read, or is not a YAML object.
    """
    try:
        with open_file(path) as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path that no system accepts
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"the manifest {path} cannot be read: {why}", _HINT) from error
    if len(content) > MOST_BYTES:
        raise UsageError(f"the manifest {path} is larger than {MOST_BYTES >> 20} MiB", _HINT)
    try:
        document = parse_go_yaml(content)
    except ValueError as error:
        raise UsageError(f"the manifest {path} cannot be judged: {error}", _HINT) from error
    if not isinstance(document, Mapping):
        raise UsageError(f"the manifest {path} is no object in YAML", _HINT)
    return decoded(document)
