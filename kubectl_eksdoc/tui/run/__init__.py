"""Screens of runs: confirmation, progress, stopping, and result.

Belongs here: pages, keys and texts of runs.
Never here: how a run is executed (`drain.run`) or started (`drain.command`): the screens receive a
`screen_ports.ScreenRunController` for that.
"""
