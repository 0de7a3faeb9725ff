"""Fifteen cells as a notebook has them. Run by the tests, and by ./dev package in a fresh venv."""

# %% 1: the module
import orrery

# %% 2: one question
answer = orrery.estimate(model="llama-3-70b", gpu="h100-sxm", tp=8, isl=1024, osl=128)
print(answer)

# %% 3: a figure with its interval
low, high = answer.tpot.interval90
assert low < answer.tpot.value < high and answer.tpot.unit == "ms"

# %% 4: the kernels that take the time
largest = max(answer.kernels, key=lambda k: k.share)
print(largest.phase, largest.name, largest.time_us)

# %% 5: a sweep
sweep = orrery.estimate(model="llama-3-8b", gpu=["h100-sxm", "a100-80g-sxm"], batch="1-64*4")
assert len(sweep) == 8

# %% 6: a table
rows = sweep.rows()
assert {"gpu", "batch", "tpot", "tpot_low90"} <= set(rows[0])

# %% 7: what a notebook shows
assert sweep._repr_html_().count("<tr>") == 9 and "<svg" in answer._repr_html_()

# %% 8: does it fit?
fit = orrery.memory(model="llama-3-70b", gpu="h100-sxm", tp=[1, 2, 4])
print([(p.tp, p.fits) for p in fit])
assert not fit[0].fits and fit[2].fits

# %% 9: a service under load
service = orrery.simulate(model="llama-3-8b", gpu="h100-sxm", rate=[1, 8], requests=60, isl=512,
                          osl=64, slo="ttft:p99:1s")
assert service[0].ttft.value <= service[1].ttft.value * 1.5

# %% 10: a training job
job = orrery.train(model="llama-3-8b", gpu="h100-sxm", gpus=64, seq=8192, stack="fsdp")
print(job.points[0])

# %% 11: a kernel, a collective, a phone
gemm = orrery.kernel("gemm", gpu="h100-sxm", m=[1, 1024], n=8192, k=8192)
ring = orrery.network("all-reduce", gpu="h100-sxm", gpus=8, bytes="1G")
phone = orrery.edge("mobilenet_v2", "raspberry-pi-5")
assert gemm[0].time.value < gemm[1].time.value and ring.time.value > 0
assert phone.latency.value > 0

# %% 12: a plan
plan = orrery.plan(model="llama-3-8b", gpu="h100-sxm,l40s", rate=2, isl=512, osl=64, requests=60,
                   slo="tpot:60ms")
print(plan.points[0])

# %% 13: a scenario as a dict, and its file
scenario = answer.configuration
assert orrery.run({"model": "llama-3-8b", "hardware": {"gpu": "h100-sxm"}}).fits
assert scenario["model"] == "llama-3-70b"

# %% 14: errors say what to do
try:
    orrery.estimate(model="llama-3-70", gpu="h100-sxm")
except orrery.InputError as e:
    message = str(e)
assert "did you mean" in message

# %% 15: threads
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(4) as workers:
    found = list(workers.map(
        lambda tp: orrery.estimate(model="llama-3-8b", gpu="h100-sxm", tp=tp).tpot.value, [1, 2, 4]))
assert found[0] > found[2]
print("15 cells ran")
