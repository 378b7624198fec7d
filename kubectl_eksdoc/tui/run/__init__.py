"""Runs on screens: what is typed before one begins, how it stands, how it is stopped, what came of it.

Belongs here: pages, keys and words of runs.
Never here: how a run is carried out (`drain.run`) or begun (`drain.command`): the screens are given a
`screen_ports.ScreenRunController` that does it.
"""
