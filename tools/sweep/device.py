"""The GPU: identity, clocks, power, and how a call is timed. Needs torch (CUDA or ROCm)."""

import ctypes
import statistics
import time

import torch

NVML_REASONS = {0x4: "power", 0x8: "hw_slowdown", 0x20: "thermal", 0x40: "thermal",
                0x80: "power brake"}


class Nvml:
    """The few calls of NVML that the sweep needs, by ctypes; absent on other makers' machines."""

    def __init__(self, index):
        self.handle = None
        try:
            self.lib = ctypes.CDLL("libnvidia-ml.so.1")
            if self.lib.nvmlInit_v2() != 0:
                return
            handle = ctypes.c_void_p()
            bus = getattr(torch.cuda.get_device_properties(index), "pci_bus_id", None)
            properties = torch.cuda.get_device_properties(index)
            if bus is not None:
                name = f"{properties.pci_domain_id:08x}:{bus:02x}:{properties.pci_device_id:02x}.0"
                status = self.lib.nvmlDeviceGetHandleByPciBusId_v2(name.encode(),
                                                                  ctypes.byref(handle))
            else:
                status = self.lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
            self.handle = handle if status == 0 else None
        except OSError:
            pass

    def _uint(self, function, *arguments):
        value = ctypes.c_uint()
        status = getattr(self.lib, function)(self.handle, *arguments, ctypes.byref(value))
        return value.value if status == 0 else None

    def power_w(self):
        milliwatts = self._uint("nvmlDeviceGetPowerUsage") if self.handle else None
        return None if milliwatts is None else milliwatts / 1000

    def reading(self):
        if not self.handle:
            return {}
        out = {}
        sm = 1  # NVML_CLOCK_SM
        for name, value in [("sm_mhz", self._uint("nvmlDeviceGetClockInfo", sm)),
                            ("sm_max_mhz", self._uint("nvmlDeviceGetMaxClockInfo", sm)),
                            ("power_limit_mw", self._uint("nvmlDeviceGetEnforcedPowerLimit"))]:
            if value is not None:
                out[name] = value
        reasons = ctypes.c_ulonglong()
        if self.lib.nvmlDeviceGetCurrentClocksThrottleReasons(self.handle,
                                                              ctypes.byref(reasons)) == 0:
            out["throttle"] = sorted({text for bit, text in NVML_REASONS.items()
                                      if reasons.value & bit})
        busy = (ctypes.c_uint * 2)()
        if self.lib.nvmlDeviceGetUtilizationRates(self.handle, ctypes.byref(busy)) == 0:
            out["used_share"] = busy[0] / 100
        count = ctypes.c_uint(64)
        entries = (ctypes.c_ubyte * (24 * 64))()  # nvmlProcessInfo_t: pid first, 24 bytes each
        if self.lib.nvmlDeviceGetComputeRunningProcesses_v3(self.handle, ctypes.byref(count),
                                                            entries) == 0:
            pids = [int.from_bytes(bytes(entries[24 * i:24 * i + 4]), "little")
                    for i in range(count.value)]
            # A container numbers its own processes differently: with one process we are it.
            out["processes"] = pids if len(pids) > 1 else []
        return out


class Device:
    """`budget_s`: how long one point may be timed."""

    def __init__(self, index=0, budget_s=0.06):
        if not torch.cuda.is_available():
            raise SystemExit("torch sees no GPU (neither CUDA nor ROCm)")
        torch.cuda.set_device(index)
        self.index, self.budget_s = index, budget_s
        self.properties = torch.cuda.get_device_properties(index)
        self.nvml = Nvml(index)
        self.l2 = getattr(self.properties, "L2_cache_size", 0) or 50 * 2**20
        self.version = torch.__version__
        self.is_rocm = torch.version.hip is not None

    def dtypes(self):
        out = ["bfloat16"] if torch.cuda.is_bf16_supported() else ["float16"]
        major, minor = torch.cuda.get_device_capability(self.index)
        if hasattr(torch, "_scaled_mm") and not self.is_rocm and (major, minor) >= (8, 9):
            out.append("fp8")
        return out + ["float32"]

    def facts(self):
        p = self.properties
        return {"name": p.name, "memory_bytes": p.total_memory, "l2_bytes": self.l2,
                "compute_units": p.multi_processor_count, "torch": self.version,
                "cuda": torch.version.cuda, "hip": torch.version.hip}

    def reading(self):
        torch.cuda.synchronize()
        return self.nvml.reading()

    def _events(self, call, repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(repeats):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / repeats

    def graph_of(self, calls):
        """The calls captured one after the other in a graph; None if they cannot be captured."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):
                for call in calls:
                    call()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for call in calls:
                    call()
            return graph
        except RuntimeError:
            torch.cuda.synchronize()
            return None

    def time(self, calls, graph=True):
        """Microseconds of one call, of several that do the same on other operands: median of some
        replays of a graph; how it was timed ("graph" or "eager"); the replays; watts or ''."""
        captured = self.graph_of(calls) if graph else None
        each = captured.replay if captured else lambda: [call() for call in calls]
        n = len(calls)
        for _ in range(2):
            each()
        once = max(self._events(each, 1), 1.0)
        inner = max(1, min(50, int(self.budget_s * 1e6 / 7 / once)))
        times, watts, begun = [], [], time.monotonic()
        while len(times) < 3 or (len(times) < 7 and time.monotonic() - begun < self.budget_s):
            times.append(self._events(each, inner) / n)
            power = self.nvml.power_w()
            if power is not None:
                watts.append(power)
        return (statistics.median(times), "graph" if captured else "eager", times,
                round(statistics.mean(watts), 1) if watts else "")

    def bandwidth(self):
        """Bytes a second that a copy of 1 GiB reads and writes."""
        a = torch.empty(2**30, dtype=torch.uint8, device="cuda")
        b = torch.empty_like(a)
        return 2 * 2**30 / (self.time([lambda: b.copy_(a)])[0] * 1e-6)

    def launch_us(self):
        """Host time to launch a kernel, and time of one inside a replayed graph."""
        x = torch.zeros(1, device="cuda")
        for _ in range(100):
            x.add_(1)
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(1000):
            x.add_(1)
        host = (time.perf_counter() - begun) * 1e3
        torch.cuda.synchronize()
        graph = self.graph_of([lambda: x.add_(1)] * 100)
        replayed = self._events(graph.replay, 20) / 100 if graph else None
        return host, replayed
