"""The power and the clock of the board while one kernel repeats. Pure Python: `device` runs it.

NVML's power is a mean over about a second on some boards, and readings of short kernels then hold
what ran before. Here a kernel repeats until that is over, and power is the difference of the
board's energy counter over the time between two of its changes.
"""

import statistics


def steady_reading(readings):
    """(watts, NVML's own mean, watts of the memory, MHz, Celsius) of readings (seconds, joules, W, W,
    MHz, Celsius) taken one after the other; '' for what is not read."""
    moves = [now for was, now in zip(readings, readings[1:])
             if None not in (was[1], now[1]) and now[1] != was[1]]
    mean = lambda i: (round(statistics.mean(r[i] for r in readings), 1)
                      if readings and all(r[i] is not None for r in readings) else "")
    watts = mean(2)
    if len(moves) >= 3:
        watts = round((moves[-1][1] - moves[0][1]) / (moves[-1][0] - moves[0][0]), 1)
    return watts, *(mean(i) for i in range(2, 6))


def sizes(row):
    """The row of the table `row["op"]` that a row of `power` repeats."""
    out = {"framework": row["framework"], "dtype": row["dtype"], "data": row["data"]}
    for pair in filter(None, row["shape"].split(";")):
        name, value = pair.split("=")
        out["op" if name == "which" else name] = int(value) if value.isdigit() else value
    return out


def measure(row, device, kernels):
    """The measured cells of a row."""
    if row["op"] == "nothing":
        watts, mean, memory, mhz, celsius = device.pause()
        return {"latency_us": "", "power_w": watts, "nvml_w": mean, "memory_w": memory,
                "sm_mhz": mhz, "celsius": celsius, "busy": 0, "kernel_source": "none"}
    calls, source = kernels.build(row["op"], sizes(row), device)
    took, how, watts, mean, memory, mhz, celsius, busy = device.steady(calls, duty=row["duty"])
    return {"latency_us": f"{took:.5g}", "power_w": watts, "nvml_w": mean,
            "memory_w": memory, "sm_mhz": mhz, "celsius": celsius, "busy": f"{busy:.3f}",
            "kernel_source": source if how == "graph" else source + "_eager"}
