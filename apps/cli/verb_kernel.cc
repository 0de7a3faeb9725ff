// orrery kernel: the time of one op on one GPU.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/cli/output.h"
#include "apps/cli/verbs.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/kernel_model.h"
#include "orrery/scenario/sweep.h"

namespace orrery::cli {
namespace {

// The question of this verb. One op a call; m (rows, tokens or sequences) may be swept.
struct KernelQuestion {
  std::string op = "gemm", gpu, framework = "vllm", format = "bf16", kv_dtype;
  Sweep m = {1}, context = {1024};
  std::int64_t n = 4096, k = 4096;
  int heads = 32, kv_heads = 8, head_dim = 128;
  std::int64_t window = 0, past = 0;
  int experts = 8, top_k = 2, tp = 1, ep = 1;
};

void declare(Fields& f, KernelQuestion& q) {
  f.add("op", q.op, "which kernel").one_of({"gemm", "prefill", "decode", "moe"});
  f.add("gpu", q.gpu, "GPU id, or path to a YAML file of its facts").required();
  f.add("framework", q.framework, "whose measured kernels").one_of({"vllm", "sglang", "trtllm"});
  f.add("format", q.format, "number format of the operands: bf16, fp8, ...").alias("dtype");
  f.add("kv_dtype", q.kv_dtype, "format of the KV cache; empty: bf16");
  add_sweep(f, "m", q.m, 1, 100'000'000, "gemm: rows; attention: sequences; moe: tokens");
  add_sweep(f, "context", q.context, 1, 100'000'000,
            "attention: new tokens (prefill) or cached tokens (decode)");
  f.add("n", q.n, "gemm: columns; moe: intermediate size").range(1, 1e9);
  f.add("k", q.k, "gemm: inner size; moe: hidden size").range(1, 1e9);
  f.add("heads", q.heads, "attention heads").range(1, 1e5);
  f.add("kv_heads", q.kv_heads, "key and value heads").range(1, 1e5);
  f.add("head_dim", q.head_dim, "size of a head").range(1, 4096);
  f.add("window", q.window, "sliding window; 0: none").range(0, 1e8);
  f.add("past", q.past, "prefill: tokens cached before").range(0, 1e8);
  f.add("experts", q.experts, "moe: experts").range(1, 1e5);
  f.add("top_k", q.top_k, "moe: experts a token").range(1, 1e4);
  f.add("tp", q.tp, "moe: tensor-parallel ranks").range(1, 1e4);
  f.add("ep", q.ep, "moe: expert-parallel groups").range(1, 1e4);
}

Op make_op(const KernelQuestion& q, std::int64_t m, std::int64_t context) {
  const auto format = parse_format(q.format);
  if (!format) {
    const std::vector<std::string> names(format_names().begin(), format_names().end());
    throw InputError(
        fmt::format("--format: unknown '{}'{}", q.format, did_you_mean(q.format, names)));
  }
  const Dtype dtype = parse_dtype(q.format).value_or(Dtype::kBf16);
  const auto kv = q.kv_dtype.empty() ? std::optional(dtype) : parse_dtype(q.kv_dtype);
  if (!kv)
    throw InputError(fmt::format("--kv-dtype: unknown '{}'{}", q.kv_dtype,
                                 did_you_mean(q.kv_dtype, dtype_names())));
  if (q.heads % q.kv_heads != 0)
    throw InputError(fmt::format("--kv-heads: {} does not divide {} heads", q.kv_heads, q.heads));
  if (q.op == "gemm") return Gemm{m, q.n, q.k, 1, *format, true};
  if (q.op == "prefill") {
    return PrefillAttention{m,          context,  q.past, q.heads, q.kv_heads, q.head_dim,
                            q.head_dim, q.window, true,   dtype,   *kv};
  }
  if (q.op == "decode") {
    return DecodeAttention{m,          static_cast<double>(context),
                           q.heads,    q.kv_heads,
                           q.head_dim, q.head_dim,
                           q.window,   dtype,
                           *kv};
  }
  if (q.top_k > q.experts)
    throw InputError(fmt::format("--top-k: {} is more than {} experts", q.top_k, q.experts));
  MoeExperts moe;
  moe.tokens = m, moe.hidden = static_cast<int>(q.k), moe.intermediate = static_cast<int>(q.n);
  moe.experts = q.experts, moe.top_k = q.top_k, moe.tp = q.tp, moe.ep = q.ep, moe.format = *format;
  return moe;
}

void answer(const KernelQuestion& q, const OutputOptions& output, const Bundle& bundle) {
  const Gpu gpu = Catalog(bundle).gpu(q.gpu);
  const auto model = make_kernel_model(
      gpu, {q.framework, q.framework, q.framework, q.framework, q.framework}, bundle);
  Answer a;
  a.scenario = "kernel " + q.op;
  const Sweep contexts = q.op == "prefill" || q.op == "decode" ? q.context : Sweep{0};
  for (std::int64_t m : q.m) {
    for (std::int64_t context : contexts) {
      const Op op = make_op(q, m, context);
      const KernelTime t = model->predict(op);
      Point p;
      p.at = {{"op", q.op}, {"gpu", gpu.id}, {"m", m}};
      if (context > 0) p.at["context"] = context;
      p.at["sizes"] = describe(op);
      p.metrics.push_back(metric("time", "us", t.time, 1e-6));
      p.metrics.push_back(exact_metric("compute_roofline", "us", t.compute.value() * 1e6));
      p.metrics.push_back(exact_metric("memory_roofline", "us", t.memory.value() * 1e6));
      p.metrics.push_back(rate_metric("rate", "TFLOP/s", flops(op).value() / 1e12, t.time));
      p.metrics.push_back(rate_metric("bandwidth", "GB/s", bytes(op).value() / 1e9, t.time));
      p.notes = {fmt::format("bound by {}", to_text(t.bound)), model->provenance(op)};
      a.points.push_back(std::move(p));
    }
  }
  print({&a, 1}, output);
}

}  // namespace

void add_kernel(CLI::App& program, Context& context) {
  CLI::App* app =
      program.add_subcommand("kernel", "time of one kernel: gemm, prefill, decode or moe");
  struct State {
    KernelQuestion defaults;
    Fields fields;
    Node document;
    OutputOptions output;
  };
  auto state = std::make_shared<State>();
  declare(state->fields, state->defaults);
  set_path(state->document, "op", scalar_node("gemm", ""));
  for (const Field& f : state->fields.all()) {
    std::string names = f.name() == "op" ? "OP" : "--" + f.name();
    for (char& c : names) c = c == '_' ? '-' : c;
    if (f.name().size() == 1) names = "-" + f.name() + "," + names;
    std::string help = f.doc();
    if (!f.choices().empty()) help += fmt::format(" ({})", fmt::join(f.choices(), ", "));
    if (f.type() == Field::Type::kList) help += fmt::format(" [{}]", f.json()[0].dump());
    if (!f.default_text().empty()) help += fmt::format(" [{}]", f.default_text());
    app->add_option_function<std::string>(
           names,
           [state, key = f.name(), names](const std::string& text) {
             set_path(state->document, key, scalar_node(text, names));
           },
           help)
        ->type_name(f.type() == Field::Type::kList  ? "N[,N|N-N*2...]"
                    : f.type() == Field::Type::kInt ? "N"
                                                    : "NAME");
  }
  add_output_flags(*app, state->output, false);
  app->footer(
      "Examples:\n"
      "  orrery kernel gemm --gpu h100-sxm -m 1-4096*2 -n 8192 -k 8192\n"
      "  orrery kernel decode --gpu a100-80g-sxm -m 64 --context 4096 --kv-heads 4");
  app->callback([state, &context] {
    KernelQuestion q;
    Fields fields;
    declare(fields, q);
    fields.read(state->document);
    answer(q, state->output, context.bundle());
  });
}

}  // namespace orrery::cli
