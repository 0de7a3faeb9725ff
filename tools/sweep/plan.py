"""What the sweep measures: tables, their columns and the points of each. Pure Python, no torch.

The columns are those of the tables that `orrery fit kernels` reads (docs/kernels.md), so that a
folder written here is fitted like any other. Backward kernels and the optimizer have tables of
their own.
"""

import itertools
import random

COMMON = ["system", "framework", "version", "kernel_source"]
COLUMNS = {
    "gemm": COMMON + ["dtype", "m", "n", "k", "latency_us", "power_w"],
    # m, n, k are the sizes of the forward product. `gradient` is input ([m, n] x [n, k]) or weight
    # ([n, m] x [m, k]).
    "gemm_backward": COMMON + ["dtype", "gradient", "m", "n", "k", "latency_us", "power_w"],
    "attention_prefill": COMMON
    + ["attn_dtype", "kv_dtype", "batch", "heads", "kv_heads", "head_dim", "window", "isl", "past"]
    + ["latency_us", "power_w"],
    "attention_backward": COMMON
    + ["attn_dtype", "kv_dtype", "batch", "heads", "kv_heads", "head_dim", "window", "isl", "past"]
    + ["latency_us", "power_w"],
    "attention_decode": COMMON
    + ["attn_dtype", "kv_dtype", "batch", "heads", "kv_heads", "head_dim", "window", "kv_len"]
    + ["latency_us", "power_w"],
    "moe": COMMON
    + ["dtype", "hidden", "inter", "topk", "experts", "tp", "ep", "distribution", "tokens"]
    + ["latency_us", "power_w"],
    "elementwise": COMMON + ["op", "dtype", "rows", "width", "latency_us", "power_w"],
    "elementwise_backward": COMMON + ["op", "dtype", "rows", "width", "latency_us", "power_w"],
    "optimizer": COMMON + ["op", "state", "parameters", "latency_us", "power_w"],
    # Products of several experts in one kernel. `gradient` is none (forward) or weight; m counts the
    # rows of all groups.
    "grouped_gemm": COMMON + ["dtype", "gradient", "groups", "m", "n", "k", "latency_us", "power_w"],
    "expert_activation": COMMON + ["dtype", "gradient", "rows", "width", "latency_us", "power_w"],
    # A kernel that repeats until the board's power is steady. `op` is its table, `shape` what that
    # table's columns say, `data` what its matrices hold and `duty` the share of the time in which
    # the GPU is meant to work; `busy` is what it came to.
    "power": COMMON + ["op", "dtype", "shape", "data", "duty", "latency_us", "power_w", "nvml_w",
                       "memory_w", "sm_mhz", "celsius", "busy"],
    "training": COMMON
    + ["run", "recompute", "layers", "hidden", "inter", "heads", "kv_heads", "vocab", "batch",
       "tokens", "latency_us", "forward_us", "kernels_us", "products_us", "attention_us",
       "attention_backward_us", "elementwise_us", "host_us", "power_w", "memory_w", "sm_mhz",
       "celsius"],
    "composition": COMMON
    + ["mode", "run", "layers", "hidden", "heads", "batch", "tokens"]
    + ["latency_us", "kernels_us", "power_w"],
}
# Columns that are measured. They are no part of the identity of a row.
MEASURED = {"latency_us", "forward_us", "kernels_us", "products_us", "attention_us",
            "attention_backward_us", "elementwise_us", "host_us", "power_w", "nvml_w", "memory_w",
            "sm_mhz", "celsius", "busy", "version", "kernel_source", "system"}

ELEMENTWISE_OPS = ["add", "silu_mul", "rms_norm", "layer_norm", "softmax", "rotary", "copy",
                   "embedding"]
BACKWARD_OPS = ["silu_mul", "rms_norm", "layer_norm", "softmax"]


def key(table, row):
    """What identifies a row of a table: its columns that are not measured, as text."""
    return tuple(str(row[c]) for c in COLUMNS[table] if c not in MEASURED)


def _rows(table, dtype_column, dtype, names, products, **fixed):
    for values in products:
        row = {"framework": "pytorch", dtype_column: dtype, **fixed}
        row.update(zip(names, values))
        yield row


