"""Tests of the parts of the sweep that need no GPU: python3 -m unittest, in this folder."""

import contextlib
import io
import json
import os
import tempfile
import types
import unittest
import unittest.mock

import health
import nvml
import plan
import power
import sweep
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
        # An H100 took 76 ms a row, 2.8 s a row of power and 5 s a slice in training; half a minute
        # to compile a model is an assumption.
        points = plan.points(["bfloat16", "fp8", "float32"])
        each = {"power": 2.8, "training": 5, "composition": 5}
        compiled = sum(r["run"] == "compiled" for t in ("composition", "training")
                       for r in points[t])
        self.assertLess(sum(len(rows) * each.get(table, 0.1) for table, rows in points.items())
                        + compiled * 30, 19 * 60)

    def test_a_rehearsal_has_one_small_row_of_every_kind(self):
        points, rehearsal = plan.points(["float32"]), plan.rehearsal(["float32"])
        self.assertEqual(set(points), set(rehearsal))
        self.assertEqual({r["op"] for r in rehearsal["elementwise"]}, set(plan.ELEMENTWISE_OPS))
        self.assertEqual(len(rehearsal["composition"]), 6)
        self.assertEqual({r["gradient"] for r in rehearsal["gemm_backward"]}, {"input", "weight"})
        for rows in rehearsal.values():
            self.assertEqual({r["framework"] for r in rows}, {"rehearsal"})
            for row in rows:
                self.assertLessEqual(max((v for v in row.values() if isinstance(v, int)), default=0),
                                     1000)

    def test_gemm_columns_are_those_of_the_measured_tables(self):
        self.assertEqual(plan.COLUMNS["gemm"][:9], ["system", "framework", "version",
                                                    "kernel_source", "dtype", "m", "n", "k",
                                                    "latency_us"])


class Power(unittest.TestCase):
    def test_watts_are_those_between_two_changes_of_the_counter(self):
        # 500 W; the counter moves every 100 ms and is read every 20 ms, NVML's mean lags.
        readings = [(t / 50, 500 * ((t // 5) / 10), 450.0, 90.0, 1500, 60) for t in range(51)]
        self.assertEqual(power.steady_reading(readings), (500.0, 450.0, 90.0, 1500, 60))

    def test_without_a_counter_watts_are_nvmls_mean(self):
        self.assertEqual(power.steady_reading([(0, None, 400.0, None, 1500, None)] * 3),
                         (400.0, 400.0, "", 1500, ""))
        self.assertEqual(power.steady_reading([(0,) + (None,) * 5]), ("",) * 5)

    def test_every_row_names_a_table_and_all_its_sizes(self):
        for row in plan.points(["bfloat16", "fp8", "float32"])["power"]:
            if row["op"] in ("nothing", "launches"):
                continue
            table = {"attention_backward": "attention_prefill"}.get(row["op"], row["op"])
            missing = (set(plan.COLUMNS[table]) - plan.MEASURED - {"kv_dtype", "window", "past"}
                       - set(power.sizes(row)))
            self.assertEqual(missing, set(), row)


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
        fine = {"sm_mhz": 1980, "sm_max_mhz": 1980, "used_share": 0.0}
        for loaded in (False, True):
            self.assertEqual(health.faults(fine, loaded), [])
            self.assertEqual(health.faults({}, loaded), [])

    def test_an_idle_gpu_may_rest_and_a_loaded_one_is_busy(self):
        resting = {"sm_mhz": 345, "sm_max_mhz": 1980}
        self.assertEqual(health.faults(resting, loaded=False), [])
        self.assertIn("345 of 1980", health.faults(resting, loaded=True)[0])
        self.assertIn("busy 40 %", health.faults({"used_share": 0.4}, loaded=False)[0])
        self.assertEqual(health.faults({"used_share": 1.0}, loaded=True), [])

    def test_sharing_and_heat_are_named(self):
        self.assertIn("pid 7", health.faults({"processes": [7, 8]}, loaded=False)[0])
        self.assertIn("thermal", health.faults({"throttle": ["thermal"]}, loaded=True)[0])

    def test_a_power_cap_is_no_fault(self):
        self.assertEqual(health.faults({"sm_mhz": 1200, "sm_max_mhz": 1980,
                                        "throttle": ["power"]}, loaded=True), [])

    def test_spread_and_drift(self):
        self.assertAlmostEqual(health.spread([1.0] * 9 + [2.0]), 1.0)
        self.assertEqual(health.spread([3.0] * 5), 0)
        self.assertIsNone(health.drift_fault(100, 104))
        self.assertIn("+20 %", health.drift_fault(100, 120))


class NvmlLibrary:
    """libnvidia-ml of a GPU at 1200 of 1980 MHz, held down by heat (0x20) and by power (0x4).
    Without nvmlDeviceGetUtilizationRates, as in an old driver."""

    def __init__(self, pids):
        self.pids, self.asked, self.field_status = pids, None, 0

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetHandleByUUID(self, name, handle):
        self.asked = name
        handle._obj.value = 1
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, handle):
        self.asked = index
        handle._obj.value = 1
        return 0

    def nvmlDeviceGetPowerUsage(self, handle, value):
        value._obj.value = 350500
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, handle, value):
        value._obj.value = 123456
        return 0

    def nvmlDeviceGetFieldValues(self, handle, count, field):
        field._obj.value, field._obj.status = 40500, self.field_status
        return 0

    def nvmlDeviceGetClockInfo(self, handle, clock, value):
        value._obj.value = 1200
        return 0

    def nvmlDeviceGetMaxClockInfo(self, handle, clock, value):
        value._obj.value = 1980
        return 0

    def nvmlDeviceGetEnforcedPowerLimit(self, handle, value):
        return 3  # not supported

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle, value):
        value._obj.value = 0x24
        return 0

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle, count, entries):
        for i, pid in enumerate(self.pids):
            entries[24 * i:24 * i + 4] = pid.to_bytes(4, "little")
        count._obj.value = len(self.pids)
        return 0


