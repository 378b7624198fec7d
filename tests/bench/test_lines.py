"""A figure that was not measured never meets its target."""

from __future__ import annotations

from bench.lines import Line, table


def test_a_target_is_met_from_below_or_from_above() -> None:
    assert Line("time", 2.0, "s", 2.0).met is True
    assert Line("time", 2.1, "s", 2.0).met is False
    assert Line("drained", 4.0, "targets", 5.0, at_least=True).met is False
    assert Line("drained", 5.0, "targets", 5.0, at_least=True).met is True


def test_what_was_not_measured_is_missed_and_what_has_no_target_is_only_told() -> None:
    assert Line("gap", None, "%", 3).met is False
    assert Line("time", 2.0, "s").met is None


def test_the_table_says_all_of_it_and_leaves_targets_out_when_told_so() -> None:
    lines = [Line("time", 1234.5, "s", 6), Line("gap", None, "%", 3), Line("pods", 7, "")]
    rows = table(lines, targets=True).splitlines()[2:]
    assert rows[0] == "| time | 1,234 s |  |  | ≤ 6 | MISSED |"
    assert rows[1] == "| gap | nothing |  |  | ≤ 3 | MISSED |"
    assert rows[2] == "| pods | 7  |  |  |  |  |"
    assert "MISSED" not in table(lines, targets=False)
    assert "machine:" not in table(lines, targets=True)


def test_on_a_slower_machine_what_is_judged_is_shown_beside_what_was_measured() -> None:
    slow, fast = Line("key", 12.0, "ms", 8, machine=1.6), Line("key", 7.0, "ms", 8, machine=0.8)
    assert (slow.judged, slow.met) == (7.5, True)
    assert (fast.judged, fast.met) == (8.75, False)
    assert (Line("key", 12.0, "ms", 8).met, Line("key", None, "ms", 8, machine=1.6).met) == (False, False)
    told = table([slow, fast], targets=True).splitlines()
    assert told[2] == "| key | 12 ms | 1.60 | 7.5 ms | ≤ 8 | met |"
    assert told[3] == "| key | 7 ms | 0.80 | 8.75 ms | ≤ 8 | MISSED |"
    assert told[-1].startswith("machine: ")
