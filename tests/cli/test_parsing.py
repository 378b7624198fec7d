"""Command lines become targets, policy and connection, or an error that names the correct flag."""

from __future__ import annotations

import io

import pytest

from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.main import command_parser
from kubectl_eksdoc.cli.options import context_from_args
from kubectl_eksdoc.cli.parser import expand_bare_flags, positional_words, split_at_dashes
from kubectl_eksdoc.drain.command.plan import PlanRequest
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.selectors import parse as parse_selector
from kubectl_eksdoc.session.sources import SourceChoice
from tests.cli.running import run_cli


def parsed(line: str, *before: str) -> PlanRequest:
    """The request of ``kubectl eksdoc BEFORE… drain plan LINE``."""
    return _parsed(line, *before)[0]


def called(line: str, *before: str) -> CommandContext:
    """The context with which the command is called."""
    return _parsed(line, *before)[1]


def _parsed(line: str, *before: str) -> tuple[PlanRequest, CommandContext]:
    parser = command_parser()
    bare = parser.flags_without_value()
    flags, names = split_at_dashes([*before, "drain", "plan", *line.split()])
    args, extras = parser.parse_known_args(expand_bare_flags(flags, bare))
    around = context_from_args(args, CommandContext(io.StringIO(), io.StringIO()))
    args.words = [*positional_words(extras, args.leaf), *names]
    return PlanRequest.from_args(args, around), around


@pytest.mark.parametrize(
    ("line", "targeting"),
    [
        ("old-1", Targeting(("old-1",))),
        (
            "old-1 node/old-2 nodes/old-1 no/ip-10-0-1-2.eu-west-1.compute.internal",
            Targeting(("old-1", "old-2", "ip-10-0-1-2.eu-west-1.compute.internal")),
        ),
        ("old-1 --force old-2", Targeting(("old-1", "old-2"))),
        ("-- old-1", Targeting(("old-1",))),
        ("-l a=b,c!=d", Targeting(selector=parse_selector("a=b,c!=d"))),
        ("--nodegroup blue --nodegroup green --nodegroup blue", Targeting(nodegroups=("blue", "green"))),
        ("--older-than v1.33 -l a", Targeting(selector=parse_selector("a"), older_than=Version(1, 33))),
    ],
)
def test_targets(line: str, targeting: Targeting) -> None:
    assert parsed(line).targeting == targeting


@pytest.mark.parametrize(
    ("line", "policy"),
    [
        ("", DrainPolicy()),
        ("--ignore-daemonsets=false", DrainPolicy(ignore_daemonsets=False)),
        ("--force", DrainPolicy(force=True)),
        ("--force=0", DrainPolicy()),
        ("--grace-period -7", DrainPolicy()),
        ("--delete-local-data", DrainPolicy(delete_emptydir_data=True)),
        ("--grace-period 30", DrainPolicy(grace_seconds=30)),
        ("--skip-wait-for-delete-timeout 60", DrainPolicy(skip_deleting_after=60)),
        ("--pod-selector app=web", DrainPolicy(pod_selector=parse_selector("app=web"))),
        (
            "--accept-unknown pod-budget,only-backend --accept-unknown pod-hostpath",
            DrainPolicy(accept_unknown=frozenset(("pod-budget", "only-backend", "pod-hostpath"))),
        ),
    ],
)
def test_policies(line: str, policy: DrainPolicy) -> None:
    assert parsed(f"old-1 {line}").policy == policy


EVERY_CONNECTION_FLAG = (
    "--kubeconfig /k --context prod --cluster c --user u -s https://x --token t --as jane --as-group a --as-group b "
    "--as-uid 7 --request-timeout 1m30s --insecure-skip-tls-verify --certificate-authority /ca --tls-server-name n "
    "--client-certificate /cc --client-key /ck --disable-compression"
)
CONNECTION = Connection(
    kubeconfig="/k",
    context="prod",
    cluster="c",
    user="u",
    server="https://x",
    token="t",
    impersonate_user="jane",
    impersonate_groups=("a", "b"),
    impersonate_uid="7",
    request_timeout=90.0,
    insecure_skip_tls_verify=True,
    certificate_authority="/ca",
    tls_server_name="n",
    client_certificate="/cc",
    client_key="/ck",
    disable_compression=True,
)


