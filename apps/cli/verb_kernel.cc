// orrery kernel: the time of single ops on one or several GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/help.h"
#include "apps/cli/output.h"
#include "apps/cli/roofline.h"
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
  f.add("gpu", q.gpu, "GPU ids, or paths to YAML files of their facts, with commas between")
      .required();
  f.add("framework", q.framework, "whose measured kernels")
      .one_of({"vllm", "sglang", "trtllm", "pytorch"});
  f.add("format", q.format, "number format of the operands: bf16, fp8, ...").alias("dtype");
  f.add("kv_dtype", q.kv_dtype, "format of the KV cache; empty: that of the operands");
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
  const auto plain = parse_dtype(q.format);
  if ((q.op == "prefill" || q.op == "decode") && !plain)
    throw InputError(
        fmt::format("--format: attention has no '{}'; expected a format of single numbers: bf16, "
                    "fp16, fp8, ...",
                    q.format));
  const Dtype dtype = plain.value_or(Dtype::kBf16);
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
  if (q.n % q.tp != 0)
    throw InputError(fmt::format("--tp: {} does not divide the intermediate size {}", q.tp, q.n));
  if (q.experts % q.ep != 0)
    throw InputError(fmt::format("--ep: {} does not divide {} experts", q.ep, q.experts));
  MoeExperts moe;
  moe.tokens = m, moe.hidden = static_cast<int>(q.k), moe.intermediate = static_cast<int>(q.n);
  moe.experts = q.experts, moe.top_k = q.top_k, moe.tp = q.tp, moe.ep = q.ep, moe.format = *format;
  return moe;
}

struct Line {
  std::string gpu, sizes, bound, provenance;
  std::int64_t m = 0, context = 0;
  KernelTime time;
  Flops work;
  Bytes moved;
  // Share of the time at the data sheet's limits; operands from the cache may exceed it.
  double efficiency() const { return std::max(time.compute, time.memory) / time.time.value; }
};

// What stands for a format that the GPU does not multiply; empty: nothing needs to.
std::string substitute(const Op& op, const Gpu& gpu) {
  const Dtype wanted = arithmetic(op), used = gpu.compute_dtype(wanted);
  if (used == wanted) return "";
  return fmt::format("; {} has no {}: {} instead", gpu.id, to_text(wanted), to_text(used));
}

std::vector<Line> predict(const KernelQuestion& q, const Gpu& gpu, const Bundle& bundle) {
  KernelClasses classes;
  classes.gemm = classes.attention = classes.moe = classes.mla = classes.linear_attention =
      q.framework;
  if (q.framework == "pytorch") classes.rows = q.framework;
  const auto model = make_kernel_model(gpu, classes, bundle);
  const Sweep contexts = q.op == "prefill" || q.op == "decode" ? q.context : Sweep{0};
  std::vector<Line> lines;
  for (std::int64_t m : q.m) {
    for (std::int64_t context : contexts) {
      const Op op = make_op(q, m, context);
      const KernelTime t = model->predict(op);
      lines.push_back({gpu.id, describe(op), std::string(to_text(t.bound)),
                       model->provenance(op) + substitute(op, gpu), m, context, t, flops(op),
                       bytes(op)});
    }
  }
  return lines;
}

Answer as_answer(const KernelQuestion& q, const std::vector<Line>& lines) {
  Answer a;
  a.scenario = "kernel " + q.op;
  for (const Line& line : lines) {
    const KernelTime& t = line.time;
    Point p;
    p.at = {{"op", q.op}, {"gpu", line.gpu}, {"m", line.m}};
    if (line.context > 0) p.at["context"] = line.context;
    p.at["sizes"] = line.sizes;
    p.metrics.push_back(metric("time", "us", t.time, 1e-6));
    p.metrics.push_back(exact_metric("compute_roofline", "us", t.compute.value() * 1e6));
    p.metrics.push_back(exact_metric("memory_roofline", "us", t.memory.value() * 1e6));
    p.metrics.push_back(rate_metric("efficiency", "% of the roofline",
                                    100 * std::max(t.compute, t.memory).value(), t.time));
    p.metrics.push_back(rate_metric("rate", "TFLOP/s", line.work.value() / 1e12, t.time));
    p.metrics.push_back(rate_metric("bandwidth", "GB/s", line.moved.value() / 1e9, t.time));
    p.notes = {fmt::format("bound by {}", line.bound), line.provenance};
    a.points.push_back(std::move(p));
  }
  return a;
}

