"""Where the command `fathoms` starts. Ctrl-C ends it without a traceback, even while its modules are being loaded."""

from __future__ import annotations

import gc
import os
import signal

INTERRUPTED = 130  # 128 and the number of the signal, as shells have it
OBJECTS = 100_000  # new ones before anybody looks for cycles among them: most stay until the command ends


def run() -> None:
    """Load the command line and run it. At first there is nothing to tidy up, and so Ctrl-C ends the process at once;
    then the command itself decides; in the end, with the output written, it is Ctrl-C as for any program."""
    gc.set_threshold(OBJECTS)
    hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where it is ignored, as behind `nohup`
    try:
        if hears:
            signal.signal(signal.SIGINT, _end)
        from fathoms.cli.app import main

        if hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except KeyboardInterrupt:
        _end()
    finally:
        if hears:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(*signalled: object) -> None:
    try:
        os.write(2, b"fathoms: interrupted\n")
    finally:
        os._exit(INTERRUPTED)
