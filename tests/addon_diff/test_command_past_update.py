"""``kubectl eksdoc addon-diff --after`` from the command line: on the demo, and with contradicting arguments."""

from __future__ import annotations

import pytest

from tests.cli.running import run_cli, told
from tools.demo.aws.updates import UPDATES

AFTER = ("addon-diff", "vpc-cni", "--demo", "--after")


@pytest.mark.long
def test_the_demo_tells_what_its_last_update_took_and_that_it_is_back() -> None:
    ran = run_cli(*AFTER)
    assert ran.code == 1 and ran.err.startswith("context demo")
    assert "with OVERWRITE took 1 field that another client had" in ran.out
    assert "from revision 2 to 3" in ran.out and "aws eks update-addon" in ran.out
    assert "kubectl -n kube-system patch" not in ran.out, "it is back already"
    (addon,) = told(*AFTER)["addons"]
    lost = [each for each in addon["templates"][0]["fields"] if each["cause"] == "lost"]
    assert [(each["before"], each["after"], each["live"], each["state"]) for each in lost] == [
        ("true", "false", "true", "back")
    ]
    assert addon["later"]["values"]["init"] == {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}


def test_an_older_update_that_failed_took_nothing() -> None:
    (failed,) = (each for each in UPDATES if each.conflict)
    ran = run_cli(*AFTER, "--update", failed.id)
    assert "with NONE reset nothing" in ran.out and "ConfigurationConflict" in ran.out and ran.code == 0
    assert "1 update came after it." in ran.out


@pytest.mark.long
@pytest.mark.parametrize(("name", "code"), [("metrics-server", 0), ("aws-ebs-csi-driver", 5)])
def test_where_nothing_was_lost_it_is_clean_if_all_was_read(name: str, code: int) -> None:
    """metrics-server has no known update; aws-ebs-csi-driver has more objects than are read."""
    ran = run_cli("addon-diff", name, "--demo", "--after")
    assert ran.code == code and "NOW" not in ran.out and "LATER" not in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--after",), "no add-on is named"),
        (("vpc-cni", "--update", "u"), "--update names an update that has happened"),
        (("vpc-cni", "--after", "--tf-plan", "x"), "--tf-plan beside --after"),
        (("vpc-cni", "--after", "--apply"), "--apply beside --after"),
        (("vpc-cni", "--after", "--yes"), "flags that carry an update out"),
    ],
)
def test_what_does_not_fit_together(words: tuple[str, ...], said: str) -> None:
    ran = run_cli("addon-diff", *words, "--demo")
    assert (ran.code, ran.out) == (2, "") and said in ran.err


def test_an_update_that_is_none() -> None:
    ran = run_cli(*AFTER, "--update", "nope")
    assert ran.code == 4 and "nope is no update of add-on vpc-cni in cluster demo-shop" in ran.err
