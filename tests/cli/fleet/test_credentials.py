"""Credentials of several accounts in one fleet: each member asks with its own, and never with those that lie around."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.aws.world.callers import access_key
from tests.cli.fleet.places import places
from tests.fakes import kubeconfigs

if TYPE_CHECKING:
    from tests.aws.world.server import World

ACCOUNTS = {"shop": "111122223333", "pay": "444455556666"}
OURS = "777788889999"
REGION = "ap-northeast-2"


def arn(name: str) -> str:
    return f"arn:aws:eks:{REGION}:{ACCOUNTS[name]}:cluster/{name}"


def profiles(folder: Path) -> Path:
    path = folder / "aws"
    keys = "aws_access_key_id = {}\naws_secret_access_key = secret\n"
    path.write_text("".join(f"[profile {name}]\n{keys.format(access_key(of))}" for name, of in ACCOUNTS.items()))
    return path


@pytest.mark.long
def test_each_member_asks_with_its_own(tmp_path: Path, aws: World) -> None:
    """The keys in the environment are those of a third account, and come before any profile that is not named."""
    plugin = kubeconfigs.plugin(
        tmp_path,
        "with open(sys.argv[1], 'a') as file:\n"
        "    file.write(' '.join(os.environ.get(name, '-') for name in ('AWS_PROFILE', 'AWS_ACCESS_KEY_ID')))\n"
        "say(token='of ' + os.environ.get('AWS_PROFILE', ''))\n",
    )
    told = {name: tmp_path / f"told-{name}" for name in ACCOUNTS}
    fleet = tmp_path / "fleet.json"
    fleet.write_text(json.dumps([{"name": name, "context": arn(name), "profile": name} for name in ACCOUNTS]))
    environ = aws.environ(OURS) | {"AWS_CONFIG_FILE": str(profiles(tmp_path)), "AWS_PROFILE": "nowhere"}
    with places(tmp_path) as there:
        there.urls = {"secure": "https://127.0.0.1:1"}
        for name in ACCOUNTS:
            there.add(arn(name), "secure", kubeconfigs.exec_user(plugin, str(told[name])))
        aws.deny("eks:DescribeCluster")  # then the cluster is read all the same
        aws.forget_calls()
        argv = ("check", "--only", "cluster-health,budget-never-allows", "--fleet", str(fleet), "-o", "json")
        _, out, err = there.run(*argv, **environ)
    members = {each["name"]: each for each in json.loads(out)["members"]}
    assert set(members) == set(ACCOUNTS), err
    assert {name: each["account"] for name, each in members.items()} == ACCOUNTS
    callers = {(call.account, dict(call.named).get("name", "")) for call in aws.calls}
    assert {account for account, _ in callers} == set(ACCOUNTS.values()), [members, err]
    for name, account in ACCOUNTS.items():
        assert {of for of, cluster in callers if cluster == name} <= {account}
    assert {name: path.read_text() for name, path in told.items()} == {name: f"{name} -" for name in ACCOUNTS}
