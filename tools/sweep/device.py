"""The GPU: identity, clocks, power, and how a call is timed. Needs torch (CUDA or ROCm)."""

import statistics
import time

import torch

import nvml
import power

GRAPH_US = 300  # of work in a graph, at least
BURST_US, SHORT_BURST_US = 10000, 2000  # of work between readings of power, and between pauses


class Device:
    """`budget_s`: how long one point may be timed. All work is launched on one stream that is not
    the default one: a graph can then capture gradients too, whose kernels run on the stream that
    the forward pass ran on."""

    def __init__(self, index=0, budget_s=0.06):
        if not torch.cuda.is_available():
            raise SystemExit("torch sees no GPU (neither CUDA nor ROCm)")
        torch.cuda.set_device(index)
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)
        self.index, self.budget_s = index, budget_s
        self.properties = torch.cuda.get_device_properties(index)
        self.nvml = nvml.Nvml(index, getattr(self.properties, "uuid", None))
        self.l2 = getattr(self.properties, "L2_cache_size", 0) or 50 * 2**20
        self.version = torch.__version__
        self.is_rocm = torch.version.hip is not None
        self.fp8 = self._fp8()

    def _fp8(self):
        """The 8-bit format that the GPU multiplies, or None."""
        if not hasattr(torch, "_scaled_mm"):
            return None
        if self.is_rocm:
            name = getattr(self.properties, "gcnArchName", "")
            return (torch.float8_e4m3fnuz if name.startswith("gfx94")
                    else torch.float8_e4m3fn if name.startswith(("gfx95", "gfx12")) else None)
        capable = torch.cuda.get_device_capability(self.index) >= (8, 9)
        return torch.float8_e4m3fn if capable else None

    def dtypes(self):
        # torch.cuda.is_bf16_supported() is true where bf16 is emulated, too.
        bf16 = self.is_rocm or torch.cuda.get_device_capability(self.index) >= (8, 0)
        return ["bfloat16" if bf16 else "float16"] + (["fp8"] if self.fp8 else []) + ["float32"]

    def facts(self):
        p = self.properties
        return {"name": p.name, "memory_bytes": p.total_memory, "l2_bytes": self.l2,
                "compute_units": p.multi_processor_count, "torch": self.version,
                "cuda": torch.version.cuda, "hip": torch.version.hip}

    def reading(self):
        torch.cuda.synchronize()
        return self.nvml.reading()

    def reading_under_load(self, call, milliseconds=200):
        """NVML's reading while `call` runs again and again."""
        once = max(self._events(call, 2), 1.0)
        for _ in range(int(milliseconds * 1e3 / once)):
            call()
        time.sleep(milliseconds / 2e3)
        reading = self.nvml.reading()
        torch.cuda.synchronize()
        reading.pop("used_share", None)  # it is us
        return reading

    def release(self):
        """Frees memory after a row. RuntimeError: the GPU does not answer any more."""
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def _events(self, call, repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(repeats):
            call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / repeats

    def graph_of(self, calls):
        """The calls captured one after the other in a graph; None if they cannot be captured. They
        must have run before: what a first call sets up cannot be captured."""
        torch.cuda.synchronize()
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream):
                for call in calls:
                    call()
            return graph
        except RuntimeError:
            torch.cuda.synchronize()
            return None

    def time(self, calls, graph=True):
        """Microseconds of one call, of several that do the same on other operands: median of some
        replays of a graph; how it was timed ("graph" or "eager"); the replays; watts or ''."""
        run = lambda: [call() for call in calls]
        run()
        once = max(self._events(run, 2), 1.0)
        # A replay takes the host some 10 us: short calls stand in the graph several times.
        in_graph = calls * max(1, min(64, int(GRAPH_US / once)))
        captured = self.graph_of(in_graph) if graph else None
        each, n = (captured.replay, len(in_graph)) if captured else (run, len(calls))
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

    def steady(self, calls, duty=1.0, captured=True, settle_s=1.5, seconds=1.2):
        """Repeats the calls until the board's power is steady, and then for `seconds`. Below a duty
        of 1, bursts of some milliseconds alternate with pauses, so that the GPU works that share of
        the time. (microseconds of a call, how it was timed, watts, W of NVML's own mean, watts of
        the memory, MHz, Celsius, share of the time that the GPU was busy)"""
        run = lambda: [call() for call in calls]
        run()
        once = max(self._events(run, 2), 1.0)
        burst = BURST_US if duty == 1 else SHORT_BURST_US
        in_graph = calls * max(1, min(512, int(0.5 * burst / once)))
        graph = self.graph_of(in_graph) if captured else None
        each, n = (graph.replay, len(in_graph)) if graph else (run, len(calls))
        each()
        inner = max(1, round(burst / max(self._events(each, 1), 1.0)))
        busy, done, readings, before = 0.0, 0, [], None
        begun = time.monotonic()
        while (now := time.monotonic()) < begun + settle_s + seconds:
            event = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            event[0].record()
            for _ in range(inner):
                each()
            event[1].record()
            # The GPU has a burst in hand while the host reads: the burst before is waited for.
            last, before = (event, None) if duty < 1 else (before, event)
            if last is None:
                continue
            last[1].synchronize()
            took = last[0].elapsed_time(last[1]) * 1e3
            if duty < 1:
                time.sleep(took * 1e-6 * (1 / duty - 1))
            if now > begun + settle_s:
                busy, done = busy + took, done + inner * n
                readings.append(self._power_reading())
        torch.cuda.synchronize()
        steady = power.steady_reading(readings)
        elapsed = readings[-1][0] - readings[0][0]
        return (busy / done, "graph" if graph else "eager", *steady,
                min(1.0, busy * 1e-6 * (1 - 1 / len(readings)) / elapsed))

    def kernels_of(self, call):
        """Microseconds of the kernels of a call, by their names, as torch's profiler reads them."""
        kind = torch.profiler.ProfilerActivity
        call()
        torch.cuda.synchronize()
        with torch.profiler.profile(activities=[kind.CUDA, kind.CPU]) as profile:
            call()
            torch.cuda.synchronize()
        spans = {}
        for event in profile.events():
            if (event.device_type == torch.autograd.DeviceType.CUDA
                    and not event.name.startswith(("##", "Torch-Compiled"))):  # annotations
                spans[event.name] = spans.get(event.name, 0.0) + event.time_range.elapsed_us()
        return spans

    def _power_reading(self):
        n = self.nvml
        return (time.monotonic(), n.energy_j(), n.power_w(), n.memory_w(), n.sm_mhz(), n.celsius())

    def pause(self, seconds=1.5):
        """power.steady_reading of a GPU that holds a program and runs nothing."""
        torch.cuda.synchronize()
        time.sleep(0.8)
        readings, begun = [], time.monotonic()
        while time.monotonic() < begun + seconds:
            readings.append(self._power_reading())
            time.sleep(0.02)
        return power.steady_reading(readings)

    def bandwidth(self):
        """Bytes a second that a copy of 1 GiB reads and writes."""
        a = torch.empty(2**30, dtype=torch.uint8, device="cuda")
        b = torch.empty_like(a)
        return 2 * 2**30 / (self.time([lambda: b.copy_(a)])[0] * 1e-6)

    def launch_us(self):
        """Host time to launch a kernel, and time of one inside a replayed graph."""
        x = torch.zeros(1, device="cuda")
        self._events(lambda: x.add_(1), 100)
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(1000):
            x.add_(1)
        host = (time.perf_counter() - begun) * 1e3
        torch.cuda.synchronize()
        graph = self.graph_of([lambda: x.add_(1)] * 100)
        replayed = self._events(graph.replay, 20) / 100 if graph else None
        return host, replayed


class Rehearsal:
    """The CPU in place of a GPU: shows that every call runs. Its times mean nothing."""

    l2, is_rocm, fp8 = 2**20, False, None

    def __init__(self):
        self.version = torch.__version__

    def dtypes(self):
        return ["float32"]

    def facts(self):
        return {"name": "cpu", "rehearsal": True, "torch": self.version}

    def reading(self):
        return {}

    def reading_under_load(self, call):
        call()
        return {}

    def release(self):
        pass

    def time(self, calls, graph=True):
        calls[0]()
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            calls[-1]()
            times.append((time.perf_counter() - begun) * 1e6)
        return statistics.median(times), "graph" if graph else "eager", times, ""

    def steady(self, calls, duty=1.0, captured=True):
        return self.time(calls)[0], "graph", "", "", "", "", "", duty

    def kernels_of(self, call):
        call()
        return {"cpu": 1.0}

    def pause(self):
        return "", "", "", "", ""

    def bandwidth(self):
        return 0.0

    def launch_us(self):
        return 0.0, None
