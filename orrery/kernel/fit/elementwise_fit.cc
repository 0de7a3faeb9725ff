#include "orrery/kernel/fit/elementwise_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/estimate.h"
#include "orrery/base/fit.h"
#include "orrery/base/quantile.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/surface/surface.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/ops/op.h"

namespace orrery {
namespace {

struct Point {
  double base, least, time;  // seconds
  double cached;             // share of the bytes
  bool left_out;
};
// Seconds; logarithms of the factor on the time to stream from memory, and from the L2.
struct Constants {
  double floor, streamed, cached;
};
using PointsByGpu =
    std::map<std::pair<std::string, std::string>, std::vector<Point>>;  // (source, GPU id)

// The op of one measured layer of 16-bit activations; nothing for products and unknown layers.
std::optional<Op> op_of(std::string_view layer, bool fused_norm, const Architecture& model,
                        std::int64_t tp, std::int64_t tokens) {
  const LayerSpec& spec = model.layers.at(0);
  const auto* attention = std::get_if<SoftmaxAttention>(&spec.mixer);
  const auto* mlp = std::get_if<DenseMlp>(&spec.mlp);
  if (!attention || !mlp) return std::nullopt;
  auto work = [&](Elementwise::Kind kind, double width, double read, double written) {
    Elementwise e;
    e.kind = kind;
    e.rows = tokens;
    e.width = static_cast<std::int64_t>(width);
    e.read = Bytes(2.0 * static_cast<double>(tokens) * width * read);
    e.written = Bytes(2.0 * static_cast<double>(tokens) * width * written);
    return Op(e);
  };
  const double hidden = model.hidden, shards = static_cast<double>(tp);
  const double heads = attention->heads / shards + std::max(1.0, attention->kv_heads / shards);
  if (layer == "mlp_act" || layer == "act_fn")
    return work(Elementwise::Kind::kActivation, mlp->intermediate / shards, mlp->gated ? 2 : 1, 1);
  if (layer == "add") return work(Elementwise::Kind::kAdd, hidden, 2, 1);
  if (layer == "attn_rope" || layer == "rotary_emb")
    return work(Elementwise::Kind::kRotary, heads * attention->head_dim, 1, 1);
  if (layer == "qk_norm") return work(Elementwise::Kind::kNorm, heads * attention->head_dim, 1, 1);
  if (layer.ends_with("layernorm")) {
    return fused_norm ? work(Elementwise::Kind::kAddNorm, hidden, 2, 2)
                      : work(Elementwise::Kind::kNorm, hidden, 1, 1);
  }
  return std::nullopt;
}

PointsByGpu read_layers(const std::filesystem::path& path, const Bundle& bundle, KernelFit& fit) {
  constexpr double kVidurTimer = 10;  // us
  const Catalog catalog(bundle);
  std::map<std::string, std::optional<Architecture>> models;
  std::map<std::string, std::optional<KernelGpu>> gpus;
  auto known = [&fit](auto& cache, const std::string& name, auto load) -> const auto& {
    const auto [it, is_new] = cache.try_emplace(name);
    if (is_new) {
      try {
        it->second = load(name);
      } catch (const InputError& e) {
        fit.refused.push_back(e.what());
      }
    }
    return it->second;
  };
  PointsByGpu out;
  CsvReader csv(path);
  const int source = csv.column("source"), gpu_column = csv.column("gpu"),
            model_column = csv.column("model"), tp = csv.column("tp"), layer = csv.column("layer"),
            unit = csv.column("unit"), count = csv.column("count"), time = csv.column("time_us");
  while (csv.next()) {
    if (csv.text(unit) != "tokens") continue;
    const bool vidur = csv.text(source) == "vidur";
    if (vidur && csv.number(time) < kVidurTimer) continue;
    const auto& model = known(models, std::string(csv.text(model_column)),
                              [&](const std::string& n) { return load_model(n, bundle); });
    const auto& gpu = known(gpus, std::string(csv.text(gpu_column)),
                            [&](const std::string& n) { return catalog.gpu(n); });
    if (!model || !gpu) continue;
    const std::optional<Op> op =
        op_of(csv.text(layer), !vidur, *model, csv.integer(tp), csv.integer(count));
    if (!op) continue;
    const KernelPoint p = elementwise_family().point(*op, *gpu, true);
    const bool left_out = vidur || leave_out_by_hash(csv.text(count), 3);
    out[{std::string(csv.text(source)), gpu->id}].push_back(
        {p.base.value(), p.least.value(), csv.number(time) * 1e-6, p.x[0], left_out});
  }
  return out;
}

// Static quantisation of activations by vLLM and TensorRT-LLM, with rows that exceed the L2. They
// show the bandwidth of a current kernel on data-centre GPUs. SGLang's calls take three to eight
// times as long as reading and writing: another kernel.
void read_quantisation(const std::filesystem::path& path, const Bundle& bundle, PointsByGpu& out) {
  const Catalog catalog(bundle);
  std::map<std::string, KernelGpu> gpus;
  CsvReader csv(path);
  const int system = csv.column("system"), framework = csv.column("framework"),
            op = csv.column("op"), m = csv.column("m"), k = csv.column("k"),
            time = csv.column("latency_us");
  while (csv.next()) {
    if (csv.text(op) != "scale_matrix" || csv.text(framework) == "sglang") continue;
    const std::string name(csv.text(system));
    if (!gpus.contains(name)) gpus.emplace(name, catalog.gpu(name));
    Elementwise e;
    e.kind = Elementwise::Kind::kQuantise;
    e.rows = csv.integer(m), e.width = csv.integer(k);
    e.read = Bytes(2.0 * csv.number(m) * csv.number(k));
    e.written = Bytes(csv.number(m) * csv.number(k));
    const KernelPoint p = elementwise_family().point(e, gpus.at(name), true);
    if (p.x[0] > 0 || csv.number(time) <= 0) continue;
    out[{std::string(csv.text(framework)), gpus.at(name).id}].push_back(
        {p.base.value(), p.least.value(), csv.number(time) * 1e-6, 0,
         leave_out_by_hash(describe(e), 3)});
  }
}

double predicted(const Point& p, const Constants& c) {
  const double factor = std::exp(c.streamed + p.cached * (c.cached - c.streamed));
  return std::max(c.floor + p.base * factor, p.least);
}

// Sum over GPUs of the mean absolute log error on the rows to be fitted.
double loss(const PointsByGpu& data, const Constants& c) {
  double sum = 0;
  for (const auto& [key, points] : data) {
    double of_gpu = 0;
    std::size_t n = 0;
    for (const Point& p : points) {
      if (p.left_out) continue;
      of_gpu += std::abs(std::log(predicted(p, c) / p.time));
      ++n;
    }
    if (n > 0) sum += of_gpu / static_cast<double>(n);
  }
  return sum;
}

// The constants of the least loss, by a grid of 7 x 7 x 7 that is drawn in around its best. The
// factors are rounded as they are written.
Constants fit_constants(const PointsByGpu& data) {
  constexpr int kRounds = 5;
  Constants best{3e-6, 0.4, 0.4}, width{3e-6, 0.8, 0.8};
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const Constants center = best;
    for (int i = -3; i <= 3; ++i) {
      for (int j = -3; j <= 3; ++j) {
        for (int k = -3; k <= 3; ++k) {
          const Constants c{std::max(0.0, center.floor + width.floor * i / 3),
                            center.streamed + width.streamed * j / 3,
                            center.cached + width.cached * k / 3};
          const double l = loss(data, c);
          if (l < least) least = l, best = c;
        }
      }
    }
    width = {width.floor * 0.4, width.streamed * 0.4, width.cached * 0.4};
  }
  best.streamed = std::round(best.streamed * 1000) / 1000;
  best.cached = std::round(best.cached * 1000) / 1000;
  return best;
}

constexpr std::size_t kLeastSwept = 12;  // rows for three constants

// The surface that constants make.
Surface surface_of(const std::string& kernel_class, const Constants& constants) {
  Surface s;
  s.kernel_class = kernel_class;
  s.floor = Seconds(constants.floor);
  s.values = {static_cast<float>(constants.streamed), static_cast<float>(constants.cached)};
  return s;
}

}  // namespace

