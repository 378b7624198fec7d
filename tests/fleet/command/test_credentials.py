"""Credentials of several accounts in one fleet: each member uses its own, and never those of the environment."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.aws.world.callers import access_key
from tests.cli.processes import until
from tests.fakes import kubeconfigs
from tests.fleet.command.served_clusters import LONGEST_S, places

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
    """The keys in the environment are those of a third account, and override any profile that is not named."""
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


def gone(number: int) -> bool:
    """Whether the process has ended; without a parent that waits, it is a zombie until the first process of the machine
    reaps it."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([signal.SIGTERM], id="kill", marks=pytest.mark.long),
        pytest.param([signal.SIGINT] * 3, id="insisting", marks=pytest.mark.long),
    ],
)
def test_told_to_end_nobody_is_left(tmp_path: Path, numbers: list[signal.Signals]) -> None:
    """Credential plugins wait for a login, and ignore signals."""
    noted = tmp_path / "pids"
    noted.mkdir()
    plugin = kubeconfigs.plugin(
        tmp_path,
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"with open(os.path.join({str(noted)!r}, sys.argv[1]), 'w') as file:\n"
        "    file.write(f'{os.getpid()} {os.getppid()}\\n')\n"
        "time.sleep(600)\n",
    )
    with places(tmp_path) as there:
        for each in ("a", "b", "c"):
            there.add(each, "secure", kubeconfigs.exec_user(plugin, each))
        there.urls = {"secure": "https://127.0.0.1:1"}
        with there.begun("check", "--fleet", "a,b,c", "--parallel", "2") as process:
            try:
                until(lambda: len([path for path in noted.iterdir() if path.read_text().endswith("\n")]) == 2)
                begun_s = time.monotonic()
                for number in numbers:
                    process.send_signal(number)
                    time.sleep(0.1)
                out, err = process.communicate(timeout=LONGEST_S)
            finally:
                process.kill()
    # The third may come when the interpreter is on its way out, and knows of no signals any more.
    codes = (130, -signal.SIGINT) if len(numbers) > 1 else (130,)
    assert process.returncode in codes and out == ""
    assert err.splitlines()[-1] == "interrupted"
    assert time.monotonic() - begun_s < 15
    pids = [int(word) for path in noted.iterdir() for word in path.read_text().split()]
    assert len(pids) == 4, "two were asked at a time"
    until(lambda: all(gone(pid) for pid in pids))