// Attention has a column for the context in place of the rate: 80 columns.
void print_table(const KernelQuestion& q, const std::vector<Line>& lines) {
  const bool contexts = q.op == "prefill" || q.op == "decode";
  fmt::print("{:<16} {:>7} {}{:>9} {:>9} {:<8}{:>5} {} {}\n", "gpu", "m",
             contexts ? fmt::format("{:>8} ", "context") : "", "time us", "90 %", "bound", "peak",
             contexts ? "" : fmt::format("{:>8} ", "TFLOP/s"), "tier");
  std::vector<std::string> sources;
  for (const Line& line : lines) {
    const Metric us = metric("time", "us", line.time.time, 1e-6);
    const Estimate<Seconds>& time = line.time.time;
    fmt::print(
        "{:<16} {:>7} {}{:>9} {:>9} {:<8}{:>4.0f}% {} {}\n", line.gpu, line.m,
        contexts ? fmt::format("{:>8} ", line.context) : "", number(us.value),
        spread90(us.value, us.low90, us.high90), line.bound, 100 * line.efficiency(),
        contexts ? "" : fmt::format("{:>8} ", number((line.work / time.value).value() / 1e12)),
        to_text(time.origin));
    const std::string source = fmt::format("{}: {}", line.gpu, line.provenance);
    if (std::find(sources.begin(), sources.end(), source) == sources.end())
      sources.push_back(source);
  }
  for (const std::string& source : sources) fmt::print("{}", wrapped(source, 80, "  "));
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    out.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

void answer(const KernelQuestion& q, const OutputOptions& output, const std::string& roofline,
            const Bundle& bundle) {
  const Catalog catalog(bundle);
  std::vector<Line> lines;
  std::vector<Roofline> rooflines;
  for (const std::string& name : split_list(q.gpu)) {
    const Gpu gpu = catalog.gpu(name);
    const std::vector<Line> here = predict(q, gpu, bundle);
    const Dtype dtype = gpu.compute_dtype(arithmetic(make_op(q, q.m[0], q.context[0])));
    Roofline& r = rooflines.emplace_back(
        Roofline{gpu.id, std::string(to_text(dtype)), gpu.peak(dtype), gpu.memory.bandwidth, {}});
    for (const Line& line : here) {
      r.points.push_back({line.sizes, line.work.value() / line.moved.value(),
                          (line.work / line.time.time.value).value()});
    }
    lines.insert(lines.end(), here.begin(), here.end());
  }
  if (!roofline.empty())
    write_file(roofline, roofline_page("Roofline: " + q.op, rooflines), "--roofline");
  const Answer a = as_answer(q, lines);
  if (output.format != Format::kTable) return print({&a, 1}, output);
  if (!output.html.empty()) write_file(output.html, html({&a, 1}), "--html");
  print_table(q, lines);
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
    std::string roofline;
  };
  auto state = std::make_shared<State>();
  declare(state->fields, state->defaults);
  set_path(state->document, "op", scalar_node("gemm", ""));
  for (const Field& f : state->fields.all()) {
    std::string names = f.name() == "op" ? "OP" : "--" + f.name();
    for (char& c : names) c = c == '_' ? '-' : c;
    if (f.name().size() == 1) names = "-" + f.name() + "," + names;
    for (const std::string& alias : f.aliases()) names += ",--" + alias;
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
        ->type_name(f.name() == "gpu"                ? "NAME[,NAME...]"
                    : f.type() == Field::Type::kList ? "N[,N|N-N*2...]"
                    : f.type() == Field::Type::kInt  ? "N"
                                                     : "NAME");
  }
  add_output_flags(*app, state->output, false);
  app->add_option("--roofline", state->roofline, "draw the kernels on the roofline of their GPUs")
      ->type_name("FILE");
  app->footer(
      "Examples:\n"
      "  orrery kernel gemm --gpu h100-sxm,b200-sxm -m 1-4096*2 -n 8192 -k 8192\n"
      "  orrery kernel decode --gpu a100-80g-sxm -m 64 --context 4096 --kv-heads 4");
  app->callback([state, &context] {
    KernelQuestion q;
    Fields fields;
    declare(fields, q);
    fields.read(state->document);
    answer(q, state->output, state->roofline, context.bundle());
  });
}

}  // namespace orrery::cli