void fit_swept_elementwise(const std::filesystem::path& dir, const std::string& date,
                           const Bundle& bundle, const std::set<std::string>& gpus,
                           KernelFit& fit) {
  const KernelFamily& family = elementwise_family();
  for (const auto& [key, classes] :
       read_samples(dir, tables_of(family), Catalog(bundle), fit.refused, gpus)) {
    SurfaceFile file;
    file.axes.nodes = family.axes();
    std::string errors;
    for (const auto& [name, samples] : classes) {
      PointsByGpu data;
      for (const MeasuredPoint& p : samples.points)
        data[key].push_back({p.base, p.least, p.time, p.x[0], p.left_out});
      const auto fitted = std::count_if(samples.points.begin(), samples.points.end(),
                                        [](const MeasuredPoint& p) { return !p.left_out; });
      if (fitted < static_cast<std::ptrdiff_t>(kLeastSwept)) continue;
      Constants constants = fit_constants(data);
      // If no operand stays in the cache, this constant is undetermined.
      const bool cached = std::any_of(samples.points.begin(), samples.points.end(),
                                      [](const MeasuredPoint& p) { return p.x[0] > 0; });
      if (!cached) constants.cached = constants.streamed;
      Surface s = surface_of(name, constants);
      KernelFitRow row = judge_surface(file, s, samples.points);
      row.family = family.name();
      row.framework = key.first;
      row.gpu = key.second;
      row.kernel_class = name;
      errors += fmt::format("# {}: {}\n", name, to_text(row));
      file.surfaces.push_back(std::move(s));
      fit.rows.push_back(std::move(row));
    }
    if (file.surfaces.empty()) continue;
    file.comment =
        fmt::format("# Made by `orrery fit kernels --data DIR` from {} on {}: do not edit.\n{}",
                    fmt::join(tables_of(family).tables(), ", "), date, errors);
    fit.files.emplace_back(surface_path(family.name(), key.first, key.second),
                           compressed_surfaces(to_text(file)));
  }
}