def gemm_points(dtypes):
    """Shapes on a grid that covers the layers of models from 0.5 to 400 billion parameters."""
    rows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
    shapes = [(256, 2048), (1024, 1024), (2048, 2048), (1536, 7168), (4096, 4096), (6144, 4096),
              (4096, 14336), (28672, 4096), (8192, 8192), (1024, 8192), (8192, 1024),
              (7168, 2048), (2048, 7168), (57344, 8192), (8192, 28672), (32000, 4096),
              (128256, 4096), (128, 4096), (4096, 128), (12288, 1536)]
    for dtype in dtypes:
        # fp32 products take ten times as long: those of long prompts are left out.
        most = 2**40 if dtype == "float32" else 2**43
        products = [(m, n, k) for (n, k), m in itertools.product(shapes, rows)
                    if m * n * k <= most]
        yield from _rows("gemm", "dtype", dtype, ["m", "n", "k"], products)


def gemm_backward_points(dtypes):
    shapes = [(4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336), (8192, 8192),
              (1024, 4096), (32000, 4096), (2048, 2048), (2048, 768)]
    for dtype, gradient in itertools.product(dtypes, ["input", "weight"]):
        most = 2**39 if dtype == "float32" else 2**42
        products = [(m, n, k)
                    for (n, k), m in itertools.product(shapes, [256, 512, 1024, 2048, 4096, 8192,
                                                                16384])
                    if m * n * k <= most]
        yield from _rows("gemm_backward", "dtype", dtype, ["m", "n", "k"], products,
                         gradient=gradient)


# Heads, kv heads, size: at least two of every size, so that each has the rows that a fit needs.
HEADS = [(32, 8, 128), (64, 8, 128), (16, 16, 128), (8, 1, 128), (32, 32, 64), (32, 8, 64),
         (8, 2, 256), (16, 8, 256)]


def _attention(table, tokens, batches, dtype, most_tokens, length, framework="pytorch"):
    for (heads, kv_heads, dim), batch, n in itertools.product(HEADS, batches, tokens):
        if batch * n > most_tokens:
            continue
        row = {"framework": framework, "attn_dtype": dtype, "kv_dtype": dtype, "batch": batch,
               "heads": heads, "kv_heads": kv_heads, "head_dim": dim, "window": 0, length: n}
        if length == "isl":
            row["past"] = 0
        yield row


def attention_prefill_points(dtype):
    tokens = [1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]
    yield from _attention("attention_prefill", tokens, [1, 4, 16, 64], dtype, 65536, "isl")
    for backend in ["cudnn", "flash"]:
        yield from _attention("attention_prefill", [1024, 4096, 16384], [1, 4], dtype, 65536, "isl",
                              backend)


def attention_backward_points(dtype):
    tokens = [256, 512, 1024, 2048, 4096, 8192, 16384]
    yield from _attention("attention_backward", tokens, [1, 4, 16, 64], dtype, 32768, "isl")
    for backend in ["cudnn", "flash"]:
        yield from _attention("attention_backward", [1024, 4096, 16384], [1, 4], dtype, 32768, "isl",
                              backend)


def attention_decode_points(dtype):
    contexts = [16, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768, 131072]
    yield from _attention("attention_decode", contexts, [1, 4, 16, 64], dtype, 2**20, "kv_len")


def moe_points(dtype):
    layers = [(4096, 14336, 2, 8), (2048, 768, 8, 128), (7168, 2048, 8, 64), (5120, 1536, 6, 160)]
    for (hidden, inter, topk, experts), tokens in itertools.product(
            layers, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]):
        yield {"framework": "pytorch", "dtype": dtype, "hidden": hidden, "inter": inter,
               "topk": topk, "experts": experts, "tp": 1, "ep": 1, "distribution": "balanced",
               "tokens": tokens}


def elementwise_points(dtype, table="elementwise"):
    ops = ELEMENTWISE_OPS if table == "elementwise" else BACKWARD_OPS
    for op, rows, width in itertools.product(ops, [1, 16, 64, 256, 1024, 4096, 16384, 65536],
                                             [256, 1024, 2048, 4096, 6144, 8192, 14336]):
        yield {"framework": "pytorch", "op": op, "dtype": dtype, "rows": rows, "width": width}