class Nvml(unittest.TestCase):
    def test_reads_clocks_power_and_reasons(self):
        gpu = nvml.Nvml(0, "12ab", NvmlLibrary([]))
        self.assertEqual(gpu.lib.asked, b"GPU-12ab")
        self.assertAlmostEqual(gpu.power_w(), 350.5)
        self.assertEqual(gpu.reading(), {"sm_mhz": 1200, "sm_max_mhz": 1980,
                                         "throttle": ["power", "thermal"], "processes": []})

    def test_reads_energy_and_the_power_of_the_memory(self):
        gpu = nvml.Nvml(0, "1", NvmlLibrary([]))
        self.assertAlmostEqual(gpu.energy_j(), 123.456)
        self.assertAlmostEqual(gpu.memory_w(), 40.5)
        gpu.lib.field_status = 3  # not supported by this board
        self.assertIsNone(gpu.memory_w())
        self.assertIsNone(gpu.celsius())  # a driver without the function

    def test_only_others_processes_count(self):
        of = lambda *pids: nvml.Nvml(0, "1", NvmlLibrary(pids)).reading()["processes"]
        self.assertEqual(of(os.getpid()), [])
        self.assertEqual(of(os.getpid(), 7), [7])
        self.assertEqual(of(7), [])  # a container's number for us
        self.assertEqual(of(7, 8), [7, 8])

    def test_without_an_id_the_index_counts_unless_gpus_are_hidden(self):
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            self.assertEqual(nvml.Nvml(3, None, NvmlLibrary([])).lib.asked, 3)
            os.environ["CUDA_VISIBLE_DEVICES"] = "5"
            self.assertEqual(nvml.Nvml(0, None, NvmlLibrary([])).reading(), {})


class Gpu:
    """A GPU for `sweep.sweep`: every call takes 10 us; what it reads and when it dies is given."""

    version = "2.5"

    def __init__(self, idle=None, loaded=None, dies_after=None, times=None):
        self.idle, self.loaded = idle or {}, loaded or {}
        self.left, self.times = dies_after, iter(times or [])

    def dtypes(self):
        return ["float32"]

    def facts(self):
        return {"name": "G"}

    def reading(self):
        return self.idle

    def reading_under_load(self, call):
        return self.loaded

    def release(self):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def time(self, calls, graph=True):
        t = next(self.times, 10.0)
        return t, "graph", [t] * 3, 100.0

    def steady(self, calls, duty=1):
        return 10.0, "graph", 300.0, 300.0, 90.0, 1980, 50, duty

    def pause(self):
        return 70.0, 70.0, 30.0, 345, 30

    def bandwidth(self):
        return 1e12

    def launch_us(self):
        return 4.0, 2.0


