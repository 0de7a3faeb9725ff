"""Tests of the parts of the sweep that need no GPU: python3 -m unittest, in this folder."""

import os
import tempfile
import unittest

import health
import plan
import tables


class Plan(unittest.TestCase):
    def test_rows_have_the_columns_of_their_table_and_no_two_are_the_same(self):
        for name, rows in plan.points(["bfloat16", "fp8", "float32"]).items():
            wanted = set(plan.COLUMNS[name]) - plan.MEASURED
            self.assertTrue(rows, name)
            for row in rows:
                self.assertEqual(set(row), wanted, name)
            self.assertEqual(len({plan.key(name, r) for r in rows}), len(rows), name)

    def test_fits_into_twenty_minutes(self):
        # 60 ms of timing a row and about as much to set it up.
        rows = sum(len(r) for r in plan.points(["bfloat16", "fp8", "float32"]).values())
        self.assertLess(rows * 0.45, 20 * 60)

    def test_gemm_columns_are_those_of_the_measured_tables(self):
        self.assertEqual(plan.COLUMNS["gemm"][:9], ["system", "framework", "version",
                                                    "kernel_source", "dtype", "m", "n", "k",
                                                    "latency_us"])


class Tables(unittest.TestCase):
    def row(self, m):
        return {"system": "x", "framework": "pytorch", "version": "2.4", "kernel_source": "linear",
                "dtype": "bfloat16", "m": m, "n": 8, "k": 16, "latency_us": "1.5", "power_w": ""}

    def test_a_second_start_skips_what_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            table = tables.Table(folder, "gemm")
            table.append(self.row(1))
            again = tables.Table(folder, "gemm")
            self.assertEqual([r["m"] for r in again.todo([self.row(1), self.row(2)])], [2])

    def test_a_row_cut_in_two_is_measured_again(self):
        with tempfile.TemporaryDirectory() as folder:
            tables.Table(folder, "gemm").append(self.row(1))
            path = os.path.join(folder, "gemm.csv")
            with open(path, "a", encoding="utf-8") as f:
                f.write("x,pytorch,2.4,linear,bfloat16,2,8")
            again = tables.Table(folder, "gemm")
            self.assertEqual(len(again.todo([self.row(1), self.row(2)])), 1)
            again.append(self.row(2))
            with open(path, encoding="utf-8") as f:
                self.assertEqual(len(f.read().splitlines()), 3)

    def test_other_columns_and_missing_cells_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "gemm.csv"), "w", encoding="utf-8") as f:
                f.write("a,b\n1,2\n")
            with self.assertRaises(SystemExit):
                tables.Table(folder, "gemm")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(ValueError):
                tables.Table(folder, "gemm").append({"m": 1})


class Health(unittest.TestCase):
    def test_a_free_gpu_at_its_clock_has_no_fault(self):
        self.assertEqual(health.faults({"sm_mhz": 1980, "sm_max_mhz": 1980, "used_share": 0.0}), [])
        self.assertEqual(health.faults({}), [])

    def test_sharing_heat_and_low_clocks_are_named(self):
        self.assertIn("pid 7", health.faults({"processes": [7, 8]})[0])
        self.assertIn("busy 40 %", health.faults({"used_share": 0.4})[0])
        self.assertIn("thermal", health.faults({"throttle": ["thermal"]})[0])
        self.assertIn("1200 of 1980", health.faults({"sm_mhz": 1200, "sm_max_mhz": 1980})[0])

    def test_a_power_cap_is_no_fault(self):
        self.assertEqual(health.faults({"sm_mhz": 1200, "sm_max_mhz": 1980,
                                        "throttle": ["power"]}), [])

    def test_spread_and_drift(self):
        self.assertAlmostEqual(health.spread([1.0] * 9 + [2.0]), 1.0)
        self.assertEqual(health.spread([3.0] * 5), 0)
        self.assertIsNone(health.drift_fault(100, 104))
        self.assertIn("+20 %", health.drift_fault(100, 120))


if __name__ == "__main__":
    unittest.main()
