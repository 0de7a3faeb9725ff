"""`python3 -m orrery` is the command line."""

import signal
import sys

from orrery import _orrery


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return _orrery.main(["orrery"] + sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
