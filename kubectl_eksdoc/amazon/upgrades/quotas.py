"""Which instances the quotas of vCPUs count. Source: EC2 user guide, On-Demand Instance limits."""

from __future__ import annotations

import re

_STANDARD = re.compile(r"(?:[acdhimrtz]\d|im\d|is\d)")
"""A, C, D, H, I, M, R, T and Z; not dl1, hpc7, inf2, mac2, trn1, with quotas of their own."""


def is_standard(instance_type: str) -> bool:
    """Whether ``m6i.xlarge`` counts to the quotas of Standard instances."""
    return bool(_STANDARD.match(instance_type))
