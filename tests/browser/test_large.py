"""The page of 5,000 nodes stays small, opens at once, and says what it leaves out."""

from __future__ import annotations

from pathlib import Path

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


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    assert replicated.write(RICH, folder, TIMES)["Node"] >= NODES
    return folder


def test_the_page_of_a_check_is_small_and_opens_at_once(tab: Tab, dump: Path, tmp_path: Path) -> None:
    page = written(tmp_path / "check.html", "check", "--snapshot", str(dump), "--target", "1.34")
    _small_and_quick(tab, page)
    assert tab.run("document.body.innerText.includes('all of them are in -o json')")
    assert tab.run("document.querySelectorAll('#drain .gantt rect').length") > 0


def test_the_page_of_the_drain_of_all_of_them_is_so_too(tab: Tab, dump: Path, tmp_path: Path) -> None:
    search = ("--older-than", "v1.34", "--effort", "0")
    _small_and_quick(tab, written(tmp_path / "plan.html", "drain", "plan", "--snapshot", str(dump), *search))


def _small_and_quick(tab: Tab, page: Path) -> None:
    """The best of three, for other tests run beside."""
    assert page.stat().st_size < MOST_BYTES
    for width in (1280, 390):
        tab.look(width)
        assert min(tab.open(page) for _ in range(3)) < MOST_S
        assert tab.run("document.documentElement.scrollWidth") <= width
