"""The load generator's classes answered, late, lost, refused and failed; its end; and that its own delays are not
counted against a server."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from kubectl_eksdoc.dns_load.__main__ import main
from kubectl_eksdoc.dns_load.exchanges import UDP_PERSISTENT, DnsQuery, LoadStream, PersistentSocket, send_query
from kubectl_eksdoc.host.dns_load_archive import MAX_BYTES, packed
from tests.dns.load_generator import Asking, asking, plan
from tests.dns.responder import HOSTS, REFUSED, SERVFAIL, Behaviour
from tests.dns.responder_processes import answering, responding, until
from tests.dns.service import serving

NONE = ".:53 {\n health\n ready\n}\n"


def asked_once(folder: Path, *flags: str, **wanted: object) -> Asking:
    wanted = {"seconds": 1, "rate": 5, **wanted}
    with responding(NONE, 1.0, *flags) as one, asking(folder, plan({"it": (HOSTS[0], one.port)}, **wanted)) as asked:
        asked.over()
    return asked


@pytest.mark.long
def test_what_came_of_each_question_is_called_by_its_name(tmp_path: Path) -> None:
    behaviours = {
        "late": Behaviour(delay_s=1.0),
        "lost": Behaviour(mute=True),
        "no-such-name": Behaviour(),
        "refusing": Behaviour(REFUSED),
        "failing": Behaviour(SERVFAIL),
        "truncated": Behaviour(truncate=True),
    }
    with socket.socket() as bound, answering(behaviours) as ports:
        bound.bind((HOSTS[0], 0))  # no process listens there, over TCP or UDP
        targets = {name: (HOSTS[0], port) for name, port in (*ports.items(), ("nobody", bound.getsockname()[1]))}
        with asking(tmp_path, plan(targets, seconds=1, rate=5, timeout=3, late=0.8)) as asked:
            asked.over()
    assert asked.lines[0]["program"] == "eksdoc-dns-load" and asked.lines[-1]["end"] == "deadline"
    assert asked.process.returncode == 0
    found = {name: set(+asked.of(name)) - {"sent", "unsent"} for name in targets}
    on_a_slow_machine = {"late"}
    assert {name: each - on_a_slow_machine if name != "late" else each for name, each in found.items()} == {
        "late": {"late"},
        "lost": {"lost"},
        "no-such-name": {"answered"},
        "refusing": {"failed"},
        "failing": {"failed"},
        "truncated": {"failed", "answered"},
        "nobody": {"refused"},
    }
    assert {asked.of(name)["sent"] + asked.of(name)["unsent"] for name in targets} == {10}
    sums = asked.sums()
    assert sums["truncated", "udp"]["answered"] == 0 and sums["truncated", "tcp"]["failed"] == 0
    why = {(line["to"], each) for line in asked.lines[1:-1] for each in line["why"]}
    assert why >= {("refusing", "REFUSED"), ("failing", "SERVFAIL"), ("nobody", "refused")}


@pytest.mark.long
def test_a_kept_socket_is_one_flow_and_moves_on_when_its_endpoint_is_taken_out(tmp_path: Path) -> None:
    with responding(NONE) as one, responding(NONE) as other, serving([one.port, other.port]) as service:
        kept = json.loads(plan({"it": (HOSTS[0], service.port)}, transports=[], seconds=4, rate=20))
        kept["targets"][0]["kept"] = True
        with asking(tmp_path, json.dumps(kept)) as asked:
            until(lambda: sum(service.flows.values()) == 1)
            (_, first), *_ = service.flows
            time.sleep(0.2)
            service.take_out(first)
            asked.over()
    sums = asked.sums()["it", "udp-kept"]
    assert sums["answered"] + sums["late"] == sums["sent"] > 20
    assert service.flows == {("udp", one.port): 1, ("udp", other.port): 1}


def test_questions_that_are_due_at_once_open_one_kept_socket() -> None:
    """The first question is still opening the socket."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind((HOSTS[0], 0))
        bound.settimeout(5)
        stream, kept = LoadStream("it", UDP_PERSISTENT, *bound.getsockname()), PersistentSocket()

        async def ask_at_once() -> None:
            every = (send_query(stream, DnsQuery("cluster.local.", False), 0.1, kept) for _ in range(3))
            await asyncio.gather(*every)
            kept.close()

        asyncio.run(ask_at_once())
        assert len({bound.recvfrom(512)[1] for _ in range(3)}) == 1


