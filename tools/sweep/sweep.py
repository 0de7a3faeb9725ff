#!/usr/bin/env python3
"""Measures one GPU for Orrery: see README.md. Needs torch with CUDA or ROCm, nothing else."""

import argparse
import json
import os
import sys
import time

import health
import plan
import tables


def write_json(path, value):
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1)
        f.write("\n")
    os.replace(path + ".new", path)


def refuse(problems, allow):
    for problem in problems:
        print(f"sweep: {problem}", file=sys.stderr)
    if problems and not allow:
        raise SystemExit("sweep: the GPU is not in a state to be measured. Free it and start again, "
                         "or pass --allow-bad-state: the result is then marked as unsound")


def reference(device, kernels):
    row = {"m": 4096, "n": 4096, "k": 4096, "dtype": device.dtypes()[0]}
    median, _, times, _ = device.time(kernels.build("gemm", row, device)[0])
    return median, times


def main():
    parser = argparse.ArgumentParser(description="measures one GPU for Orrery")
    parser.add_argument("--system", required=True, help="id of the GPU in Orrery: h100-sxm")
    parser.add_argument("--out", required=True, help="folder of the tables; continued if it exists")
    parser.add_argument("--device", type=int, default=0, help="index of the GPU [0]")
    parser.add_argument("--minutes", type=float, default=19, help="time to stop after [19]")
    parser.add_argument("--tables", default="", help="only these, with commas between")
    parser.add_argument("--allow-bad-state", action="store_true",
                        help="measure a shared or throttled GPU; the result says so")
    o = parser.parse_args()
    chosen = [t for t in o.tables.split(",") if t]
    unknown = [t for t in chosen if t not in plan.COLUMNS]
    if unknown:
        raise SystemExit(f"sweep: --tables: no table {unknown[0]}; there are "
                         + ", ".join(plan.COLUMNS))

    import composition
    import device as gpu
    import kernels
    import torch

    device = gpu.Device(o.device)
    torch.backends.cuda.matmul.allow_tf32 = False
    begun = time.monotonic()
    os.makedirs(o.out, exist_ok=True)
    facts_path = os.path.join(o.out, "device.json")
    problems = []  # of earlier parts of an interrupted sweep, too
    if os.path.exists(facts_path):
        with open(facts_path, encoding="utf-8") as f:
            before = json.load(f)
        if before["name"] != device.facts()["name"]:
            raise SystemExit(f"sweep: {o.out} was measured on {before['name']}")
        problems = before["state"]["problems"]
    now = health.faults(device.reading())
    refuse(now, o.allow_bad_state)
    first, times = reference(device, kernels)
    loaded = health.faults(device.reading())
    if health.spread(times) > health.SPREAD:
        loaded.append(f"a reference kernel varies by {100 * health.spread(times):.0f} %: the GPU is "
                      "shared or its clock is moving")
    refuse(loaded, o.allow_bad_state)
    problems = list(dict.fromkeys(problems + now + loaded))
    host_us, replay_us = device.launch_us()
    facts = {**device.facts(), "system": o.system, "copy_bytes_per_s": device.bandwidth(),
             "launch_host_us": host_us, "graph_kernel_us": replay_us,
             "reading_under_load": device.reading(), "reference_gemm_us": first}
    write_json(facts_path, {**facts, "state": health.summary(problems + ["not finished"])})

    done, skipped, complete = 0, 0, True
    for name, rows in plan.points(device.dtypes()).items():
        if chosen and name not in chosen:
            continue
        table = tables.Table(o.out, name)
        todo = table.todo(rows)
        print(f"{name}: {len(rows) - len(todo)} of {len(rows)} rows are there")
        for row in todo:
            if time.monotonic() - begun > 60 * o.minutes:
                complete = False
                break
            try:
                if name == "composition":
                    whole, total, watts = composition.measure(row, device, device.dtypes()[0])
                    measured = {"latency_us": f"{whole:.5g}", "kernels_us": f"{total:.5g}",
                                "power_w": watts, "kernel_source": "torch"}
                else:
                    calls, source = kernels.build(name, row, device)
                    median, how, _, watts = device.time(calls)
                    measured = {"latency_us": f"{median:.5g}", "power_w": watts,
                                "kernel_source": source if how == "graph" else source + "_eager"}
                table.append({**row, **measured, "system": o.system, "version": device.version})
                done += 1
            except (RuntimeError, TypeError, NotImplementedError) as e:
                skipped += 1  # too little memory, or a kernel that this torch does not have
                print(f"{name}: left out {row}: {str(e).splitlines()[0][:100]}", file=sys.stderr)
            torch.cuda.empty_cache()
    last, _ = reference(device, kernels)
    drift = health.drift_fault(first, last)
    after = health.faults(device.reading())
    problems = list(dict.fromkeys(problems + after + ([drift] if drift else [])))
    write_json(facts_path, {**facts, "state": health.summary(
        problems + ([] if complete else ["not finished"]))})
    print(f"{done} rows measured, {skipped} left out, in {(time.monotonic() - begun) / 60:.1f} min")
    if not complete:
        print("time is up; start again with the same --out to go on")
    for problem in problems:
        print(f"sweep: UNSOUND: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
