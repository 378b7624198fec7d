"""The pages of 5,000 nodes stay small, open quickly, and say what they leave out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench import replicated
from tests.browser.chromium import Tab
from tests.browser.written import written
from tests.contracts.source import ROOT

pytestmark = pytest.mark.long

RICH = ROOT / "tests" / "data" / "clusters" / "rich.tar.gz"
TIMES = 278
NODES = 5000
MOST_BYTES, MOST_S = 5_000_000, 2.0


@pytest.fixture
def dump() -> Iterator[Path]:
    """The dump has half a gigabyte, so it is deleted afterwards."""
    with TemporaryDirectory() as folder:
        assert replicated.write(RICH, Path(folder), TIMES)["Node"] >= NODES
        yield Path(folder)


def test_the_pages_of_a_check_and_of_its_drain_are_small_and_open_at_once(tab: Tab, dump: Path, tmp_path: Path) -> None:
    """One test for both, because the dump takes longer than a page."""
    check = written(tmp_path / "check.html", "check", "--snapshot", str(dump), "--target", "1.34")
    _small_and_quick(tab, check)
    assert tab.run("document.body.innerText.includes('all of them are in -o json')")
    assert tab.run("document.querySelectorAll('#drain .gantt rect').length") > 0
    behind = ("--older-than", "v1.34", "--effort", "0")
    _small_and_quick(tab, written(tmp_path / "plan.html", "drain", "plan", "--snapshot", str(dump), *behind))


def _small_and_quick(tab: Tab, page: Path) -> None:
    """The best of three, because other tests run at the same time."""
    assert page.stat().st_size < MOST_BYTES
    for width in (1280, 390):
        tab.look(width)
        assert min(tab.open(page) for _ in range(3)) < MOST_S
        assert tab.run("document.documentElement.scrollWidth") <= width
