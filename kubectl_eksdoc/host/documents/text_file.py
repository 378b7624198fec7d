"""A file of text that a flag names."""

from __future__ import annotations

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.files import opened


def read_text(path: str, flag: str, most: int, wanted: str) -> str:
    """The text of the file that `flag` names, of at most so many bytes; `wanted` says what to give instead.

    Raises:
        UsageError: it cannot be read, is too large, or is no text in UTF-8.
    """
    if path == "-":
        raise UsageError(f"{flag} reads a file, not standard input", wanted)
    try:
        with opened(path) as file:
            read = file.read(most + 1)
        if len(read) > most:
            raise UsageError(f"{flag} {path} is larger than {most >> 20} MiB", wanted)
        return read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{flag} {path} is no text in UTF-8", wanted) from error
    except (OSError, ValueError) as error:  # ValueError: a path that no system takes
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{flag} {path} cannot be read: {why}", wanted) from error
