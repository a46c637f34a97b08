"""``python -m shoal`` is the program ``shoal``."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # until the program listens to signals itself, a Ctrl-C ends it without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from shoal.cli import main

if __name__ == "__main__":
    main()
