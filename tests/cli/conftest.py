"""What many commands are asked about."""

from __future__ import annotations

import pytest

from tests.cli.running import called


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the demo, written over a file that is there, as --overwrite allows."""
    path = tmp_path_factory.mktemp("snapshot") / "demo.eksdoc"
    path.write_text("mine")
    taken = called("snapshot", str(path), "--demo", "--overwrite")
    assert taken.code == 0, taken.err
    return str(path)