def optimizer_points():
    sizes = [round(10 ** (e / 2)) for e in range(8, 18)] + [5 * 10**8]  # 10^4 to 5 10^8
    for state, parameters in itertools.product(["fp32", "bf16"], sizes):
        yield {"framework": "pytorch", "op": "adam_fused", "state": state,
               "parameters": parameters}


def grouped_gemm_points(dtypes):
    """Experts of mixtures of 20 to 670 billion parameters on one rank."""
    experts = [(28672, 4096), (4096, 14336), (1536, 2048), (2048, 768), (4096, 7168), (7168, 2048),
               (5760, 2880), (2880, 2880), (3072, 3072)]
    kinds = [("bfloat16", "none"), ("bfloat16", "weight"), ("fp8", "none")]
    for dtype, gradient in kinds:
        if dtype not in dtypes:
            continue
        products = [(groups, m, n, k) for (n, k), groups, m in itertools.product(
            experts, [1, 4, 16, 64], [4096, 16384, 65536]) if m * n * k <= 2**42]
        yield from _rows("grouped_gemm", "dtype", dtype, ["groups", "m", "n", "k"], products,
                         gradient=gradient)


def expert_activation_points(dtype):
    for gradient in ["none", "input"]:
        yield from _rows("expert_activation", "dtype", dtype, ["rows", "width"],
                         itertools.product([4096, 16384, 65536], [768, 2880]), gradient=gradient)


