"""What an asker prints is read as far as it goes, and nothing else is taken for it."""

from __future__ import annotations

import json

import pytest

from kubectl_eksdoc.flows.dns_measure import report_in
from kubectl_eksdoc.model.coredns import Counts, LoadReport, MeasuredSecond, MeasuredStream
from kubectl_eksdoc.model.kinds import Unknown

HEAD = '{"asker":"eksdoc-dns-asker","version":1,"began":1767261600.5,"seconds":9}\n'
LINE = (
    '{"t":3,"to":"service-v4","by":"udp","sent":10,"answered":7,"late":1,"lost":1,"refused":0,"failed":1,'
    '"unsure":0,"unsent":2,"ms":[0.4,0.9,1200.5],"why":["SERVFAIL"]}\n'
)


def test_a_second_of_a_stream() -> None:
    found = report_in(HEAD + LINE)
    assert isinstance(found, LoadReport)
    second = MeasuredSecond(Counts(10, 7, 1, 1, 0, 1, 0, 2), (0.4, 0.9, 1200.5), ("SERVFAIL",))
    assert found.seconds == {MeasuredStream("service-v4", "udp"): {3: second}} and found.length == 4


def test_what_others_say_and_a_line_that_is_being_written_are_passed_over() -> None:
    found = report_in(f"istio: ready\n{HEAD}[1]\nnull\n{LINE}{LINE[:40]}")
    assert isinstance(found, LoadReport) and len(found.seconds) == 1


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "empty"),
        ("/bin/sh: python3: not found\n", "none of the asker's: /bin/sh: python3: not found"),
        ('{"error":"the plan names no server to query"}\n', "refused its plan: the plan names no server"),
        (HEAD.replace("1,", "2,", 1), "another version"),
        (HEAD + LINE.replace('"sent":10,', ""), "cannot be read: KeyError"),
        (HEAD.replace("1767261600.5", '"noon"') + LINE, "cannot be read: ValueError"),
        (HEAD + LINE.replace("[0.4,0.9,1200.5]", "[]"), "cannot be read: IndexError"),
    ],
)
def test_what_is_no_report(log: str, said: str) -> None:
    found = report_in(log)
    assert isinstance(found, Unknown) and said in found.why


def test_each_cut_of_a_log_is_read_or_unknown() -> None:
    whole = HEAD + LINE + json.dumps({"end": "deadline", "sum": []}) + "\n"
    for end in range(len(whole)):
        found = report_in(whole[:end])
        assert isinstance(found, Unknown) == (end < len(HEAD)), end
