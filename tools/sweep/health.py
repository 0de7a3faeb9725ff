"""Whether the GPU is in a state to be measured: clocks, other processes, spread. Pure Python: the
readings come from elsewhere (device.py), the judgement is here.

A reading is a dict; keys that the machine does not give are absent:
  sm_mhz, sm_max_mhz   clock and the highest that the driver allows
  throttle             names of the reasons that hold it down: "power", "thermal", "hw_slowdown"
  processes            pids of other processes on the GPU
  used_share           share of time the GPU was busy before we started
"""

# Smallest sound clock under load, relative to the highest clock that the driver reports. Cards that
# their voltage limits stay below the highest clock (RTX 4090: 0.88), and some run at a lower
# application clock (V100: 0.84).
LOW_CLOCK = 0.7
BUSY = 0.05
SPREAD = 0.05  # (p90 - p10) / median of repeated timings


def faults(reading, loaded):
    """What is wrong, in words; empty if nothing is. Faults before the sweep end it (unless
    --allow-bad-state); those during it mark the run as unsound. `loaded`: read while our own work
    ran; an idle GPU may lower its clock, a loaded one is busy."""
    found = []
    if reading.get("processes"):
        pids = ", ".join(str(p) for p in reading["processes"])
        found.append(f"other processes use this GPU (pid {pids})")
    if not loaded and reading.get("used_share", 0) > BUSY:
        found.append(f"the GPU is busy {100 * reading['used_share']:.0f} % of the time before the "
                     "sweep")
    for reason in reading.get("throttle", []):
        if reason != "power":  # a power cap is a property of the card, and is reported
            found.append(f"the clock is held down: {reason}")
    clock, most = reading.get("sm_mhz"), reading.get("sm_max_mhz")
    capped = "power" in reading.get("throttle", [])
    if loaded and clock and most and clock < LOW_CLOCK * most and not capped:
        found.append(f"the clock is {clock} of {most} MHz under load")
    return found


def spread(times):
    """(p90 - p10) / median."""
    ordered = sorted(times)
    at = lambda q: ordered[min(len(ordered) - 1, int(q * len(ordered)))]
    return (at(0.9) - at(0.1)) / at(0.5)


def drift_fault(first, last):
    """Of the same reference kernel timed at the start and at the end of the sweep."""
    change = last / first - 1
    if abs(change) <= SPREAD:
        return None
    return (f"the reference kernel took {100 * change:+.0f} % at the end of the sweep: the GPU was "
            "throttled, shared or reclocked in between")


def summary(problems):
    """The words that go into device.json and on the screen."""
    return {"sound": not problems, "problems": list(problems)}
