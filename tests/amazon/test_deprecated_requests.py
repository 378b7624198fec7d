"""Reading apiserver_requested_deprecated_apis: what a server writes, what the format allows, and any rubbish."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.amazon.removed_apis import (
    METRIC,
    DeprecatedRequest,
    DeprecatedRequests,
    deprecated_requests,
    removed_api,
)
from kubectl_eksdoc.model.quantities import Version

BUDGETS = DeprecatedRequest("policy", "v1beta1", "poddisruptionbudgets", "", "1.25")
AS_SERVED = (
    f"# HELP {METRIC} [STABLE] Gauge of deprecated APIs that have been requested\n"
    f"# TYPE {METRIC} gauge\n"
    f'{METRIC}{{group="policy",removed_release="1.25",resource="poddisruptionbudgets",subresource="",'
    'version="v1beta1"} 1\n'
    'apiserver_request_total{code="200"} 5\n'
)


def line(labels: str, value: str = " 1") -> str:
    return f"{METRIC}{{{labels}}}{value}\n"


def test_what_a_server_writes() -> None:
    assert deprecated_requests(AS_SERVED) == DeprecatedRequests((BUDGETS,))


def test_it_leads_to_the_table() -> None:
    assert BUDGETS.row == removed_api("policy/v1beta1", "PodDisruptionBudget")
    assert BUDGETS.removed == Version(1, 25)
    endpoints = DeprecatedRequest("", "v1", "endpoints")
    assert (endpoints.api_version, endpoints.row, endpoints.removed) == ("v1", None, None)


def test_a_server_without_any_says_nothing() -> None:
    assert deprecated_requests("# nothing\nup 1\n") == DeprecatedRequests(())


@pytest.mark.parametrize(
    "said",
    [
        line('group="policy",version="v1beta1",resource="poddisruptionbudgets",removed_release="1.25",'),
        line(' group = "policy" , version="v1beta1",resource="poddisruptionbudgets",removed_release="1.25" ', "\t1.0"),
        line(
            'version="v1beta1",group="policy",resource="poddisruptionbudgets",removed_release="1.25"', " 1 1700000000"
        ),
        "  " + line('version="v1beta1",group="policy",resource="poddisruptionbudgets",removed_release="1.25"', " 1\r"),
    ],
)
def test_the_format_allows_more(said: str) -> None:
    assert deprecated_requests(said) == DeprecatedRequests((BUDGETS,))


def test_a_label_that_is_missing_is_empty() -> None:
    assert deprecated_requests(line('version="v1",resource="endpoints"')).requests == (
        DeprecatedRequest("", "v1", "endpoints"),
    )


@pytest.mark.parametrize("value", [" 0", " 0e5"])
def test_zero_is_nobody(value: str) -> None:
    assert deprecated_requests(line('version="v1",resource="a"', value)) == DeprecatedRequests(())


@pytest.mark.parametrize(
    "name", ["_total", "x", ":rule", "_created"], ids=["total", "longer", "recording rule", "created"]
)
def test_metrics_with_a_longer_name_are_others(name: str) -> None:
    assert deprecated_requests(f'{METRIC}{name}{{version="v1",resource="a"}} 1\n') == DeprecatedRequests(())


@pytest.mark.parametrize(
    "broken",
    [
        f"{METRIC} 1",
        f'{METRIC}{{version="v1",resource="a"}}',
        f'{METRIC}{{version="v1",resource="a"}} one',
        f'{METRIC}{{version="v1" resource="a"}} 1',
        f'{METRIC}{{version="v1",version="v2",resource="a"}} 1',
        f'{METRIC}{{version="v1",resource="a}} 1',
        f'{METRIC}{{version="v1"}} 1',
        f'{METRIC}{{version="v1",resource="a"}} 1 2 3',
        f'{METRIC}{{version="v1",resource="a"}} ١',
    ],
)
def test_what_cannot_be_read_is_kept(broken: str) -> None:
    read = deprecated_requests(
        f"{line('version=' + chr(34) + 'v1' + chr(34) + ',resource=' + chr(34) + 'b' + chr(34))}{broken}\n"
    )
    assert read.unread == (broken,)
    assert [each.resource for each in read.requests] == ["b"]


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


_TEXT = st.text(max_size=12)
_REQUESTS = st.builds(
    DeprecatedRequest, _TEXT, st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8), _TEXT, _TEXT
)


@given(st.lists(_REQUESTS, max_size=4))
def test_whatever_is_written_is_read(requests: list[DeprecatedRequest]) -> None:
    written = "".join(
        line(
            f'group="{_escaped(each.group)}",version="{_escaped(each.version)}",resource="{_escaped(each.resource)}",'
            f'subresource="{_escaped(each.subresource)}",removed_release="{_escaped(each.removed_release)}"'
        )
        for each in requests
    )
    assert deprecated_requests(written) == DeprecatedRequests(tuple(sorted(set(requests))))


@given(st.text(alphabet=st.sampled_from('{}",=\\ \tn1av\n'), max_size=60))
def test_rubbish_never_breaks_it_and_never_gets_lost(rubbish: str) -> None:
    read = deprecated_requests(METRIC + rubbish)
    names_ours = rubbish[:1] not in ("n", "1", "a", "v")
    assert (len(read.unread) + len(read.requests) > 0) is names_ours


def test_a_long_line_is_read_in_one_go() -> None:
    many = ",".join(f'l{number}="{"x" * 20}"' for number in range(5000))
    assert len(deprecated_requests(line(f'{many},version="v1",resource="a"')).requests) == 1
    assert len(deprecated_requests(f"{METRIC}{{{many}" + " " * 100_000).unread) == 1
