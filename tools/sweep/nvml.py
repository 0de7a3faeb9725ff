"""Clocks, power and processes of an NVIDIA GPU. Pure Python."""

import ctypes
import os

REASONS = {0x4: "power", 0x8: "hw_slowdown", 0x20: "thermal", 0x40: "thermal", 0x80: "power brake"}


class _Field(ctypes.Structure):
    """nvmlFieldValue_t, for a value that is an unsigned integer."""
    _fields_ = [("fieldId", ctypes.c_uint), ("scopeId", ctypes.c_uint),
                ("timestamp", ctypes.c_longlong), ("latencyUsec", ctypes.c_longlong),
                ("valueType", ctypes.c_uint), ("status", ctypes.c_uint),
                ("value", ctypes.c_uint), ("_rest", ctypes.c_uint)]


class Nvml:
    """The few calls of NVML that the sweep needs, by ctypes; without a handle on other makers'
    machines, and where it cannot be told which of NVML's GPUs torch uses. `uuid`: of the GPU, where
    torch tells it; else `index` counts."""

    def __init__(self, index, uuid, lib=None):
        self.handle, self.lib = None, lib
        try:
            self.lib = lib or ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        handle = ctypes.c_void_p()
        if self.lib.nvmlInit_v2() != 0:
            return
        if uuid is not None:
            name = str(uuid)
            name = name if name.startswith("GPU-") else "GPU-" + name
            status = self.lib.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle))
        elif "CUDA_VISIBLE_DEVICES" not in os.environ:
            status = self.lib.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
        else:
            return
        self.handle = handle if status == 0 else None

    def _uint(self, function, *arguments):
        value = ctypes.c_uint()
        return value.value if self._call(function, *arguments, ctypes.byref(value)) else None

    def _call(self, function, *arguments):
        """Whether NVML answered; a driver may be older than the function."""
        try:
            return getattr(self.lib, function)(self.handle, *arguments) == 0
        except AttributeError:
            return False

    def power_w(self):
        milliwatts = self._uint("nvmlDeviceGetPowerUsage") if self.handle else None
        return None if milliwatts is None else milliwatts / 1000

    def energy_j(self):
        """Joules of the board since the driver was loaded; the counter moves some times a second."""
        value = ctypes.c_ulonglong()
        told = self.handle and self._call("nvmlDeviceGetTotalEnergyConsumption", ctypes.byref(value))
        return value.value / 1000 if told else None

    def memory_w(self):
        """Power of the memory alone, NVML's own mean; few boards tell it."""
        field = _Field(fieldId=185, scopeId=2)  # NVML_FI_DEV_POWER_AVERAGE, NVML_POWER_SCOPE_MEMORY
        told = self.handle and self._call("nvmlDeviceGetFieldValues", 1, ctypes.byref(field))
        return field.value / 1000 if told and field.status == 0 else None

    def sm_mhz(self):
        return self._uint("nvmlDeviceGetClockInfo", 1) if self.handle else None

    def celsius(self):
        return self._uint("nvmlDeviceGetTemperature", 0) if self.handle else None

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
        if self._call("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.byref(reasons)):
            out["throttle"] = sorted({text for bit, text in REASONS.items()
                                      if reasons.value & bit})
        busy = (ctypes.c_uint * 2)()
        if self._call("nvmlDeviceGetUtilizationRates", busy):
            out["used_share"] = busy[0] / 100
        count = ctypes.c_uint(64)
        entries = (ctypes.c_ubyte * (24 * 64))()  # nvmlProcessInfo_t: pid first, 24 bytes each
        if self._call("nvmlDeviceGetComputeRunningProcesses_v3", ctypes.byref(count), entries):
            pids = [int.from_bytes(bytes(entries[24 * i:24 * i + 4]), "little")
                    for i in range(count.value)]
            # A container numbers its own processes differently: with one process we are it.
            if os.getpid() in pids:
                pids.remove(os.getpid())
            elif len(pids) == 1:
                pids = []
            out["processes"] = pids
        return out
