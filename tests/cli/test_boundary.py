"""The single error handler, the exit codes, and the stream of each output."""

from __future__ import annotations

import errno
import io
import json
from dataclasses import replace

import pytest

from kubectl_eksdoc.cli.entry_point import PROG, ProgramName, program_name
from kubectl_eksdoc.errors import AwsError, ConfigError, Drifted, Forbidden, SnapshotError, Unauthorized, Unreachable
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Identity
from kubectl_eksdoc.model.kinds import ReadState
from tests.builders import a_cluster, a_node, a_pod
from tests.cli.running import FakeSource, Terminal, run_cli


def test_a_clean_plan_exits_0_and_its_answer_alone_is_on_stdout() -> None:
    ran = run_cli("drain", "plan", "old-0", "-o", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["kind"] == "DrainPlan"
    assert ran.err.startswith("context ")
    assert ran.err.count("\n") == 1


def test_unknowns_exit_5_unless_accepted() -> None:
    cluster = a_cluster(nodes=[a_node("old-0")], pods=[a_pod(node="old-0")])
    reads = tuple(
        replace(r, state=ReadState.FORBIDDEN, detail="list") if r.resource == kinds.BUDGETS else r
        for r in cluster.reads
    )
    source = FakeSource(replace(cluster, reads=reads))
    ran = run_cli("drain", "plan", "old-0", "-o", "json", source=source)
    unknown = {f["code"] for f in json.loads(ran.out)["findings"] if f["status"] == "unknown"}
    assert (ran.code, bool(unknown)) == (5, True)
    assert run_cli("drain", "plan", "old-0", "--accept-unknown", ",".join(unknown), source=source).code == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SnapshotError("the dump is torn", "dump it again"), 2),
        (ConfigError("no kubeconfig"), 3),
        (Unreachable("no answer from https://x"), 3),
        (Unauthorized("401"), 3),
        (Forbidden("may not list nodes", missing="list nodes"), 3),
        (AwsError("expired"), 4),
        (Drifted("another plan"), 7),
        (KeyboardInterrupt(), 130),
        (RuntimeError("boom"), 70),
    ],
)
def test_each_error_has_its_exit_code_and_no_traceback(error: BaseException, code: int) -> None:
    ran = run_cli("drain", "plan", "old-0", source=FakeSource(error=error))
    assert (ran.code, ran.out) == (code, "")
    assert "Traceback" not in ran.err


def test_an_error_says_what_and_what_to_try() -> None:
    ran = run_cli("drain", "plan", "x", source=FakeSource(error=SnapshotError("the dump is torn", "Dump it\nagain.")))
    assert ran.err.splitlines() == ["error: the dump is torn", "Dump it", "again."]


def test_a_bug_is_called_a_bug() -> None:
    ran = run_cli("drain", "plan", "x", source=FakeSource(error=RuntimeError("boom")))
    assert ran.err.splitlines()[0] == "error: RuntimeError: boom"
    assert "a bug in kubectl eksdoc" in ran.err and "--debug" in ran.err


def test_debug_shows_the_chain_of_causes() -> None:
    error = ConfigError("cannot be used")
    error.__cause__ = ValueError("the library's own words")
    ran = run_cli("drain", "plan", "x", "--debug", source=FakeSource(error=error))
    assert "ValueError: the library's own words" in ran.err and "Traceback" in ran.err
    assert ran.err.splitlines()[-1] == "error: cannot be used"


def test_what_a_server_says_cannot_steer_the_terminal() -> None:
    ran = run_cli("drain", "plan", "x", source=FakeSource(error=Unreachable("\x1b[2Jgone \u202e")))
    assert "\x1b" not in ran.err and "\u202e" not in ran.err
    assert "\\x1b[2Jgone" in ran.err


class _Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_pipe_is_quiet_and_keeps_the_verdict() -> None:
    source = FakeSource(a_cluster(nodes=[a_node("old-0")], pods=[a_pod(owner=None, node="old-0")]))
    err = io.StringIO()
    assert run_cli("drain", "plan", "old-0", source=source, out=_Closed(), err=err).code == 1
    assert "error" not in err.getvalue()


def test_notes_that_nobody_can_read_do_not_keep_the_answer_back() -> None:
    ran = run_cli("drain", "plan", "old-0", "--timeout", "1s", err=_Closed())
    assert (ran.code, "old-0" in ran.out) == (run_cli("drain", "plan", "old-0").code, True)


class _Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_answer_that_cannot_be_written_is_an_error_in_words() -> None:
    err = io.StringIO()
    assert run_cli("drain", "plan", "old-0", out=_Full(), err=err).code == 2
    assert err.getvalue().splitlines()[-1] == "error: cannot write the answer to stdout: No space left on device"


def test_whose_cluster_it_is_comes_before_any_note() -> None:
    lines = run_cli("drain", "plan", "old-0", "--timeout", "1s", "-n", "x", "--region", "mars-1").err.splitlines()
    assert lines[0].startswith("context ")
    assert len(lines) == 4
    assert all(line.startswith("note: ") for line in lines[1:])


