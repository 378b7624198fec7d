"""--fleet on the command line: the members and their commands, refused arguments, the output, the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_eksdoc.cli.main import command_parser
from kubectl_eksdoc.cli.parser import expand_bare_flags
from tests.fakes import kubeconfigs
from tests.fleet.answers import a_finding, an_answer, refused
from tests.fleet.command.fake_members import Answering, ask, kubeconfig

COMMANDS = (("check",), ("addon-diff", "--all"), ("imds-probe",))


@pytest.fixture
def config(tmp_path: Path) -> str:
    return kubeconfig(tmp_path)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_is_asked_by_its_context(command: tuple[str, ...], config: str) -> None:
    asking = Answering()
    ran = ask(asking, *command, "--fleet", "prod-*", "--kubeconfig", config, "-o", "json")
    assert ran.code == 0, ran.err
    assert set(asking.words) == {"prod-eu", "prod-us"}
    words = asking.words["prod-us"]
    assert words[0] == command[0] and words[-2:] == ("-o", "json")
    assert "--fleet" not in words and not [word for word in words if word.startswith("--fleet")]
    for flag, value in (("--context", "prod-us"), ("--kubeconfig", config)):
        assert words[words.index(flag) + 1] == value
    document = json.loads(ran.out)
    assert (document["kind"], document["metadata"]["command"]) == ("Fleet", command[0])
    assert asking.kind == {"check": "UpgradeCheck", "addon-diff": "AddonDiff", "imds-probe": "ImdsProbe"}[command[0]]


GIVEN = {
    "check": (
        *("--target", "1.34", "--only", "ami-al2,api-in-manifest", "--fail-on", "high"),
        *("--accept-unknown", "ami-al2", "-f", "web.yaml", "-f", "more", "--changed-since", "2h", "--refresh-insights"),
        *("--as", "jane", "--as-group", "a", "--as-group", "b", "--request-timeout", "30s", "--region", "eu-west-1"),
        *("--profile", "prod", "--insecure-skip-tls-verify"),
    ),
    "addon-diff": (
        *("vpc-cni", "--to", "latest", "--resolve-conflicts", "OVERWRITE", "--configuration-values", "v.yaml"),
        *("--each-step", "--since-when"),
    ),
    "imds-probe": (
        "--nodegroup",
        "blue",
        "--nodegroup",
        "green",
        "--hops",
        "3",
        "--accept-unknown",
        "imds-pods-unread",
    ),
}


@pytest.mark.parametrize("command", GIVEN)
def test_what_was_given_is_given_to_each(command: str, config: str) -> None:
    """Parsed again, the arguments of a member equal the first ones."""
    asking = Answering()
    argv = (command, *GIVEN[command], "--kubeconfig", config)
    ran = ask(asking, *argv, "--fleet", "staging")
    assert ran.code == 0, ran.err
    words = asking.words["staging"]
    parser = command_parser()
    bare = parser.flags_without_value()
    once, again = (
        parser.parse_known_args(expand_bare_flags(each, bare))
        for each in ((*argv, "--context", "staging", "-o", "json"), words)
    )
    assert vars(again[0]) == vars(once[0])
    assert again[1] == once[1], "names"


def test_what_a_member_says_of_itself_wins(config: str, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "- {name: shop, context: prod-eu, profile: shop, region: eu-west-1, cluster-name: shop, kubeconfig: other}\n"
        "- prod-us\n"
        "- {name: old, snapshot: old.tar.gz}\n"
    )
    asking = Answering()
    ran = ask(asking, "check", "--fleet", str(fleet), "--kubeconfig", config, "--profile", "usual")
    assert ran.code == 0, ran.err
    own = dict(zip(asking.words["shop"][1::2], asking.words["shop"][2::2], strict=False))
    assert own == {
        "--kubeconfig": str(tmp_path / "other"),
        "--context": "prod-eu",
        "--cluster-name": "shop",
        "--region": "eu-west-1",
        "--profile": "shop",
        "-o": "json",
    }
    assert asking.words["prod-us"][-4:] == ("--profile", "usual", "-o", "json")
    assert asking.words["old"] == ("check", "--snapshot", str(tmp_path / "old.tar.gz"), "-o", "json")


REFUSED = [
    (("check", "--demo"), "--demo is one cluster, and --fleet names many"),
    (("check", "--token", "secret"), "--token is of one cluster, and --fleet names many"),
    (("check", "-f", "-"), "standard input is read once, and --fleet asks many clusters"),
    (("check", "-o", "html"), "a fleet has no output format 'html'"),
    (("check", "--parallel", "0"), "--parallel: 0 is no number of clusters from 1 to 64"),
    (("check", "shop"), "'shop' is not understood"),
    (("addon-diff", "vpc-cni", "--apply"), "--apply is for one cluster at a time"),
    (("imds-probe", "--active"), "--active is for one cluster at a time"),
    (("imds-probe", "node/a"), "node/a is of one cluster"),
]


@pytest.mark.parametrize(
    ("argv", "said"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_what_makes_no_sense_for_many_is_refused(argv: tuple[str, ...], said: str, config: str) -> None:
    asking = Answering()
    ran = ask(asking, *argv, "--fleet", "prod-*", "--kubeconfig", config)
    assert (ran.code, ran.out, asking.words) == (2, "", {}), ran.err
    assert ran.err.splitlines()[0].startswith(f"error: {said}")


@pytest.mark.parametrize("flag", ["--parallel=3", "--fleet-timeout=1m"])
def test_without_a_fleet_its_flags_are_refused(flag: str) -> None:
    ran = ask(Answering(), "check", "--demo", flag)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {flag.partition('=')[0]} is of --fleet, and no fleet is named\n")


@pytest.mark.parametrize("which", ["", "prod-xx", "x*", "./nowhere", "@nowhere", "prod-eu,prod-eu"])
def test_a_fleet_that_is_none_is_an_error_of_usage(which: str, config: str) -> None:
    ran = ask(Answering(), "check", "--fleet", which, "--kubeconfig", config)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: --fleet")


def test_a_context_that_is_a_file_as_well_is_not_guessed(
    config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "staging").write_text("prod-eu\n")
    ran = ask(Answering(), "check", "--fleet", "staging", "--kubeconfig", config)
    assert ran.code == 2
    assert ran.err == (
        "error: --fleet staging is a context, and a file here as well\n"
        "Write @staging for the file, or staging, with a comma behind it for the context.\n"
    )
    for which, name in (("@staging", "prod-eu"), ("staging,", "staging")):
        asking = Answering()
        assert ask(asking, "check", "--fleet", which, "--kubeconfig", config).code == 0
        assert set(asking.words) == {name}


def test_the_first_line_names_the_fleet(config: str) -> None:
    asking = Answering()
    ran = ask(asking, "check", "--fleet", "*", "--kubeconfig", config, "--parallel", "2", "--fleet-timeout", "90s")
    assert ran.err == "fleet * · 3 clusters · check · 2 at once, 90s for each at most\n"
    assert (asking.most, asking.timeout_s) == (2, 90.0)
    assert ask(Answering(), "check", "--fleet", "staging", "--kubeconfig", config).err == (
        "fleet staging · 1 cluster · check · 1 at once, 3m for each at most\n"
    )


def test_one_table_and_one_exit_code(config: str) -> None:
    outcomes = {"prod-us": an_answer(a_finding()), "staging": refused(4, "AWS refused")}
    ran = ask(Answering(outcomes), "check", "--fleet", "*", "--kubeconfig", config)
    assert ran.code == 4
    assert ran.out.startswith("3 clusters: 1 not judged, 1 with findings that fail, 1 clean.\n")
    rows = [line.split()[1] for line in ran.out.splitlines()[4:7]]
    assert rows == ["staging", "prod-us", "prod-eu"]
    del outcomes["staging"]
    assert ask(Answering(outcomes), "check", "--fleet", "*", "--kubeconfig", config).code == 1


def test_of_one_that_does_not_answer_the_kubeconfig_tells_the_account(tmp_path: Path) -> None:
    arn = "arn:aws:eks:eu-west-1:111122223333:cluster/shop"
    clusters, users = {arn: {"server": "https://x"}}, {"u": {}}
    config = kubeconfigs.many(tmp_path / "config", clusters, users, {"prod": (arn, "u")})
    (tmp_path / "fleet").write_text("prod\ngone\n")
    outcomes = {name: refused(4, "AWS does not accept the credentials") for name in ("prod", "gone")}
    argv = ("check", "--fleet", f"@{tmp_path}/fleet", "--kubeconfig", config, "-o", "json")
    found = {each["name"]: each for each in json.loads(ask(Answering(outcomes), *argv).out)["members"]}
    said = [found["prod"][key] for key in ("context", "cluster", "account", "region", "version")]
    assert said == ["prod", "shop", "111122223333", "eu-west-1", None]
    assert [found["gone"][key] for key in ("context", "cluster", "account")] == ["gone", None, None]


NAMES = ("-prod", "--demo", "--output=yaml", "a,b", "my ctx", "we[i]rd*", "ünï", "@at", "#1")


def asked(asking: Answering) -> dict[str, str]:
    """By the name of each member: the context that its own command line chooses."""
    parser = command_parser()
    return {name: parser.parse_args(words).context for name, words in asking.words.items()}


def test_a_name_that_looks_like_a_flag_is_a_name(tmp_path: Path) -> None:
    asking = Answering()
    assert ask(asking, "check", "--fleet", "*", "--kubeconfig", kubeconfig(tmp_path, *NAMES, "")).code == 0
    assert asked(asking) == {name: name for name in NAMES}, "one without a name is not taken for the current one"
