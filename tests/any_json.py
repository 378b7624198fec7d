"""Hypothesis strategies for JSON of any form: input for properties of parsers that read documents of other programs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


def anything(*others: st.SearchStrategy[Any], keys: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Any]:
    """`others`: further values to draw from; `keys`: the keys of its objects, any text unless they are given."""
    leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), *others)
    named = st.text(max_size=5) if keys is None else keys
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(named, inner, max_size=3), max_leaves=8
    )
