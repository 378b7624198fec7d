"""Workflows, the GitHub action and pre-commit hooks match the program and the Makefile."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.cli.main import command_parser
from kubectl_eksdoc.cli.parser import expand_bare_flags, positional_words, split_at_dashes
from kubectl_eksdoc.errors import UsageError
from tests.contracts.source import ROOT
from tests.contracts.test_ways_in import phony
from tests.fakes.programs import program
from tests.yaml_reader import yaml_of

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
GATES = ROOT / "tools" / "gates.sh"
PAGE = ROOT / "docs" / "pipelines.md"
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(name: str | Path) -> Any:
    return yaml_of((ROOT / name).read_text(encoding="utf-8"))


def runs(workflow: Any) -> list[str]:
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


@each_workflow
def test_a_workflow_may_read_alone_and_ends(path: Path) -> None:
    """Further permissions are declared at the job."""
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert [name for name, job in workflow["jobs"].items() if "timeout-minutes" not in job] == []
    assert {*re.findall(r"\bmake ([a-z-]+)", "\n".join(runs(workflow)))} <= {*phony()}
    assert [each for each in runs(workflow) if "${{" in each] == [], "what others can write is no part of a script"


def test_every_python_that_is_supported_is_tested() -> None:
    setup = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    named = re.findall(r"Programming Language :: Python :: (3\.[0-9]+)", setup)
    assert read(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]["python"] == named


def test_only_the_release_and_new_data_may_write_and_they_store_no_token() -> None:
    wanted = {
        "release": ["publish: contents", "image: packages"],
        "data": ["addons: contents", "addons: pull-requests"],
    }
    for path in WORKFLOWS:
        writes = [
            f"{name}: {right}"
            for name, job in read(path)["jobs"].items()
            for right, may in job.get("permissions", {}).items()
            if may == "write" and right not in ("id-token", "attestations")
        ]
        assert writes == wanted.get(path.stem, [])
        assert "secrets." not in path.read_text(encoding="utf-8")


# The action ---------------------------------------------------------------------------------------


def gates(folder: Path, codes: str, **environ: str) -> tuple[int, str, str]:
    """Exit code, stdout and the calls; `codes`: the exit codes of the calls, one digit each."""
    calls, left = folder / "calls", folder / "codes"
    left.write_text(codes)
    body = f'echo "$*" >> {calls}; c=$(cut -c1 {left}); cut -c2- {left} > x; mv x {left}; echo "answer"; exit $c'
    fake = program(folder / "fake", "/bin/sh", "-c", body, "fake")
    env = {"PATH": "/bin:/usr/bin", "EKSDOC": str(fake), "GITHUB_OUTPUT": str(folder / "out"), **environ}
    done = subprocess.run(["/bin/sh", str(GATES)], env=env, cwd=folder, capture_output=True, text=True)
    assert done.stderr == "" and (folder / "out").read_text() == f"exit-code={done.returncode}\n"
    return done.returncode, done.stdout, calls.read_text() if calls.exists() else ""


ALL = {
    "TERRAFORM_PLAN": "p l.json",
    "SNAPSHOT": "s.gz",
    "MANIFESTS": "d/",
    "FROM": "1.33",
    "TARGET": "1.34",
    "COREFILE": "C",
}


def test_each_gate_that_is_asked_for_is_run(tmp_path: Path) -> None:
    code, out, calls = gates(tmp_path, "000", **ALL, COREDNS_VERSION="1.13.1", GITHUB_STEP_SUMMARY=str(tmp_path / "s"))
    assert (code, out) == (0, "answer\n" * 3)
    assert calls.splitlines() == [
        "addon-diff --tf-plan p l.json --snapshot s.gz --no-color",
        "check -f d/ --from 1.33 --target 1.34 --only api-in-manifest --no-color",
        "coredns-lameduck -f C --coredns-version 1.13.1 --no-color",
    ]
    assert (tmp_path / "s").read_text().count("```text\nanswer\n```") == 3


@pytest.mark.parametrize(
    ("codes", "unknown", "expected"),
    [
        ("010", "", 1),
        ("051", "", 1),
        ("053", "", 3),
        ("050", "", 5),
        ("050", "true", 0),
        ("150", "true", 1),
        ("400", "true", 4),
    ],
)
def test_unknown_passes_only_where_it_is_allowed(tmp_path: Path, codes: str, unknown: str, expected: int) -> None:
    code, out, _ = gates(tmp_path, codes, **ALL, ALLOW_UNKNOWN=unknown)
    assert (
        code == expected and ("::warning" in out) == ("5" in codes) and ("::error" in out) == bool({*codes} - {*"05"})
    )


@pytest.mark.parametrize("only", ["FROM", "TARGET"])
def test_manifests_without_both_versions_do_not_ask_a_cluster(tmp_path: Path, only: str) -> None:
    code, out, calls = gates(tmp_path, "0", MANIFESTS="d/", **{only: "1.33"})
    assert (code, calls) == (2, "") and "needs from and target" in out


def test_no_gate_is_no_pass(tmp_path: Path) -> None:
    code, out, calls = gates(tmp_path, "")
    assert (code, calls) == (2, "") and out.startswith("::error::no gate")


def test_the_action_gives_its_inputs_to_the_gates() -> None:
    action = read("action.yml")
    *_, last = action["runs"]["steps"]
    given = {name for name in last["env"] if name != "EKSDOC"}
    assert given == {name.upper().replace("-", "_") for name in action["inputs"]} - {"PYTHON"}
    assert given == {*re.findall(r"\$\{([A-Z_]+):[-+]", GATES.read_text())} - {
        "EKSDOC",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_OUTPUT",
    }
    assert os.access(GATES, os.X_OK) and str(GATES.relative_to(ROOT)) in last["run"]


# The page -----------------------------------------------------------------------------------------


def shown(begin: str) -> Any:
    """The YAML block of the page that begins with the given text."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (block,) = (each for each in blocks if each.startswith(begin))
    return yaml_of(block)


def test_steps_that_are_shown_have_inputs_of_the_action() -> None:
    used = [step["with"] for step in shown("- uses:") if "uses" in step]
    assert len(used) == 2 and {name for each in used for name in each} <= {*read("action.yml")["inputs"]}


def test_hooks_that_are_shown_are_command_lines_that_are_taken() -> None:
    hooks = {each["id"]: each for each in read(".pre-commit-hooks.yaml")}
    (repository,) = shown("repos:")["repos"]
    assert [each["id"] for each in repository["hooks"]] == list(hooks)
    for each in repository["hooks"]:
        name, *words = shlex.split(hooks[each["id"]]["entry"])
        flags, _ = split_at_dashes([*words, *each["args"]])
        parser = command_parser()
        args, extras = parser.parse_known_args(expand_bare_flags(flags, parser.flags_without_value()))
        positional_words(extras, args.leaf)
        assert name == "kubectl-eksdoc"
        with pytest.raises(UsageError, match="expected one argument"):  # no cluster is judged instead
            parser.parse_known_args(expand_bare_flags(words, parser.flags_without_value()))
