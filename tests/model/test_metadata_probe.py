"""What a probe prints is read as it was meant, and whatever else a log may hold is no answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import FIRST, LAST, Ask, FamilyAnswer, ProbeReport, ProbeStep, log_of, report_in

LOG = f"""\
{FIRST}
v4 v1 0 401 0.000312 0.001021
v4 token 28 000 0.000287 3.000671
v6 v1 7 000 0.000000 0.000100
v6 token 7 000 0.000000 0.000100
v4 id i-0123456789abcdef0
{LAST}
"""


def test_a_log() -> None:
    report = report_in(LOG)
    assert isinstance(report, ProbeReport)
    assert report.v4.instance == "i-0123456789abcdef0"
    token, v6 = report.v4.of(Ask.TOKEN), report.v6.of(Ask.V1)
    assert token is not None and token.connected and not token.answered and round(token.total, 1) == 3000.7
    assert v6 == ProbeStep(Ask.V1, 7, 0, None, 0.1) and not v6.connected
    assert report.v4.of(Ask.V2) is None


def test_a_log_that_is_cut_off_is_unknown() -> None:
    for end in range(len(LOG) - len(LAST) - 1):
        assert isinstance(report_in(LOG[:end]), Unknown)


def test_an_image_without_curl() -> None:
    assert report_in(f"{FIRST}\nno curl\n") == Unknown("its image has no curl")


def test_what_others_say_around_it_is_passed_over() -> None:
    assert report_in(f"sh: warning\nv4 v1 0 200 0.1 0.1\n{LOG}v4 v1 0 200 0.1 0.1\n") == report_in(LOG)


micros = some.integers(0, 5_000_000).map(lambda number: number / 1000)
times = micros.map(lambda number: number or None)


def _steps(asks: list[Ask]) -> some.SearchStrategy[tuple[ProbeStep, ...]]:
    return some.tuples(
        *(
            some.builds(ProbeStep, some.just(ask), some.integers(0, 255), some.integers(0, 599), times, micros)
            for ask in asks
        )
    )


sights = some.builds(
    FamilyAnswer,
    some.lists(some.sampled_from(Ask), unique=True)
    .map(lambda asks: [ask for ask in Ask if ask in asks])
    .flatmap(_steps),
    some.sampled_from(["", "i-0", "i-0123456789abcdef0"]),
)


@given(some.builds(ProbeReport, sights, sights))
def test_what_is_printed_is_read_again(report: ProbeReport) -> None:
    again = report_in(log_of(report))
    assert isinstance(again, ProbeReport) and log_of(again) == log_of(report)
    assert [step.ask for step in again.v4.steps] == [step.ask for step in report.v4.steps]


@given(
    some.text()
    | some.lists(some.sampled_from([*LOG.splitlines(), "v4 v1 0 2000 1 1", "v4 id i-x", "no curl"])).map("\n".join)
)
def test_any_text_is_a_report_or_unknown(log: str) -> None:
    found = report_in(log)
    assert isinstance(found, (ProbeReport, Unknown))
    if isinstance(found, ProbeReport):
        assert FIRST in log and LAST in log
