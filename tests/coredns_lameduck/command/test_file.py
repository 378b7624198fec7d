"""``coredns-lameduck -f``: only a Corefile is read, for the named version, in every format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Ran, called
from tests.cli.running import document as valid

GOOD = ".:53 {\n    health {\n        lameduck 15s\n    }\n    ready :8182\n    forward . /etc/resolv.conf\n}\n"


@pytest.fixture
def corefile(tmp_path: Path) -> Path:
    path = tmp_path / "Corefile"
    path.write_text(GOOD, encoding="utf-8")
    return path


def read(*words: object) -> Ran:
    return called("coredns-lameduck", *map(str, words))


def document(*words: object, code: int = 0) -> dict[str, Any]:
    ran = read(*words, "-o", "json")
    assert ran.code == code, ran.err
    return valid(ran.out, "CorefileReading")


def test_what_is_taken_with_how_it_ends(corefile: Path) -> None:
    found = document("-f", corefile)
    assert (found["accepted"], found["lameduckSeconds"], found["shutdownSeconds"]) == (True, 15, 20)
    assert (found["health"], found["ready"], found["findings"]) == ([":8080"], [":8182"], [])
    page = read("-f", corefile)
    assert page.code == 0 and "lameduck 15 s; from SIGTERM to the end at most 20 s." in page.out
    corefile.write_text(".:53 {\n    {$PLUG} {\n        lameduck 2s\n    }\n}\n", encoding="utf-8")
    assert "/health not known; /ready not known." in read("-f", corefile).out, "the variable may name either"
    corefile.write_text(".:53 {\n    whoami\n}\n", encoding="utf-8")
    assert "/health nowhere; /ready nowhere." in read("-f", corefile).out


def test_what_is_refused_with_its_line_by_the_version_that_is_named(corefile: Path) -> None:
    corefile.write_text(GOOD.replace("forward", "proxy"), encoding="utf-8")
    found = document("-f", corefile, code=1)
    assert found["refusals"] == [{"line": 6, "message": "Corefile:6 - Error during parsing: Unknown directive 'proxy'"}]
    old = document("-f", corefile, "--coredns-version", "1.4.0", code=1)
    assert [each["message"] for each in old["refusals"]] == [
        "Corefile:5 - Error during parsing: Unknown directive 'ready'"
    ], "it came with 1.5.0, and proxy went"
    ran = read("-f", corefile, "-o", "sarif")
    (result,) = json.loads(ran.out)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("dns-corefile-refused", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 6} and place["artifactLocation"]["uri"].endswith("/Corefile")


@pytest.mark.parametrize(
    ("text", "code", "status", "exits"),
    [
        (GOOD.replace("15s", "30s"), "dns-lameduck-long", "fail", 1),
        (GOOD.replace("15s", "{$WAIT}"), "dns-lameduck-unknown", "unknown", 5),
        (f"import more/*.server\n{GOOD}", "dns-corefile-unknown", "unknown", 5),
    ],
)
def test_what_is_found(corefile: Path, text: str, code: str, status: str, exits: int) -> None:
    corefile.write_text(text, encoding="utf-8")
    found = document("-f", corefile, code=exits)
    assert (code, status) in {(each["code"], each["status"]) for each in found["findings"]}


@pytest.mark.parametrize(
    "words",
    [
        ("-f", "no-such-file"),
        ("--coredns-version", "1.13.1"),
        ("-f", "x", "--demo"),
        ("-f", "x", "--set", "lameduck=20s"),
        ("-f", __file__, "--coredns-version", "newest"),
    ],
)
def test_what_does_not_go_together_is_an_error_of_usage(words: tuple[str, ...]) -> None:
    ran = read(*words)
    assert (ran.code, ran.out) == (2, "") and ran.err


@pytest.mark.long
def test_no_kubeconfig_and_no_client_is_needed(corefile: Path, tmp_path: Path) -> None:
    """No library for a cluster or for AWS is loaded: so it answers in 250 ms."""
    script = (
        "import sys; from kubectl_eksdoc.cli.main import run\n"
        f"words = ['coredns-lameduck', '-f', {str(corefile)!r}, '-o']\n"
        "code = max(run([*words, each], sys.stdout, sys.stderr) for each in ('table', 'json', 'sarif'))\n"
        "heavy = {'boto3', 'botocore', 'yaml', 'urllib3', 'kubectl_eksdoc.kube', 'kubectl_eksdoc.model.cluster'}\n"
        "print(code, sorted(heavy & set(sys.modules)))"
    )
    env = {**os.environ, "KUBECONFIG": str(tmp_path / "none")}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)
    assert ran.stdout.splitlines()[-1] == "0 []"
