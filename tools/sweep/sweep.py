#!/usr/bin/env python3
"""Measures one GPU for Orrery: see README.md. Needs torch with CUDA or ROCm, nothing else."""

import argparse
import gc
import json
import os
import sys
import time

import health
import plan
import power
import tables


class DeviceLost(Exception):
    """The GPU answers no more: whatever follows would fail as well."""


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


def measure(table, row, device, kernels, others):
    """The measured cells of a row. `others`: modules of tables that time more than a call."""
    if table == "power":
        return power.measure(row, device, kernels)
    if table in others:
        return others[table].measure(row, device)
    calls, source = kernels.build(table, row, device)
    median, how, _, watts = device.time(calls)
    return {"latency_us": f"{median:.5g}", "power_w": watts,
            "kernel_source": source if how == "graph" else source + "_eager"}


def run_table(name, rows, folder, identity, deadline, device, kernels, others):
    """Measures what is missing of a table. (rows measured, rows left out, whether it is whole)"""
    table = tables.Table(folder, name)
    todo = table.todo(rows)
    print(f"{name}: {len(rows) - len(todo)} of {len(rows)} rows are there", flush=True)
    done = skipped = 0
    for row in todo:
        if time.monotonic() > deadline:
            return done, skipped, False
        try:
            measured = measure(name, row, device, kernels, others)
            table.append({**row, **measured, **identity})
            done += 1
        except Exception as e:  # too little memory, or a kernel that this torch does not have
            skipped += 1
            first = (str(e) or type(e).__name__).splitlines()[0]
            print(f"{name}: left out {row}: {first[:100]}", file=sys.stderr)
        try:
            device.release()
        except RuntimeError as e:
            raise DeviceLost(f"{name}: after {row}: {str(e).splitlines()[0]}") from e
    return done, skipped, True


def sweep(o, device, kernels, others):
    """The whole sweep; the exit status."""
    begun = time.monotonic()
    os.makedirs(o.out, exist_ok=True)
    facts_path = os.path.join(o.out, "device.json")
    problems = []  # of earlier parts of an interrupted sweep, too
    if os.path.exists(facts_path):
        with open(facts_path, encoding="utf-8") as f:
            before = json.load(f)
        if (before["name"], before["system"]) != (device.facts()["name"], o.system):
            raise SystemExit(f"sweep: {o.out} was measured on {before['name']} as "
                             f"{before['system']}")
        problems = [p for p in before["state"]["problems"] if p != "not finished"]
    now = health.faults(device.reading(), loaded=False)
    refuse(now, o.allow_bad_state)

    # A product of few rows reads its weight from memory. One of many rows draws the limit of the
    # board, and then its time follows the temperature: 11 % on a sound H100.
    row = {"m": 16, "n": 8192, "k": 8192, "dtype": device.dtypes()[0]}
    if o.rehearsal:
        row.update(m=16, n=16, k=16)
    reference = kernels.build("gemm", row, device)[0]
    first, _, times, _ = device.time(reference)
    under_load = device.reading_under_load(reference[0])
    loaded = health.faults(under_load, loaded=True)
    if not o.rehearsal and health.spread(times) > health.SPREAD:
        loaded.append(f"a reference kernel varies by {100 * health.spread(times):.0f} %: the GPU is "
                      "shared or its clock is moving")
    refuse(loaded, o.allow_bad_state)
    problems = list(dict.fromkeys(problems + now + loaded))
    host_us, replay_us = device.launch_us()
    facts = {**device.facts(), "system": o.system, "copy_bytes_per_s": device.bandwidth(),
             "launch_host_us": host_us, "graph_kernel_us": replay_us,
             "reading_under_load": under_load, "reference_gemm_us": first}
    write_json(facts_path, {**facts, "state": health.summary(problems + ["not finished"])})

    chosen = [t for t in o.tables.split(",") if t]
    wanted = plan.rehearsal(device.dtypes()) if o.rehearsal else plan.points(device.dtypes())
    identity = {"system": o.system, "version": device.version}
    done = skipped = 0
    complete, lost = True, None
    for name in chosen or wanted:
        rows = wanted.get(name, [])
        try:
            n, out, whole = run_table(name, rows, o.out, identity, begun + 60 * o.minutes, device,
                                      kernels, others)
        except DeviceLost as e:
            complete, lost = False, str(e)
            break
        done, skipped, complete = done + n, skipped + out, complete and whole
    if lost is None and not o.rehearsal:
        drift = health.drift_fault(first, device.time(reference)[0])
        after = health.faults(device.reading_under_load(reference[0]), loaded=True)
        problems = list(dict.fromkeys(problems + after + ([drift] if drift else [])))
    if lost is not None:
        problems.append(f"the GPU failed: {lost}")
    write_json(facts_path, {**facts, "state": health.summary(
        problems + ([] if complete else ["not finished"]))})
    print(f"{done} rows measured, {skipped} left out, in {(time.monotonic() - begun) / 60:.1f} min")
    if not complete:
        print("not finished; start again with the same --out to go on")
    for problem in problems:
        print(f"sweep: UNSOUND: {problem}", file=sys.stderr)
    if o.rehearsal:
        print("a rehearsal on the CPU: its tables show that the sweep runs, and no times")
        return 1 if skipped else 0
    return 1 if problems else 0


def parse(arguments=None):
    parser = argparse.ArgumentParser(description="measures one GPU for Orrery")
    parser.add_argument("--system", required=True, help="id of the GPU in Orrery: h100-sxm")
    parser.add_argument("--out", required=True, help="folder of the tables; continued if it exists")
    parser.add_argument("--device", type=int, default=0, help="index of the GPU [0]")
    parser.add_argument("--minutes", type=float, default=19, help="time to stop after [19]")
    parser.add_argument("--minutes-each", type=float, default=60,
                        help="time after which a table is left for the next start [60]")
    parser.add_argument("--tables", default="", help="only these, with commas between, in this order")
    parser.add_argument("--allow-bad-state", action="store_true",
                        help="measure a shared or throttled GPU; the result says so")
    parser.add_argument("--rehearsal", action="store_true",
                        help="run one tiny row of every kind on the CPU, to see that all of it works")
    o = parser.parse_args(arguments)
    unknown = [t for t in o.tables.split(",") if t and t not in plan.COLUMNS]
    if unknown:
        raise SystemExit(f"sweep: --tables: no table {unknown[0]}; there are "
                         + ", ".join(plan.COLUMNS))
    return o


def main():
    o = parse()
    # NVML counts GPUs in the order of the bus; torch then does as well.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    try:
        import torch
    except ImportError:
        raise SystemExit("sweep: needs torch (2.5 or newer)") from None
    if [int(n) for n in torch.__version__.split(".")[:2]] < [2, 5]:
        raise SystemExit(f"sweep: needs torch 2.5 or newer, this is {torch.__version__}")
    import composition
    import device as gpu
    import kernels
    import training

    kernels.WHERE = "cpu" if o.rehearsal else "cuda"
    device = gpu.Rehearsal() if o.rehearsal else gpu.Device(o.device)
    torch.backends.cuda.matmul.allow_tf32 = False
    gc.collect()
    gc.freeze()  # each capture of a graph collects garbage: what was imported is none
    return sweep(o, device, kernels, {"composition": composition, "training": training})


if __name__ == "__main__":
    sys.exit(main())
