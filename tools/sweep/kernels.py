"""The calls that a row stands for. Needs torch. `build(table, row, device)` gives (calls, source):
calls that do the same work on other operands, to be timed back to back, and the kernel's name."""

import torch
import torch.nn.functional as F

TORCH = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "fp8": 1}


WHERE = "cuda"  # or "cpu", in a rehearsal


def _randn(*shape, dtype="bfloat16", grad=False):
    return torch.randn(*shape, device=WHERE, dtype=TORCH[dtype]).requires_grad_(grad)


def _copies(device, weight_bytes):
    """As many copies of a weight that together they exceed the L2, at most 6."""
    return int(max(1, min(6, -(-2 * device.l2 // max(weight_bytes, 1)))))


def gemm(row, device):
    m, n, k, dtype = row["m"], row["n"], row["k"], row["dtype"]
    copies = _copies(device, n * k * BYTES[dtype])
    if dtype == "fp8":
        fp8 = device.fp8
        most = torch.finfo(fp8).max
        x = _randn(m, k)
        weights = [_randn(n, k).to(fp8).t() for _ in range(copies)]
        one = torch.ones((), device=WHERE)

        def product(w):
            scale = x.abs().amax().float() / most
            return torch._scaled_mm((x / scale).to(fp8), w, scale_a=scale, scale_b=one,
                                    out_dtype=torch.bfloat16, use_fast_accum=True)
        return [lambda w=w: product(w) for w in weights], "scaled_mm"
    x = _randn(m, k, dtype=dtype)
    return ([lambda w=w: F.linear(x, w) for w in [_randn(n, k, dtype=dtype)
                                                  for _ in range(copies)]], "linear")


def gemm_backward(row, device):
    """One gradient of a linear layer."""
    m, n, k, dtype = row["m"], row["n"], row["k"], row["dtype"]
    dy = _randn(m, n, dtype=dtype)
    if row["gradient"] == "input":
        weights = [_randn(n, k, dtype=dtype)
                   for _ in range(_copies(device, n * k * BYTES[dtype]))]
        return [lambda w=w: dy @ w for w in weights], "dgrad"
    x = _randn(m, k, dtype=dtype)
    return [lambda: dy.t() @ x], "wgrad"


def _qkv(row, queries, keys, grad=False):
    h, g, d, b = row["heads"], row["kv_heads"], row["head_dim"], row["batch"]
    dtype = row["attn_dtype"]
    q = _randn(b, h, queries, d, dtype=dtype, grad=grad)
    k, v = (_randn(b, g, keys, d, dtype=dtype, grad=grad) for _ in range(2))
    return q, k, v


def _attend(q, k, v, causal):
    if q.shape[1] == k.shape[1]:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


def attention_prefill(row, device):
    q, k, v = _qkv(row, row["isl"], row["isl"])
    return [lambda: _attend(q, k, v, True)], "sdpa"


def attention_decode(row, device):
    q, k, v = _qkv(row, 1, row["kv_len"])
    return [lambda: _attend(q, k, v, False)], "sdpa"


def attention_backward(row, device):
    q, k, v = _qkv(row, row["isl"], row["isl"], grad=True)
    out = _attend(q, k, v, True)
    dy = torch.randn_like(out)
    return [lambda: torch.autograd.grad(out, (q, k, v), dy, retain_graph=True)], "sdpa_backward"


def _forward_of(op, rows, width, dtype, grad):
    x = _randn(rows, width, dtype=dtype, grad=grad)
    w = _randn(width, dtype=dtype, grad=grad)
    if op == "add":
        y = _randn(rows, width, dtype=dtype)
        return lambda: x + y, (x,)
    if op == "silu_mul":
        y = _randn(rows, width, dtype=dtype, grad=grad)
        return lambda: F.silu(x) * y, (x, y)
    if op == "rms_norm":
        return lambda: F.rms_norm(x, (width,), w), (x, w)
    if op == "layer_norm":
        return lambda: F.layer_norm(x, (width,), w, w), (x, w)
    if op == "softmax":
        return lambda: F.softmax(x, dim=-1), (x,)
    if op == "rotary":
        dim = min(128, width)  # of a head; all heads of a row turn alike
        heads = x.view(rows, width // dim, dim)
        cos, sin = (_randn(rows, 1, dim // 2, dtype=dtype) for _ in range(2))

        def rotate():
            a, b = heads.chunk(2, dim=-1)
            return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
        return rotate, (x,)
    if op == "copy":
        y = torch.empty_like(x)
        return lambda: y.copy_(x), (x,)
    table, ids = _randn(32000, width, dtype=dtype), torch.randint(32000, (rows,), device=WHERE)
    return lambda: F.embedding(ids, table), (x,)


def elementwise(row, device):
    call, _ = _forward_of(row["op"], row["rows"], row["width"], row["dtype"], False)
    return [call], row["op"]


def elementwise_backward(row, device):
    call, inputs = _forward_of(row["op"], row["rows"], row["width"], row["dtype"], True)
    out = call()
    dy = torch.randn_like(out)
    return ([lambda: torch.autograd.grad(out, inputs, dy, retain_graph=True)], row["op"])


def optimizer(row, device):
    dtype = torch.float32 if row["state"] == "fp32" else torch.bfloat16
    p = torch.zeros(row["parameters"], device=WHERE, dtype=dtype, requires_grad=True)
    p.grad = torch.ones_like(p)
    adam = torch.optim.AdamW([p], fused=True, capturable=WHERE == "cuda")
    return [adam.step], "adamw_fused"


def moe(row, device):
    """Experts one after the other on the tokens that a balanced router gives them: what plain
    torch can do. Engines' fused kernels are measured by their own collectors."""
    hidden, inter, experts = row["hidden"], row["inter"], row["experts"]
    each = max(1, row["tokens"] * row["topk"] // experts)
    active = min(experts, row["tokens"] * row["topk"])
    up = _randn(active, hidden, 2 * inter, dtype=row["dtype"])
    down = _randn(active, inter, hidden, dtype=row["dtype"])
    x = _randn(active, each, hidden, dtype=row["dtype"])

    def layer():
        a, b = torch.bmm(x, up).chunk(2, dim=-1)
        return torch.bmm(F.silu(a) * b, down)
    return [layer], "bmm_experts"


def build(table, row, device):
    return globals()[table](row, device)