def power_points(dtypes):
    """Kernels that are bound by the arithmetic units, by the memory, by the L2 cache and by
    nothing; products of matrices whose bits toggle less; bursts, which keep a board below its limit
    at its full clock."""
    half = dtypes[0]

    def row(op, dtype, data="normal", duty=1, **shape):
        return {"framework": "pytorch", "op": op, "dtype": dtype, "data": data, "duty": duty,
                "shape": ";".join(f"{k}={v}" for k, v in shape.items())}
    product = lambda m, n, k, dtype=half, **rest: row("gemm", dtype, m=m, n=n, k=k, **rest)
    attention = lambda op, heads, kv, dim, batch, **length: row(
        op, half, attn_dtype=half, batch=batch, heads=heads, kv_heads=kv, head_dim=dim, **length)
    yield row("nothing", "")
    yield row("launches", "")
    big = {"m": 8192, "n": 8192, "k": 8192}
    for data, duty in itertools.product(["normal", "half", "tenth", "signs", "zeros"], [1, 0.1]):
        yield product(**big, data=data, duty=duty)
    for dtype, duty in itertools.product(dtypes[1:], [1, 0.1]):
        yield product(**big, dtype=dtype, duty=duty)
    for dtype in dtypes[:2]:
        for m, n, k in [(16384, 28672, 4096), (4096, 4096, 4096), (2048, 2048, 2048),
                        (1024, 1024, 1024), (8192, 1024, 8192), (1024, 8192, 8192),
                        (512, 8192, 8192), (256, 8192, 8192), (128, 8192, 8192), (64, 8192, 8192),
                        (16, 8192, 8192), (1, 8192, 8192), (1, 4096, 4096), (256, 4096, 4096),
                        (8192, 128, 8192), (4096, 32000, 4096), (16, 128256, 4096),
                        (256, 1024, 1024)]:
            yield product(m, n, k, dtype)
    for m, n, k in [(4096, 4096, 4096), (512, 8192, 8192), (64, 8192, 8192), (1, 8192, 8192)]:
        yield product(m, n, k, duty=0.1)
    for tokens in [512, 1024, 2048, 4096, 16384]:
        yield attention("attention_prefill", 32, 8, 128, max(1, 16384 // tokens), isl=tokens)
        yield attention("attention_backward", 32, 8, 128, max(1, 16384 // tokens), isl=tokens)
    yield attention("attention_prefill", 32, 32, 64, 4, isl=4096)
    yield attention("attention_prefill", 32, 8, 128, 4, isl=4096, duty=0.1)
    yield attention("attention_backward", 32, 8, 128, 4, isl=4096, duty=0.1)
    for batch, length in [(1, 16384), (4, 4096), (16, 4096), (64, 1024), (64, 4096), (64, 16384)]:
        yield attention("attention_decode", 32, 8, 128, batch, kv_len=length)
    for gradient in ["input", "weight"]:
        yield row("gemm_backward", half, gradient=gradient, m=8192, n=8192, k=8192)
        yield row("gemm_backward", half, gradient=gradient, m=4096, n=4096, k=14336)
    for op, rows in itertools.product(["copy", "add", "rms_norm", "softmax", "silu_mul"],
                                      [16384, 65536]):
        yield row("elementwise", half, **{"rows": rows, "width": 8192, "which": op})
    for op, rows in itertools.product(["copy", "rms_norm"], [64, 1024]):
        yield row("elementwise", half, **{"rows": rows, "width": 4096, "which": op})
    yield row("elementwise", half, duty=0.1, **{"rows": 65536, "width": 8192, "which": "copy"})


def training_points():
    """Slices of Llama 3's 8B and of a model of 1B."""
    eight = {"hidden": 4096, "inter": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256}
    one = {"hidden": 2048, "inter": 8192, "heads": 32, "kv_heads": 8, "vocab": 128256}
    runs = [(eight, layers, 1, 8192, recompute) for recompute in ["none", "full"]
            for layers in [2, 6]]
    runs += [(eight, 6, 4, 2048, "none"), (one, 4, 2, 8192, "none"), (one, 4, 4, 2048, "none")]
    for run in ["eager", "compiled"]:
        for sizes, layers, batch, tokens, recompute in runs:
            yield {"framework": "pytorch", "run": run, "recompute": recompute, "layers": layers,
                   **sizes, "batch": batch, "tokens": tokens}


def composition_points():
    for mode, run, (batch, tokens) in itertools.product(
            ["inference", "training"], ["eager", "compiled", "graph"],
            [(1, 512), (8, 512), (2, 4096)]):
        yield {"framework": "pytorch", "mode": mode, "run": run, "layers": 4, "hidden": 2048,
               "heads": 16, "batch": batch, "tokens": tokens}


def points(dtypes):
    """All rows to measure, by table, in the order of their worth: a sweep that is cut short has
    the most needed ones. `dtypes`: what the GPU multiplies, such as bfloat16, fp8, float32."""
    half = "bfloat16" if "bfloat16" in dtypes else "float16" if "float16" in dtypes else "float32"
    tables = {
        "gemm": list(gemm_points(dtypes)),
        "attention_decode": list(attention_decode_points(half)),
        "attention_prefill": list(attention_prefill_points(half)),
        "elementwise": list(elementwise_points(half)),
        "composition": list(composition_points()),
        "gemm_backward": list(gemm_backward_points([d for d in dtypes if d != "fp8"])),
        "attention_backward": list(attention_backward_points(half)),
        "elementwise_backward": list(elementwise_points(half, "elementwise_backward")),
        "optimizer": list(optimizer_points()),
        "moe": list(moe_points(half)),
        "grouped_gemm": list(grouped_gemm_points(dtypes)),
        "expert_activation": list(expert_activation_points(half)),
        "power": list(power_points(dtypes)),
        "training": list(training_points()),
    }
    for name in set(tables) - {"power", "training", "composition"}:
        random.Random(0).shuffle(tables[name])  # a table that is cut short is a sample of it
    return {name: rows for name, rows in tables.items() if rows}


SMALL = {"m": 16, "n": 32, "k": 32, "batch": 2, "heads": 4, "kv_heads": 2, "head_dim": 16,
         "isl": 16, "kv_len": 16, "rows": 16, "width": 64, "parameters": 1000, "hidden": 64,
         "inter": 64, "topk": 2, "experts": 4, "tokens": 16, "layers": 1, "groups": 2, "vocab": 100}


def _small_shape(text):
    pairs = [pair.split("=") for pair in filter(None, text.split(";"))]
    return ";".join(f"{name}={SMALL.get(name, value)}" for name, value in pairs)


def rehearsal(dtypes):
    """One tiny row of every kind that `points` has: what differs in more than sizes."""
    out = {}
    for table, rows in points(dtypes).items():
        small = [{c: _small_shape(v) if c == "shape" else SMALL.get(c, v) for c, v in row.items()}
                 for row in rows]
        small = [{**row, "framework": "rehearsal"} for row in small]
        out[table] = list({key(table, row): row for row in small}.values())
    return out
