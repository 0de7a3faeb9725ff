"""A slice of a transformer in training, as torchtitan composes it: some layers between embedding and
head, with the loss. Eager, or with every layer and the loss compiled. Needs torch.

Weights are in 16 bits, as FSDP2 gathers them for the forward pass. What a whole model adds to a slice
is more of its layers: the difference of two slices is the time of a layer.
"""

import time

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

import kernels


class Layer(torch.nn.Module):
    """Norms, rotary positions in complex fp32, grouped heads repeated, causal attention, SwiGLU."""

    def __init__(self, row, **where):
        super().__init__()
        h, self.heads, self.kv_heads = row["hidden"], row["heads"], row["kv_heads"]
        self.dim = h // self.heads
        linear = lambda k, n: torch.nn.Linear(k, n, bias=False, **where)
        self.attention_norm, self.ffn_norm = (torch.nn.RMSNorm(h, **where) for _ in range(2))
        self.wq, self.wo = linear(h, h), linear(h, h)
        self.wk, self.wv = (linear(h, self.kv_heads * self.dim) for _ in range(2))
        self.w1, self.w3 = (linear(h, row["inter"]) for _ in range(2))
        self.w2 = linear(row["inter"], h)

    def rotate(self, x, turns):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns).flatten(3).type_as(x)

    def forward(self, x, turns):
        b, s, _ = x.shape
        y = self.attention_norm(x)
        q = self.rotate(self.wq(y).view(b, s, self.heads, self.dim), turns)
        k = self.rotate(self.wk(y).view(b, s, self.kv_heads, self.dim), turns)
        v = self.wv(y).view(b, s, self.kv_heads, self.dim)
        repeat = lambda t: (t[:, :, :, None, :]
                            .expand(b, s, self.kv_heads, self.heads // self.kv_heads, self.dim)
                            .reshape(b, s, self.heads, self.dim).transpose(1, 2))
        a = F.scaled_dot_product_attention(q.transpose(1, 2), repeat(k), repeat(v), is_causal=True)
        x = x + self.wo(a.transpose(1, 2).contiguous().view(b, s, -1))
        y = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(0, 1))


class Slice(torch.nn.Module):
    def __init__(self, row, **where):
        super().__init__()
        self.embedding = torch.nn.Embedding(row["vocab"], row["hidden"], **where)
        self.layers = torch.nn.ModuleList(Layer(row, **where) for _ in range(row["layers"]))
        self.norm = torch.nn.RMSNorm(row["hidden"], **where)
        self.head = torch.nn.Linear(row["hidden"], row["vocab"], bias=False, **where)
        self.recompute = row["recompute"] == "full"

    def forward(self, tokens, turns):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = (checkpoint(layer, x, turns, use_reentrant=False) if self.recompute
                 else layer(x, turns))
        return self.head(self.norm(x))


def group(name):
    """The column that a kernel's time is counted in: cuDNN's attention has `sdpa` in its name and
    FlashAttention's and CUTLASS's `flash` and `fmha`."""
    if any(part in name for part in ("sdpa", "flash", "fmha")):
        backward = any(part in name for part in ("bprop", "bwd", "dot_do_o", "convert_dq"))
        return "attention_backward_us" if backward else "attention_us"
    if any(part in name for part in ("gemm", "nvjet", "cutlass", "cublas", "Cijk")):
        return "products_us"
    return "elementwise_us"


def measure(row, device):
    """The measured cells of a row."""
    torch.manual_seed(0)
    torch._dynamo.reset()  # a program for each shape
    where = {"device": kernels.WHERE, "dtype": kernels.TORCH[device.dtypes()[0]]}
    model = Slice(row, **where)
    loss = loss_of
    if row["run"] == "compiled":
        for layer in model.layers:
            layer.compile(fullgraph=True, dynamic=False)
        loss = torch.compile(loss_of, dynamic=False)
    b, s, dim = row["batch"], row["tokens"], row["hidden"] // row["heads"]
    tokens, labels = (torch.randint(row["vocab"], (b, s), device=kernels.WHERE) for _ in range(2))
    angles = torch.outer(torch.arange(s).float(), 1e4 ** -(torch.arange(0, dim, 2) / dim))
    turns = torch.polar(torch.ones_like(angles), angles).to(kernels.WHERE).view(1, s, 1, -1)

    def step():
        model.zero_grad(set_to_none=True)
        loss(model(tokens, turns), labels).backward()

    def forward():
        loss(model(tokens, turns), labels)

    step()
    took, _, watts, _, memory, mhz, celsius, _ = device.steady([step], captured=False)
    ahead, _, _, _ = device.time([forward], graph=False)
    begun = time.perf_counter()
    step()
    host = (time.perf_counter() - begun) * 1e6
    device.release()
    spans = device.kernels_of(step)
    cells = {"latency_us": f"{took:.5g}", "forward_us": f"{ahead:.5g}", "host_us": f"{host:.5g}",
             "power_w": watts, "memory_w": memory, "sm_mhz": mhz, "celsius": celsius, "kernel_source": "torchtitan",
             "kernels_us": f"{sum(spans.values()):.5g}"}
    totals = dict.fromkeys(["products_us", "attention_us", "attention_backward_us",
                            "elementwise_us"], 0.0)
    for name, us in spans.items():
        totals[group(name)] += us
    return {**cells, **{c: f"{us:.5g}" for c, us in totals.items()}}
