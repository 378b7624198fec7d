"""The support calendar of EKS as data: when each Kubernetes version came and when its support ends.

Sources: EKS user guide, kubernetes-versions (the history of the page for old versions); endoflife.date,
products/amazon-eks.md (22 August 2026).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from kubectl_eksdoc.core.model.confidence import Confidence
from kubectl_eksdoc.core.model.versions import Version

AS_OF = date(2026, 11, 20)
"""When it was read; what DescribeClusterVersions says now is newer."""


@dataclass(frozen=True, slots=True)
class CalendarRow:
    """Days in UTC. `released`: on EKS; `upstream`: by Kubernetes, None where that was not read. `extended_ends` is None
    for versions that never had extended support."""

    version: Version
    upstream: date | None
    released: date
    standard_ends: date
    extended_ends: date | None
    confidence: Confidence
    note: str = ""


_HIGH, _MEDIUM = Confidence.HIGH, Confidence.MEDIUM

ROWS = (
    CalendarRow(
        Version(1, 14),
        date(2019, 3, 25),
        date(2019, 9, 4),
        date(2020, 12, 8),
        None,
        _MEDIUM,
        "EKS user guide git history",
    ),
    CalendarRow(
        Version(1, 15),
        date(2019, 6, 19),
        date(2020, 3, 10),
        date(2021, 5, 31),
        None,
        _MEDIUM,
        "EKS user guide git history: only the month of the end is known, this is its last day",
    ),
    CalendarRow(
        Version(1, 16),
        date(2019, 9, 8),
        date(2020, 4, 30),
        date(2021, 9, 27),
        None,
        _MEDIUM,
        "EKS user guide git history prints September 8, 2019; not cross-checked",
    ),
    CalendarRow(
        Version(1, 17),
        date(2019, 12, 9),
        date(2020, 7, 10),
        date(2021, 11, 2),
        None,
        _MEDIUM,
        "EKS user guide git history",
    ),
    CalendarRow(
        Version(1, 18),
        date(2020, 3, 23),
        date(2020, 10, 13),
        date(2022, 3, 31),
        None,
        _MEDIUM,
        "EKS user guide git history / endoflife.date",
    ),
    CalendarRow(Version(1, 19), date(2020, 8, 26), date(2021, 2, 16), date(2022, 8, 1), None, _HIGH),
    CalendarRow(
        Version(1, 20),
        date(2020, 12, 8),
        date(2021, 5, 18),
        date(2022, 11, 1),
        None,
        _HIGH,
        "an incident report agrees",
    ),
    CalendarRow(
        Version(1, 21),
        date(2021, 4, 8),
        date(2021, 7, 19),
        date(2023, 2, 15),
        date(2024, 7, 15),
        _HIGH,
        "an incident report agrees on 2023-02-15; endoflife.date has 02-16; extended was offered retroactively",
    ),
    CalendarRow(
        Version(1, 22),
        date(2021, 8, 4),
        date(2022, 4, 4),
        date(2023, 6, 4),
        date(2024, 9, 1),
        _MEDIUM,
        "an incident report agrees on the end of standard support; that of extended support from endoflife.date",
    ),
    CalendarRow(Version(1, 23), date(2021, 12, 7), date(2022, 8, 11), date(2023, 10, 11), date(2024, 10, 11), _HIGH),
    CalendarRow(Version(1, 24), date(2022, 5, 3), date(2022, 11, 15), date(2024, 1, 31), date(2025, 1, 31), _HIGH),
    CalendarRow(Version(1, 25), date(2022, 8, 23), date(2023, 2, 22), date(2024, 5, 1), date(2025, 5, 1), _HIGH),
    CalendarRow(Version(1, 26), date(2022, 12, 9), date(2023, 4, 11), date(2024, 6, 11), date(2025, 6, 11), _HIGH),
    CalendarRow(Version(1, 27), date(2023, 4, 11), date(2023, 5, 24), date(2024, 7, 24), date(2025, 7, 24), _HIGH),
    CalendarRow(Version(1, 28), date(2023, 8, 15), date(2023, 9, 26), date(2024, 11, 26), date(2025, 11, 26), _HIGH),
    CalendarRow(Version(1, 29), date(2023, 12, 13), date(2024, 1, 23), date(2025, 3, 23), date(2026, 3, 23), _HIGH),
    CalendarRow(Version(1, 30), date(2024, 4, 17), date(2024, 5, 23), date(2025, 7, 23), date(2026, 7, 23), _HIGH),
    CalendarRow(Version(1, 31), date(2024, 8, 13), date(2024, 9, 26), date(2025, 11, 26), date(2026, 11, 26), _HIGH),
    CalendarRow(Version(1, 32), date(2024, 12, 11), date(2025, 1, 23), date(2026, 3, 23), date(2027, 3, 23), _HIGH),
    CalendarRow(Version(1, 33), date(2025, 4, 23), date(2025, 5, 29), date(2026, 7, 29), date(2027, 7, 29), _HIGH),
    CalendarRow(
        Version(1, 34),
        date(2025, 8, 27),
        date(2025, 10, 2),
        date(2026, 12, 2),
        date(2027, 12, 2),
        _HIGH,
        "EKS user guide; endoflife.date prints release 2025-10-06",
    ),
    CalendarRow(
        Version(1, 35),
        date(2025, 12, 17),
        date(2026, 1, 28),
        date(2027, 3, 27),
        date(2028, 3, 27),
        _MEDIUM,
        "release 27 Jan in some sources (end dates are consistent with the 27th)",
    ),
    CalendarRow(
        Version(1, 36),
        None,
        date(2026, 6, 2),
        date(2027, 8, 2),
        date(2028, 8, 2),
        _MEDIUM,
        "endoflife.date Jul/Aug 2026 + devopsdreams article Oct 2026; upstream date not read",
    ),
)
"""The oldest first."""