class Whole(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        no_disk = unittest.mock.patch("os.fsync")  # thousands of rows
        no_disk.start()
        self.addCleanup(no_disk.stop)
        self.out = folder.name

    def sweep(self, gpu, *flags, fails=()):
        def build(table, row, device):
            if row.get("op") in fails:
                raise AttributeError(f"this torch has no {row['op']}")
            return [lambda: None], "k"
        kernels = types.SimpleNamespace(build=build)
        whole = types.SimpleNamespace(measure=lambda row, device: dict.fromkeys(plan.MEASURED, 1))
        o = sweep.parse(["--system", "g", "--out", self.out, *flags])
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return sweep.sweep(o, gpu, kernels, {"composition": whole, "training": whole})

    def facts(self):
        with open(os.path.join(self.out, "device.json"), encoding="utf-8") as f:
            return json.load(f)

    def lines(self, table):
        with open(os.path.join(self.out, table + ".csv"), encoding="utf-8") as f:
            return len(f.read().splitlines()) - 1

    def test_all_tables_are_written(self):
        self.assertEqual(self.sweep(Gpu()), 0)
        self.assertEqual(self.facts()["state"], {"sound": True, "problems": []})
        for name, rows in plan.points(["float32"]).items():
            self.assertEqual(self.lines(name), len(rows), name)

    def test_interrupted_it_goes_on_and_says_so_until_then(self):
        self.assertEqual(self.sweep(Gpu(), "--minutes", "0"), 0)
        self.assertEqual(self.facts()["state"]["problems"], ["not finished"])
        self.assertEqual(self.sweep(Gpu(), "--tables", "moe"), 0)
        self.assertEqual(self.lines("moe"), len(plan.points(["float32"])["moe"]))
        self.assertEqual(self.sweep(Gpu(), "--tables", "moe"), 0)
        self.assertEqual(self.lines("moe"), len(plan.points(["float32"])["moe"]))

    def test_a_shared_or_hot_gpu_is_refused(self):
        for gpu in (Gpu(idle={"used_share": 0.5}), Gpu(idle={"processes": [7, 8]}),
                    Gpu(loaded={"throttle": ["thermal"]})):
            with self.assertRaises(SystemExit):
                self.sweep(gpu)
            self.assertEqual(os.listdir(self.out), [])
        self.assertEqual(self.sweep(Gpu(loaded={"throttle": ["thermal"]}), "--allow-bad-state",
                                    "--tables", "moe"), 1)
        self.assertIn("thermal", self.facts()["state"]["problems"][0])
        # A sound continuation does not make the earlier rows sound.
        self.assertEqual(self.sweep(Gpu(), "--tables", "moe"), 1)
        self.assertFalse(self.facts()["state"]["sound"])

    def test_drift_of_the_reference_is_unsound(self):
        n = len(plan.points(["float32"])["optimizer"])
        gpu = Gpu(times=[10.0] * (n + 1) + [13.0])
        self.assertEqual(self.sweep(gpu, "--tables", "optimizer"), 1)
        self.assertIn("+30 %", self.facts()["state"]["problems"][0])

    def test_what_this_torch_has_not_is_left_out(self):
        self.assertEqual(self.sweep(Gpu(), "--tables", "elementwise", fails=("rotary",)), 0)
        rows = plan.points(["float32"])["elementwise"]
        self.assertEqual(self.lines("elementwise"), sum(r["op"] != "rotary" for r in rows))

    def test_a_gpu_that_fails_ends_the_sweep(self):
        self.assertEqual(self.sweep(Gpu(dies_after=4), "--tables", "gemm,moe"), 1)
        self.assertEqual(self.lines("gemm"), 5)
        self.assertIn("illegal memory access", self.facts()["state"]["problems"][0])

    def test_another_gpus_folder_is_refused(self):
        self.sweep(Gpu(), "--tables", "moe")
        other = Gpu()
        other.facts = lambda: {"name": "H"}
        with self.assertRaises(SystemExit):
            self.sweep(other, "--tables", "moe")


def torch_is_new():
    try:
        import torch
    except ImportError:
        return False
    return [int(n) for n in torch.__version__.split(".")[:2]] >= [2, 5]


@unittest.skipUnless(torch_is_new(), "needs torch 2.5")
class Rehearsal(unittest.TestCase):
    def test_every_call_runs(self):
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
            with unittest.mock.patch("sys.argv", ["sweep", "--system", "g", "--out", out,
                                                  "--rehearsal"]):
                self.assertEqual(sweep.main(), 0)
            with open(os.path.join(out, "device.json"), encoding="utf-8") as f:
                self.assertTrue(json.load(f)["rehearsal"])


if __name__ == "__main__":
    unittest.main()