def test_notes_come_before_the_error_where_no_cluster_was_read() -> None:
    source = FakeSource(error=Unreachable("no answer from https://x"))
    lines = run_cli("drain", "plan", "old-0", "--timeout", "1s", source=source).err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["note", "error"]


def test_a_note_cannot_steer_the_terminal() -> None:
    identity = Identity(context="prod", region="\x1b[2Jmars")
    source = FakeSource(replace(FakeSource().cluster, identity=identity))
    ran = run_cli("drain", "plan", "old-0", "--region", "eu-west-1", source=source)
    assert "--region eu-west-1 is not used" in ran.err and "\x1b" not in ran.err


def test_a_missing_right_is_told_with_all_that_the_command_needs() -> None:
    source = FakeSource(error=Forbidden("https://x refuses list pods", "kubectl auth can-i list pods -A", "list pods"))
    lines = run_cli("drain", "plan", "old-0", source=source).err.splitlines()
    assert lines[:2] == ["error: https://x refuses list pods", "kubectl auth can-i list pods -A"]
    assert lines[2].startswith("Without list nodes and list pods in all namespaces nothing can be checked.")
    role = lines[3].split("--resource=")
    assert role[0].strip() == "kubectl create clusterrole eksdoc-drain-plan --verb=list"
    assert role[1].split(",") == [r.full_name for r in kinds.ALL if not r.custom]
    assert lines[4] == (
        "Where the cluster has them, also targetgroupbindings.elbv2.k8s.aws and nodepools.karpenter.sh."
    )


def test_credentials_that_were_not_sent_are_no_missing_right() -> None:
    source = FakeSource(error=Forbidden("https://x refuses list pods", "No credentials were sent"))
    ran = run_cli("drain", "plan", "old-0", source=source)
    assert ran.err.splitlines() == ["error: https://x refuses list pods", "No credentials were sent"]


@pytest.mark.parametrize("argv", [(), ("drain",), ("--context", "prod"), ("drain", "--debug")])
def test_without_a_command_help_goes_to_stderr_and_the_exit_code_is_2(argv: tuple[str, ...]) -> None:
    ran = run_cli(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("usage: kubectl eksdoc")


@pytest.mark.parametrize("argv", [("--help",), ("drain", "-h"), ("drain", "plan", "x", "-h")])
def test_help_that_was_asked_for_is_the_answer(argv: tuple[str, ...]) -> None:
    ran = run_cli(*argv)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("usage: kubectl eksdoc")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("drian", "plan"), "'drian' is no command of 'kubectl eksdoc' (did you mean drain?)"),
        (("drain", "paln"), "'paln' is no command of 'kubectl eksdoc drain' (did you mean plan?)"),
        (("drain", "blue-1"), "To drain a node: kubectl eksdoc drain run blue-1\nCommands: "),
        (("drain", "run", "--demo"), "kubectl eksdoc rehearse --serve --demo"),
        (("--contxt", "x", "drain", "plan"), "did you mean --context"),
    ],
)
def test_typing_errors_are_answered_with_what_is_close(argv: tuple[str, ...], said: str) -> None:
    ran = run_cli(*argv)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize(
    ("argv0", "called"),
    [
        ("/home/x/.krew/bin/kubectl-eksdoc", ProgramName()),
        ("/x/kubectl-eksdoc_addon_diff", ProgramName(PROG, ("addon-diff",))),
        ("kubectl-eksdoc_drain.exe", ProgramName(PROG, ("drain",))),
        ("/x/kubectl_complete-eksdoc", ProgramName(PROG, ("__complete",))),
        ("/x/kubectl_complete-eksdoc_addon_diff", ProgramName(PROG, ("__complete", "addon-diff"))),
        ("/x/kubectl-nodes_of", ProgramName("kubectl nodes-of")),
        ("/x/kubectl-eksdocs", ProgramName("kubectl eksdocs")),
        ("/x/kubectl_eksdoc/__main__.py", ProgramName()),
    ],
)
def test_how_it_was_called(argv0: str, called: ProgramName) -> None:
    assert program_name(argv0) == called


def test_progress_is_shown_on_a_terminal_only_and_is_gone_at_the_end() -> None:
    source = FakeSource(progress=[("pods", 2000), ("pods", 4000)])
    assert "reading" not in run_cli("drain", "plan", "old-0", source=source).err
    err = Terminal()
    run_cli("drain", "plan", "old-0", source=source, err=err)
    shown = err.getvalue()
    assert "\rreading pods: 2,000" in shown
    assert shown.index("\r" + " " * len("reading pods: 2,000") + "\r") < shown.index("context ")


@pytest.mark.parametrize(
    ("line", "prog"),
    [
        ("drain plan n --nope x", "drain plan"),
        ("completion install --nope", "completion install"),
    ],
)
def test_a_flag_that_no_command_knows_is_told_with_the_help_of_the_command(line: str, prog: str) -> None:
    first, hint = run_cli(*line.split()).err.splitlines()
    assert first.startswith(f"error: --nope is no flag of 'kubectl eksdoc {prog}'")
    assert hint.startswith(f"More: kubectl eksdoc {prog} --help")