@pytest.mark.long
def test_slow_answers_do_not_slow_the_questions(tmp_path: Path) -> None:
    """It asks as often as planned, though each answer takes longer than all questions together."""
    found = asked_once(tmp_path, "--delay", "1.5", timeout=20, late=15, rate=20).of("it")
    assert found["sent"] + found["unsent"] == 40


@pytest.mark.long
def test_told_to_end_it_tells_what_it_has(tmp_path: Path) -> None:
    with responding(NONE) as one, asking(tmp_path, plan({"it": (HOSTS[0], one.port)})) as asked:
        asked.end()
    assert asked.lines[-1]["end"] == "told" and asked.process.returncode == 0
    asked.sums()


@pytest.mark.long
def test_told_twice_it_does_not_wait_for_answers(tmp_path: Path) -> None:
    with responding(NONE, 1.0, "--mute") as one:
        text = plan({"it": (HOSTS[0], one.port)}, timeout=600)
        with asking(tmp_path, text) as asked:
            asked.process.send_signal(signal.SIGTERM)
            while asked.process.poll() is None:
                asked.process.send_signal(signal.SIGTERM)
                time.sleep(0.01)  # a flood of signals fills stderr with warnings, which no process reads
            asked.over()
    found = asked.of("it")
    assert found["lost"] == found["answered"] == 0 and found["unsure"] == found["sent"]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="a process cannot be stopped here")
def test_seconds_in_which_it_slept_are_unknown_and_nothing_is_lost(tmp_path: Path) -> None:
    """The process is stopped for longer than a client would wait, as on a node without free CPU."""
    wanted = {"timeout": 1.0, "late": 0.9}
    with responding(NONE) as one, asking(tmp_path, plan({"it": (HOSTS[0], one.port)}, **wanted)) as asked:
        for _ in range(2):
            told = len(asked.lines)
            until(lambda told=told: len(asked.lines) > told)  # type: ignore[misc]
            asked.process.send_signal(signal.SIGSTOP)
            signal.sigtimedwait([], 1.2)
            asked.process.send_signal(signal.SIGCONT)
        asked.end()
    found = asked.of("it")
    assert found["unsent"] > 0
    assert found["lost"] == found["late"] == 0 and found["answered"] > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        (plan({}), "no server to query"),
        (plan({"it": ("kube-dns.kube-system", 53)}), "cannot be read"),
        (plan({"it": ("10.0.0.10", 53)}, transports=["quic"]), "cannot be read"),
        (plan({"it": ("10.0.0.10", 53)}, rate=0), "more than 0"),
        (plan({"it": ("10.0.0.10", 53)}, rate=5000), "questions a second"),
        (plan({"it": ("10.0.0.10", 53)}, transports=["udp", "udp"]), "twice"),
    ],
)
def test_a_plan_that_is_none(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--plan", text]) == 2 and said in json.loads(capsys.readouterr().out)["error"]


def test_what_is_packed_is_small_and_always_the_same() -> None:
    made = packed()
    assert made == packed() and len(made) < MAX_BYTES / 4
    names = zipfile.ZipFile(BytesIO(made)).namelist()
    assert {name.split("/")[0] for name in names} == {"__main__.py", "dns", "kubectl_eksdoc"}
    assert {name for name in names if name.startswith("kubectl_eksdoc/") and "dns_load" not in name} == {
        "kubectl_eksdoc/__init__.py"
    }
    assert "dns/LICENSE" in names