void fit_elementwise(const std::filesystem::path& dir, const std::string& date,
                     const Bundle& bundle, KernelFit& fit) {
  const std::filesystem::path layers = dir / ".." / "layers" / "layers.csv.gz",
                              quantisation = dir / "quantize.csv.gz";
  for (const auto& path : {layers, quantisation}) {
    if (std::filesystem::exists(path)) continue;
    fit.refused.push_back(fmt::format("{}: no such table", path.string()));
    return;
  }
  PointsByGpu data = read_layers(layers, bundle, fit);
  read_quantisation(quantisation, bundle, data);
  if (data.empty()) return;
  const Constants constants = fit_constants(data);
  SurfaceFile file;
  file.axes.nodes = elementwise_family().axes();
  Surface s = surface_of(elementwise_family().classes()[0].sources[0].name, constants);
  std::string errors;
  constexpr double kOfSources = 0.9;
  std::vector<double> medians, spreads;  // of log(measured / predicted), by source
  for (const auto& [key, points] : data) {
    KernelFitRow row;
    row.family = elementwise_family().name();
    row.framework = key.first;
    row.gpu = key.second;
    row.kernel_class = s.kernel_class;
    std::vector<double> percent, logs;
    for (const Point& p : points) {
      ++(p.left_out ? row.left_out : row.fitted);
      if (!p.left_out) continue;
      const double ratio = predicted(p, constants) / p.time;
      percent.push_back(100 * std::abs(ratio - 1));
      logs.push_back(-std::log(ratio));
      row.bias += 100 * (ratio - 1);
    }
    if (percent.empty()) continue;
    for (double p : percent) row.mape += p / static_cast<double>(percent.size());
    row.bias /= static_cast<double>(percent.size());
    row.median = quantile(percent, 0.5);
    if (row.fitted > 0) {
      const double median = quantile(logs, 0.5);
      medians.push_back(std::abs(median));
      for (double& l : logs) l = std::abs(l - median);
      spreads.push_back(quantile(logs, 0.9) / normal_quantile(0.95));
    }
    errors += fmt::format("# {}: {}, {}\n", row.gpu, row.framework, to_text(row));
    fit.rows.push_back(row);
  }
  if (medians.empty()) return;
  s.own = quantile(spreads, kOfSources);
  s.shared = quantile(medians, kOfSources);
  file.surfaces.push_back(s);
  file.comment = fmt::format(
      "# Made by `orrery fit kernels --data DIR` from DIR/../layers/layers.csv.gz and "
      "DIR/quantize.csv.gz on {}: do not "
      "edit.\n{}",
      date, errors);
  fit.files.emplace_back(surface_path(elementwise_family().name(), "any", "gpu"),
                         compressed_surfaces(to_text(file)));
}

}  // namespace orrery
