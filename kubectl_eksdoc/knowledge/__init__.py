"""Facts that are known and not observed: records of software, versions, dates and removed APIs, each with source and
date.

Belongs here: JSON files, one for each kind of subject, one record for each subject. CONTRIBUTING.md says how to add
one. And words that a user chooses from: the keys of the screens, the faults of a rehearsal.
Never here: code but the functions that list and read the files. `model.knowledge` makes frozen dataclasses of records.
"""

from __future__ import annotations

from typing import Any


def record_files() -> list[str]:
    """The names of the files, without ``.json``."""
    import os

    return sorted(each.removesuffix(".json") for each in os.listdir(__path__[0]) if each.endswith(".json"))


def read_records(subject: str) -> Any:
    """The file of that name: a head, and in it ``records``."""
    import json  # imported late: most commands read no file

    with open(f"{__path__[0]}/{subject}.json", encoding="utf-8") as file:
        return json.load(file)