def test_connection_flags_before_and_after_the_command() -> None:
    assert called(f"old-1 {EVERY_CONNECTION_FLAG}").connection == CONNECTION
    assert called("old-1", *EVERY_CONNECTION_FLAG.split()).connection == CONNECTION


def test_the_last_of_a_flag_wins_and_groups_add_up_over_the_levels() -> None:
    connection = called("old-1 --context b --as-group y", "--context", "a", "--as-group", "x").connection
    assert (connection.context, connection.impersonate_groups) == ("b", ("x", "y"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("1h2m3s", 3723.0),
        ("500ms", 0.5),
    ],
)
def test_request_timeouts(text: str, seconds: float) -> None:
    assert called(f"x --request-timeout {text}").connection.request_timeout == seconds


def test_pages() -> None:
    assert called("x").connection.page_size == Connection().page_size
    assert called("x --chunk-size 500").connection.page_size == 500
    assert called("x --chunk-size 0").connection.page_size > 1_000_000


def test_sources() -> None:
    assert called("x").source == SourceChoice()
    assert called("x --snapshot dump.tar.gz").source == SourceChoice(snapshot="dump.tar.gz")
    assert called("x --demo").source == SourceChoice(demo=True)
    assert called("x --demo=false").source == SourceChoice()
    assert called("x", "--demo").source == SourceChoice(demo=True)
    assert called("x", "--snapshot", "a").source == SourceChoice(snapshot="a")
    assert called("x --demo=false", "--demo").source == SourceChoice()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("drain", "plan", "--", "--demo"), "words behind -- are names of nodes, and '--demo' is none"),
        (("--", "drain", "plan"), "words behind -- are names, and 'kubectl eksdoc' needs a command before them"),
        (("drain", "--", "plan"), "words behind -- are names, and 'kubectl eksdoc drain' needs a command before them"),
    ],
)
def test_words_behind_dashes_are_names(argv: tuple[str, ...], said: str) -> None:
    ran = run_cli(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {said}\n")


def test_the_demo_without_a_target_plans_its_old_node_group_and_says_so() -> None:
    request = parsed("--demo")
    assert request.targeting == Targeting(nodegroups=("blue",))
    assert any("--nodegroup blue" in note for note in request.notes)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "no node is named or selected"),
        ("x --snapshot a --demo", "--snapshot and --demo exclude each other"),
        ("x --snapshot=", "--snapshot needs the path"),
        ("x -l a=b", "node names and --selector exclude each other"),
        ("pod/x", "'pod/x' is not a node"),
        ("UPPER", "'UPPER' is not the name of a node"),
        ("-l a=b,,c", "'a=b,,c' is not a label selector: "),
        ("--older-than new", "'new' is not a version"),
        ("x --grace-period 0", "--grace-period=0 is not supported"),
        ("x --skip-wait-for-delete-timeout -1", "must not be negative"),
        ("x --accept-unknown ,", "names no finding code"),
        ("x --grace-period soon", "'soon' is not a whole number of seconds"),
        ("x --force=maybe", "'maybe' is neither true nor false"),
        ("x --request-timeout 5parsecs", "'5parsecs' is no duration"),
        ("x --chunk-size -5", "'-5' is not a number of objects"),
        ("x --accept-unknown pod-bugdet", "(did you mean pod-budget"),
        ("x -o yml", "(did you mean yaml?)"),
        ("x -o jsonpath={.kind}", "use -o json and a JSON tool"),
        ("x --nodegruop y", "--nodegruop is no flag of 'kubectl eksdoc drain plan' (did you mean --nodegroup"),
        ("x --disable-eviction", "--disable-eviction is not supported: it deletes pods past"),
        ("x -v6", "-v is not supported"),
        ("x --dry-run=maybe", "'maybe' is no dry run"),
        ("x --context", "--context: expected one argument"),
    ],
)
def test_what_is_refused(line: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(line)
    assert said in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("x --dry-run", "a plan never changes the cluster"),
        ("x --timeout 5m", "a plan waits for no pod"),
        ("x --delete-local-data", "old name of --delete-emptydir-data"),
        ("x -n web", "of all namespaces"),
        ("x --demo --context prod", "change nothing with --demo"),
        ("x --snapshot s --token t", "change nothing with --snapshot"),
    ],
)
def test_flags_that_change_nothing_are_named(line: str, note: str) -> None:
    assert [said for said in parsed(line).notes if note in said]


def test_without_such_flags_there_are_no_notes() -> None:
    assert parsed("x -A --snapshot s").notes == ()
