"""A small transformer as a whole against the sum of its kernels. Needs torch."""

import torch
import torch.nn.functional as F

import kernels


class Block(torch.nn.Module):
    def __init__(self, hidden, heads, **where):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = (torch.nn.RMSNorm(hidden, **where) for _ in range(2))
        self.qkv = torch.nn.Linear(hidden, 3 * hidden, bias=False, **where)
        self.out = torch.nn.Linear(hidden, hidden, bias=False, **where)
        self.up = torch.nn.Linear(hidden, 8 * hidden, bias=False, **where)
        self.down = torch.nn.Linear(4 * hidden, hidden, bias=False, **where)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, s, h))
        gate, up = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


def parts(row, dtype):
    """(table, row, times) of the kernels of a forward pass, and of a backward one."""
    t, h = row["batch"] * row["tokens"], row["hidden"]
    heads, layers = row["heads"], row["layers"]
    attention = {"attn_dtype": dtype, "batch": row["batch"], "heads": heads, "kv_heads": heads,
                 "head_dim": h // heads, "isl": row["tokens"]}
    products = [(3 * h, h), (h, h), (8 * h, h), (h, 4 * h)]
    work = [("rms_norm", h, 2), ("silu_mul", 4 * h, 1)]
    forward = [("gemm", {"m": t, "n": n, "k": k, "dtype": dtype}, layers) for n, k in products]
    forward += [("attention_prefill", attention, layers)]
    forward += [("elementwise", {"op": op, "rows": t, "width": w, "dtype": dtype}, times * layers)
                for op, w, times in work + [("add", h, 2), ("copy", h, 1)]]
    backward = [("gemm_backward", {"m": t, "n": n, "k": k, "dtype": dtype, "gradient": gradient},
                 layers) for n, k in products for gradient in ("input", "weight")]
    backward += [("attention_backward", attention, layers)]
    backward += [("elementwise_backward", {"op": op, "rows": t, "width": w, "dtype": dtype},
                  times * layers) for op, w, times in work]
    # Gradients are added where the residual stream branches.
    backward += [("elementwise", {"op": op, "rows": t, "width": h, "dtype": dtype}, times * layers)
                 for op, times in [("add", 2), ("copy", 1)]]
    return forward, backward


def measure(row, device):
    """The measured cells of a row."""
    dtype = device.dtypes()[0]
    torch.manual_seed(0)
    where = {"device": kernels.WHERE, "dtype": kernels.TORCH[dtype]}
    model = torch.nn.Sequential(*[Block(row["hidden"], row["heads"], **where)
                                  for _ in range(row["layers"])])
    x = torch.randn(row["batch"], row["tokens"], row["hidden"], **where)
    training = row["mode"] == "training"
    if row["run"] == "compiled":
        torch._dynamo.reset()  # a program for each shape, and no limit on their number
    run = torch.compile(model, dynamic=False) if row["run"] == "compiled" else model

    def step():
        if not training:
            with torch.no_grad():
                return run(x)
        model.zero_grad(set_to_none=True)  # else gradients are cleared and added to
        run(x).sum().backward()

    whole, how, _, watts = device.time([step], graph=row["run"] == "graph")
    if row["run"] == "graph" and how == "eager":
        raise RuntimeError("the step cannot be captured in a graph")
    forward, backward = parts(row, dtype)
    total = 0.0
    for table, part, times in forward + (backward if training else []):
        calls, _ = kernels.build(table, part, device)
        total += times * device.time(calls)[0]
    return {"latency_us": f"{whole:.5g}", "kernels_us": f"{total:.5g}", "power_w": watts,
            "kernel_source": "torch"}
