"""``kubectl eksdoc addon-diff --tf-plan`` in a pipeline: its exit codes, on the demo."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.addon.terraform_of_demo import DEMO, OLD, an_incident
from tests.addon_diff.terraform.worlds import MODULE, SPELLINGS, values
from tests.addon_diff.test_command import without_cni
from tests.cli.running import Ran, run_cli
from tests.contracts.source import ROOT
from tests.examples import one_in
from tests.host.terraform_plans import a_change, a_plan, written

KEPT = {"env": {"ENABLE_POD_ENI": "true"}, "init": {"env": {"DISABLE_TCP_EARLY_DEMUX": "true"}}}


def judged(folder: Path, document: Any, *words: str) -> Ran:
    return run_cli("addon-diff", "--tf-plan", written(folder, document), "--demo", *words)


def unwrapped(ran: Ran) -> str:
    """The output without line breaks, whose places depend on the length of the plan's path."""
    return " ".join(ran.out.split())


@pytest.mark.parametrize("spelling", one_in(3, SPELLINGS))
def test_the_incident_is_refused_with_its_address(spelling: str, tmp_path: Path) -> None:
    ran = judged(tmp_path, an_incident(spelling))
    assert ran.code == 1 and MODULE in unwrapped(ran) and "critical: DISABLE_TCP_EARLY_DEMUX" in unwrapped(ran)
    assert ran.err.startswith("context demo")


def test_what_is_proposed_is_let_through(tmp_path: Path) -> None:
    said = json.loads(judged(tmp_path, an_incident(), "-o", "json").out)
    assert said["addons"][0]["address"] == MODULE and said["addons"][0]["wayOut"]["values"] == KEPT
    document = an_incident(configuration_values=json.dumps(KEPT), resolve_conflicts_on_update="NONE")
    ran = judged(tmp_path, document)
    assert ran.code == 0 and "1 loses nothing" in unwrapped(ran)


def test_a_plan_without_addons_is_nothing_to_do(tmp_path: Path) -> None:
    ran = judged(tmp_path, a_plan())
    assert ran.code == 0 and f"no add-on of {DEMO} is changed: nothing to do" in unwrapped(ran)


@pytest.mark.parametrize(
    "sensitive",
    [*one_in(3, [True, {"configuration_values": True}, {"configuration_values": {"a": True}}]), "true"],
)
def test_what_is_sensitive_is_never_printed_and_never_passes(sensitive: Any, tmp_path: Path) -> None:
    secret = json.dumps({"env": {"PASSWORD": "hunter2"}})
    document = an_incident(configuration_values=secret)
    for each in document["resource_changes"]:
        each["change"] |= {"before_sensitive": sensitive, "after_sensitive": sensitive}
    for output in ("table", "wide", "json", "yaml"):
        ran = judged(tmp_path, document, "--debug", "-o", output)
        assert "hunter2" not in ran.out + ran.err and "PASSWORD" not in ran.out + ran.err
        assert ran.code != 0 and "sensitive" in ran.out + ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--all",), "--all cannot be used with --tf-plan"),
        (("--resolve-conflicts", "NONE"), "--resolve-conflicts cannot be used with --tf-plan"),
        (("--configuration-values", "f", "--to", "x"), "--to and --configuration-values cannot be used with --tf-plan"),
        (("--since-when",), "--since-when cannot be used with --tf-plan"),
    ],
)
def test_what_does_not_fit_together(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    ran = judged(tmp_path, a_plan(), *words)
    assert (ran.code, ran.out) == (2, "") and said in ran.err


def test_what_is_no_plan_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    ran = judged(tmp_path, b"PK\x03\x04")
    assert ran.code == 2 and "as Terraform keeps it" in ran.err and "terraform show -json" in ran.err
    both = run_cli("addon-diff", "--tf-plan", "-", "--snapshot", "-")
    assert both.code == 2 and "both read standard input" in both.err


@pytest.mark.long
def test_a_plan_on_standard_input() -> None:
    command = [sys.executable, "-m", "kubectl_eksdoc", "addon-diff", "--tf-plan", "-", "--demo"]
    done = subprocess.run(
        command, cwd=ROOT, input=json.dumps(an_incident()), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and done.stdout.startswith(f"standard input: 1 add-on change in {DEMO}: 1 fails")


def test_what_a_snapshot_does_not_hold_is_unknown(snapshot: str, tmp_path: Path) -> None:
    words = ("--tf-plan", written(tmp_path, an_incident()), "--snapshot", without_cni(snapshot, tmp_path))
    ran = run_cli("addon-diff", *words)
    assert ran.code == 5 and "1 is unknown" in unwrapped(ran)


def test_what_is_not_known_is_told_apart_from_what_fails(tmp_path: Path) -> None:
    before = values("5", cluster_name=DEMO, addon_version=OLD)
    after = {key: value for key, value in before.items() if key != "addon_version"}
    document = a_plan(a_change(before, after, "update", unknown={"addon_version": True}))
    ran = judged(tmp_path, document)
    assert ran.code == 5 and "addon_version is known after apply only" in unwrapped(ran)
