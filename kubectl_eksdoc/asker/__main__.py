"""``python asker.pyz --plan JSON``: asks, prints what came of each second, and ends at its deadline or at SIGTERM.

Exit codes: 0, also when told to end; 2, the plan is none.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Sequence

from kubectl_eksdoc.asker.asked import BadPlan, LoadSettings, read
from kubectl_eksdoc.asker.asking import LoadRun
from kubectl_eksdoc.asker.tally import LinePrinter


def main(argv: Sequence[str]) -> int:
    printer = LinePrinter(sys.stdout)
    try:
        if len(argv) != 2 or argv[0] != "--plan":
            raise BadPlan("usage: asker --plan JSON")
        asked = read(argv[1])
    except BadPlan as error:
        printer.refused(str(error))
        return 2
    asyncio.run(_asked(asked, printer))
    return 0


async def _asked(asked: LoadSettings, printer: LinePrinter) -> None:
    asking = LoadRun(asked, printer.second)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asking.stop)
    printer.begun(asked, time.time())
    await asking.run()
    printer.over(asking.stopped, asking.tally.sums)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
