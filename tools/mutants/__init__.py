"""Measures the tests: how many small faults (mutants), planted into the pure packages, make them fail?

    python -m tools.mutants sample --count 160 --to out/sample.json     draws them, with a fixed seed
    EKSDOC_REACH=out/reach python -m pytest -p tools.reach -p tests.workers --workers 2 -m "not long"
    python -m tools.mutants run out/sample.json out/reach out/results   stopped and started again, it goes on
    python -m tools.mutants report out/sample.json out/results

All mutants are written into one copy of the checkout, each behind a condition on its number. A process imports and
collects the tests once and then forks for each mutant; the fork runs the tests that enter the mutated function, the
cheapest first, until one fails. A failing test counts only if it passes without the mutant. `run` needs the reach of
`tools.reach`, and the same Python. With --quick it runs what `make quick` would, had only the mutated file changed.
"""
