"""The calls that a row stands for. Needs torch. `build(table, row, device)` gives (calls, source):
calls that do the same work on other operands, to be timed back to back, and the kernel's name."""

import contextlib

import torch
import torch.nn.attention
import torch.nn.functional as F

TORCH = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "fp8": 1}


WHERE = "cuda"  # or "cpu", in a rehearsal


def _randn(*shape, dtype="bfloat16", grad=False):
    return torch.randn(*shape, device=WHERE, dtype=TORCH[dtype]).requires_grad_(grad)


def _filled(*shape, dtype, data):
    """A matrix whose bits toggle much or little: what its products draw depends on it."""
    x = torch.randn(*shape, device=WHERE)
    if data == "zeros":
        x = torch.zeros_like(x)
    elif data == "signs":
        x = x.sign()
    elif data == "half":
        x = x * (torch.rand_like(x) < 0.5)
    elif data == "tenth":
        x = x * (torch.rand_like(x) < 0.1)
    return x.to(TORCH[dtype])


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
        cast = x.to(fp8)
        weights = [_randn(n, k).to(fp8).t() for _ in range(copies)]
        one = torch.ones((), device=WHERE)

        def product(w):
            if "data" in row:  # the product alone
                return torch._scaled_mm(cast, w, scale_a=one, scale_b=one,
                                        out_dtype=torch.bfloat16, use_fast_accum=True)
            scale = x.abs().amax().float() / most
            return torch._scaled_mm((x / scale).to(fp8), w, scale_a=scale, scale_b=one,
                                    out_dtype=torch.bfloat16, use_fast_accum=True)
        return [lambda w=w: product(w) for w in weights], "scaled_mm"
    data = row.get("data", "normal")
    x = _filled(m, k, dtype=dtype, data=data)
    weights = [_filled(n, k, dtype=dtype, data=data) for _ in range(copies)]
    return [lambda w=w: F.linear(x, w) for w in weights], "linear"


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


BACKENDS = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}


def _backend(row):
    """The kernels that torch takes by itself (`pytorch`; FlashAttention-2 in older releases, cuDNN's in
    newer ones), or those of one backend."""
    if row["framework"] not in BACKENDS:
        return contextlib.nullcontext()
    backend = getattr(torch.nn.attention.SDPBackend, BACKENDS[row["framework"]])
    return torch.nn.attention.sdpa_kernel(backend)


def _sdpa(row):
    return "sdpa_" + row["framework"] if row["framework"] in BACKENDS else "sdpa"


def attention_prefill(row, device):
    q, k, v = _qkv(row, row["isl"], row["isl"])
    with _backend(row):
        _attend(q, k, v, True)  # refuses what the backend cannot do

    def attend():
        with _backend(row):
            return _attend(q, k, v, True)
    return [attend], _sdpa(row)


def attention_decode(row, device):
    q, k, v = _qkv(row, 1, row["kv_len"])
    return [lambda: _attend(q, k, v, False)], "sdpa"


def attention_backward(row, device):
    q, k, v = _qkv(row, row["isl"], row["isl"], grad=True)
    with _backend(row):
        out = _attend(q, k, v, True)
    dy = torch.randn_like(out)
    return ([lambda: torch.autograd.grad(out, (q, k, v), dy, retain_graph=True)],
            _sdpa(row) + "_backward")


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


def grouped_gemm(row, device):
    """The products of `groups` experts that have as many rows each, in one kernel: forward, or the
    gradient of the weights. Gradients of the input are forward products of the transposed sizes."""
    m, n, k, groups = row["m"], row["n"], row["k"], row["groups"]
    ends = torch.arange(1, groups + 1, device=WHERE, dtype=torch.int32) * (m // groups)
    x = _randn(m, k)
    if row["gradient"] == "weight":
        dy = _randn(m, n)
        if row["dtype"] == "fp8":
            raise NotImplementedError("gradients of weights in fp8")
        return [lambda: torch._grouped_mm(dy.t(), x, ends)], "grouped_mm_wgrad"
    w = _randn(groups, n, k)
    if row["dtype"] == "fp8":
        x8, w8 = x.to(device.fp8), w.to(device.fp8)
        rows = torch.ones(m, device=WHERE)
        columns = torch.ones(groups, n, device=WHERE)
        return [lambda: torch._scaled_grouped_mm(x8, w8.transpose(-2, -1), rows, columns, offs=ends,
                                                 out_dtype=torch.bfloat16, use_fast_accum=True)
                ], "scaled_grouped_mm"
    return [lambda: torch._grouped_mm(x, w.transpose(-2, -1), ends)], "grouped_mm"


def expert_activation(row, device):
    """What stands between the two products of an expert with biases that is not fused: the bias is
    added, both halves are clamped, and the gate's sigmoid weighs the other half (gpt-oss)."""
    x = _randn(row["rows"], 2 * row["width"], dtype=row["dtype"], grad=True)
    bias = _randn(2 * row["width"], dtype=row["dtype"])
    dy = _randn(row["rows"], row["width"], dtype=row["dtype"])

    def forward():
        gate, up = (x + bias).chunk(2, dim=-1)
        gate, up = gate.clamp(max=7.0), up.clamp(min=-7.0, max=7.0)
        return gate * torch.sigmoid(1.702 * gate) * (up + 1)
    if row["gradient"] == "none":
        return [lambda: forward().detach()], "eager"
    out = forward()
    return [lambda: torch.autograd.grad(out, (x,), dy, retain_graph=True)], "eager_backward"


def launches(row, device):
    """A kernel of one thread: what the board draws when it is awake."""
    x = torch.zeros(1, device=WHERE)
    return [lambda: x.add_(1)], "add_"


def build(table, row, device):
    return globals()[table](row, device)
