#!/usr/bin/env python3
"""Fits catalog/network/pcie4-no-p2p.yaml: the all-reduce of GeForce cards over PCIe.

No table of collectives between such cards is at hand, so its latency and bandwidths (2, 4, 8 ranks)
come from whole services: TPOT of vLLM 0.8.5 on two to eight RTX 4090 below saturation
(data/inference/serving_rate.csv, the groups that fit). Coordinate descent on the mean absolute
logarithmic error; each trial is `orrery --catalog TRIAL validate serving`.

    tools/fit_geforce_all_reduce.py build/release/orrery $ORRERY_DATA/inference > \
        catalog/network/pcie4-no-p2p.yaml
"""
import csv
import io
import math
import pathlib
import subprocess
import sys
import tempfile

TEXT = """# Made by tools/fit_geforce_all_reduce.py: no table of collectives between such cards was measured.
fabrics: [pcie4-no-p2p]
stands_for: [pcie3-no-p2p]
origin: fitted
measured_on: "rtx-4090"
recipe: "{rows} rows of data/inference/serving_rate (7B, 8B, 14B on two to eight RTX 4090, below 32 requests a second): mean error of TPOT {error:.0f} %"
curves:
  - {{stack: library, algorithm: ring, collective: all_reduce,
     latency: {0:.4g} us, step: 0.7 us, pipelining: 0, efficiency: [{1:.3g}, {2:.3g}, {3:.3g}],
     rows: {rows}, left_out_error: [0.25, 0.25, 0.25]}}
"""


def main():
    orrery, data = sys.argv[1:]
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "network").mkdir()
    with open(pathlib.Path(data) / "serving_rate.csv", newline="") as f:
        table = csv.DictReader(f)
        with open(folder / "serving_rate.csv", "w", newline="") as out:
            kept = csv.DictWriter(out, table.fieldnames)
            kept.writeheader()
            for row in table:
                if row["system"] == "rtx-4090" and float(row["n_gpus"]) > 1 and float(row["request_rate"]) < 32:
                    kept.writerow(row)

    def loss(x):
        (folder / "network/pcie4-no-p2p.yaml").write_text(TEXT.format(*x, rows=0, error=0))
        command = [orrery, "--catalog", folder, "validate", "serving", "--data", folder, "--table", "serving_rate"]
        text = subprocess.run(command + ["-o", "csv"], capture_output=True, text=True, check=True).stdout
        errors = [abs(math.log(float(r["predicted"]) / float(r["measured"])))
                  for r in csv.DictReader(io.StringIO(text)) if r["metric"] == "tpot" and r["fitted"] == "yes"]
        return sum(errors) / len(errors), len(errors)

    x = [50.0, 0.2, 0.2, 0.2]  # us, and shares of the link
    best, rows = loss(x)
    for factor in (1.5, 1.5, 1.2, 1.1):
        for i in range(len(x)):
            for f in (factor, 1 / factor):
                y = [v * f if k == i else v for k, v in enumerate(x)]
                while y[i] <= (500 if i == 0 else 0.8) and (at := loss(y)[0]) < best:
                    best, x = at, y
                    y = [v * f if k == i else v for k, v in enumerate(x)]
    print(TEXT.format(*x, rows=rows, error=100 * math.expm1(best)), end="")


main()
