"""The completion scripts, run by real shells; zsh and fish only where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.completion import BASH, BY_SHELL
from tests import required_programs
from tests.cli.completion.terminals import completed
from tests.cli.running import run_cli
from tests.contracts.source import ROOT
from tests.fakes.programs import program

ARN = "arn:aws:eks:eu-west-1:111122223333:cluster/prod"
DRIVER = r"""
set -u
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_kubectl_eksdoc
printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
"""


def there(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")  # nothing of this tool needs it


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "kubectl-eksdoc", sys.executable, "-m", "kubectl_eksdoc")
    (tmp_path / ".kube").mkdir()
    contexts = f'{{"name": "{ARN}", "context": {{}}}}, {{"name": "with space", "context": {{}}}}'
    contexts += ', {"name": "it\'s", "context": {}}, {"name": "$(touch gone)", "context": {}}'
    (tmp_path / ".kube" / "config").write_text(f'{{"contexts": [{contexts}]}}')
    for shell, script in BY_SHELL.items():
        (tmp_path / shell).write_text(script)
    return tmp_path


def around(home: Path) -> dict[str, str]:
    return {
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        **required_programs.BYTECODE,
    }


@pytest.mark.parametrize(
    ("line", "words", "replies"),
    [
        ("kubectl-eksdoc drain plan --demo --nodegroup ", ("drain", "plan", "--demo", "--nodegroup", ""),
         ["blue", "general", "green"]),
        *(pytest.param(*each, marks=pytest.mark.long) for each in (
            ("kubectl-eksdoc drain plan $(touch gone) ", ("drain", "plan", "$(touch gone)", ""), []),
            ("kubectl-eksdoc addon", ("addon",), ["addon-diff"]),
            ("kubectl-eksdoc  check  --gate=before-n", ("check", "--gate", "=", "before-n"), ["before-nodes"]),
            # bash replaces only the text after the last colon.
            ("kubectl-eksdoc check --context arn:aws:eks:eu",
             ("check", "--context", "arn", ":", "aws", ":", "eks", ":", "eu"),
             ["eu-west-1:111122223333:cluster/prod"]),
            ("kubectl-eksdoc check --context=arn:", ("check", "--context", "=", "arn", ":"),
             ["aws:eks:eu-west-1:111122223333:cluster/prod"]),
            ("kubectl-eksdoc check --context w", ("check", "--context", "w"), [r"with\ space"]),
            ("kubectl-eksdoc check --only addon-not-active,addon-field-k",
             ("check", "--only", "addon-not-active,addon-field-k"), ["addon-not-active,addon-field-kept"]),
        )),
    ],
    ids=str,
)  # fmt: skip
def test_bash(home: Path, line: str, words: tuple[str, ...], replies: list[str]) -> None:
    (home / "driver").write_text(DRIVER)
    bash = ["bash", "--norc", "--noprofile", str(home / "driver"), str(home / "bash"), line, "kubectl-eksdoc", *words]
    done = subprocess.run(bash, capture_output=True, text=True, env=around(home), cwd=home, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found = [each for each in done.stdout.splitlines() if each]
    assert found == replies
    assert not (home / "gone").exists(), "what is typed is not run"


def test_bash_reads_it_without_bash_completion(home: Path) -> None:
    script = "set -eu; source <(kubectl-eksdoc completion bash); complete -p kubectl-eksdoc"
    command = ["bash", "--norc", "--noprofile", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=around(home), timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("complete -F _kubectl_eksdoc kubectl-eksdoc\n", "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(home: Path, shell: str) -> None:
    there(shell)
    done = subprocess.run([shell, "-n", str(home / shell)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


TYPED = {
    "check --gate=before-n": "check --gate=before-nodes ",
    '"drain" plan --demo --nodegroup gr': '"drain" plan --demo --nodegroup green ',
    "check --context=arn:": f"check --context={ARN} ",
    "check --context w": r"check --context with\ space ",
    # After an open quote, no text may become a command.
    'check --context "with s': 'check --context "with space" ',
    'check --context "$': r'check --context "\$(touch gone)" ',
    "check --context '$": "check --context '$(touch gone)' ",
    'check --context "it': """check --context "it's" """,
    "check --kubeconfig ~/.kube/config --context i": r"check --kubeconfig ~/.kube/config --context it\'s ",
    "check --context $(touch gone) --gate af": "check --context $(touch gone) --gate after ",
    "drain plan --demo --pin blue-1": "drain plan --demo --pin blue-1=",
}


@pytest.mark.long
@pytest.mark.parametrize("typed", TYPED)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_at_a_terminal(home: Path, shell: str, typed: str) -> None:
    there(shell)
    if typed == 'check --context "$' and shell == "zsh":
        typed = r'check --context "\$'  # it completes names of variables behind $
        wanted = TYPED['check --context "$']
    else:
        wanted = TYPED[typed]
    assert completed(shell, f"kubectl-eksdoc {typed}", home, around(home)) == f"kubectl-eksdoc {wanted}"
    assert not (home / "gone").exists(), "what is typed is not run"


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("kubectl-eksdoc addon", ["addon-diff\tpredict what an add-on update changes and resets"]),
        ("kubectl-eksdoc check --gate=", ["--gate=after", "--gate=before-control-plane", "--gate=before-nodes"]),
        ('kubectl-eksdoc check --context "with s', ["with space"]),
        ("kubectl-eksdoc check --kubeconfig ~/.kube/config --context it", ["it's"]),
        ("kubectl-eksdoc drain plan --snapshot=.kube/c", ["--snapshot=.kube/config"]),
        ("kubectl-eksdoc nonsense ", []),
    ],
    ids=str,
)
def test_fish(home: Path, line: str, offers: list[str]) -> None:
    there("fish")
    script = f"source {home / 'fish'}; complete -C $argv[1]"
    command = ["fish", "-N", "-c", script, line]
    done = subprocess.run(command, capture_output=True, text=True, env=around(home), cwd=home, timeout=60, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (offers, "")


@pytest.mark.parametrize("shell", sorted(BY_SHELL))
def test_each_is_printed(shell: str) -> None:
    ran = run_cli("completion", shell)
    assert (ran.code, ran.out, ran.err) == (0, BY_SHELL[shell], "")
    assert run_cli("completion", shell, "x").code == 2


def test_they_evaluate_nothing() -> None:
    assert all("eval" not in script for script in BY_SHELL.values()) and "compopt" in BASH
