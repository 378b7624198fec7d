"""Saved DNS measurements are found again for the same CoreDNS, and damaged files are rejected."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kubectl_eksdoc.host.cache import read_propagation, save_propagation
from kubectl_eksdoc.model.coredns import EndpointPropagation

FOUND = EndpointPropagation(4, 30, datetime(2026, 11, 20, 8, 51, tzinfo=timezone.utc), lost=True)


def test_it_is_kept_for_one_coredns(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    save_propagation("uid-1", "prod", FOUND, environ)
    assert read_propagation("uid-1", "prod", environ) == FOUND
    assert read_propagation("uid-2", "prod", environ) is None and read_propagation("", "prod", environ) is None
    assert read_propagation("uid-1", "rehearsal", environ) is None, "a rehearsal of its snapshot has the same uids"
    (file,) = tmp_path.rglob("*.json")
    assert file.stat().st_mode & 0o077 == 0


def test_a_loss_is_forgotten_only_for_a_longer_time_without_one(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    for seconds, expected in ((4, FOUND), (5, replace(FOUND, seconds=5, lost=False))):
        save_propagation("uid-1", "lab", FOUND, environ)
        save_propagation("uid-1", "lab", replace(FOUND, seconds=seconds, lost=False), environ)
        assert read_propagation("uid-1", "lab", environ) == expected


@pytest.mark.parametrize("content", ["[]", '{"version":2}', '{"version":1,"seconds":"4"}', "[" * 4000])
def test_what_is_damaged_is_as_if_it_were_not_there(content: str, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    save_propagation("uid-1", "prod", FOUND, environ)
    (file,) = tmp_path.rglob("*.json")
    file.write_text(content, encoding="utf-8")
    assert read_propagation("uid-1", "prod", environ) is None
