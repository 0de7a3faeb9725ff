#!/usr/bin/env python3
"""Takes the time of a call of the Python module: `orrery.estimate` for one point, and its overhead.

usage: tools/measure_calls.py FOLDER    the folder of the built package, such as build/release/python

The overhead is the time of a call with one point less the time of a point, which is the slope
between one point and 64. Each time is the shortest mean of ten calls within two seconds, in which
a machine that others use, too, has a quiet moment.
"""

import sys
import time

POINTS = 64
SECONDS = 2


def shortest(call):
    call()
    best = float("inf")
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(10):
            call()
        best = min(best, (time.perf_counter() - begin) / 10)
    return best


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.path.insert(0, sys.argv[1])
    import orrery

    def estimate(batch):
        return shortest(lambda: orrery.estimate(
            model="llama-3-8b", gpu="h100-sxm", isl=512, osl=128, batch=batch))

    one, many = estimate(8), estimate(list(range(1, POINTS + 1)))
    point = (many - one) / (POINTS - 1)
    print(f"a call: {one * 1e6:.1f} us; a point: {point * 1e6:.1f} us; "
          f"overhead: {(one - point) * 1e6:.1f} us")


if __name__ == "__main__":
    main()
