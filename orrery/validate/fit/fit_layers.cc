#include "orrery/validate/fit/fit_layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "orrery/kernel/tiers/layer_times.h"
#include "orrery/validate/rows/layer_rows.h"

namespace orrery {
namespace {

constexpr std::string_view kSource = "LLMServingSim";

using Key = std::pair<int, std::array<std::int64_t, 3>>;
using Points = std::map<std::pair<double, double>, double>;
using Gpus = std::map<std::string, std::map<Key, Points>>;

void add(Gpus& gpus, const std::string& gpu, const std::optional<Op>& op, double us) {
  const auto place = op ? layer_place(*op) : std::nullopt;
  if (!place) return;
  const Key key{static_cast<int>(place->shape.kind), place->shape.sizes};
  gpus[gpu][key][{place->x, place->y}] = us;
}

void read_layers(const std::filesystem::path& path, LayerSubject& subject, Gpus& gpus) {
  CsvReader csv(path);
  const LayerRowReader common(csv);
  const int layer = csv.column("layer"), unit = csv.column("unit"), count = csv.column("count");
  while (csv.next()) {
    const LayerRow row = common.read();
    if (row.source != kSource) continue;
    subject.set(row);
    const SequenceGroup group = layer_group(csv.text(unit), csv.integer(count));
    for (const LayerName& known : layer_names()) {
      if (known.layer == csv.text(layer))
        add(gpus, subject.gpu().id, subject.op(known.op, group), row.time_us);
    }
  }
}

void read_attention(const std::filesystem::path& path, LayerSubject& subject, Gpus& gpus) {
  CsvReader csv(path);
  const LayerRowReader common(csv);
  const int chunk = csv.column("prefill_chunk"), past = csv.column("kv_prefill"),
            decodes = csv.column("n_decode"), keys = csv.column("kv_decode");
  while (csv.next()) {
    const LayerRow row = common.read();
    const std::int64_t prompt = csv.integer(chunk), n = csv.integer(decodes);
    if (row.source != kSource || (prompt > 0) == (n > 0)) continue;
    subject.set(row);
    // The keys of a decode include the key of the new token.
    if (n > 0)
      add(gpus, subject.gpu().id, subject.op("attn_decode", {n, 1, csv.number(keys) - 1}),
          row.time_us);
    else
      add(gpus, subject.gpu().id, subject.op("attn_prefill", {1, prompt, csv.number(past)}),
          row.time_us);
  }
}

// A grid needs every pair of sizes. Chooses the sizes that form the largest grid, beginning with
// those that were measured with the most others.
MeasuredLayer layer_of(const Key& key, const Points& points) {
  MeasuredLayer l;
  l.shape.kind = static_cast<LayerShape::Kind>(key.first);
  l.shape.sizes = key.second;
  if (l.shape.kind != LayerShape::Kind::kDecode && l.shape.kind != LayerShape::Kind::kPrefill) {
    for (const auto& [at, us] : points) l.x.push_back(at.first), l.us.push_back(us);
    return l;
  }
  std::map<double, std::set<double>> with;
  for (const auto& [at, us] : points) with[at.first].insert(at.second);
  std::vector<double> sizes;
  for (const auto& [x, ys] : with) sizes.push_back(x);
  std::stable_sort(sizes.begin(), sizes.end(),
                   [&](double a, double b) { return with[a].size() > with[b].size(); });
  std::set<double> shared = with[sizes.front()];
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::erase_if(shared, [&](double y) { return !with[sizes[i]].contains(y); });
    if ((i + 1) * shared.size() <= l.x.size() * l.y.size()) continue;
    l.x.assign(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(i + 1));
    l.y.assign(shared.begin(), shared.end());
  }
  std::sort(l.x.begin(), l.x.end());
  for (double x : l.x)
    for (double y : l.y) l.us.push_back(points.at({x, y}));
  return l;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> fit_layers(const std::filesystem::path& dir,
                                                            const std::string& date,
                                                            const Bundle& bundle) {
  LayerSubject subject(bundle);
  Gpus gpus;
  read_layers(dir / "layers.csv.gz", subject, gpus);
  read_attention(dir / "attention_mixed.csv.gz", subject, gpus);
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [gpu, shapes] : gpus) {
    LayerTimes times;
    std::size_t rows = 0;
    for (const auto& [key, points] : shapes) {
      times.layers.push_back(layer_of(key, points));
      rows += points.size();
    }
    times.comment = fmt::format(
        "# Made by `orrery fit layers` from data/layers ({}, vLLM 0.19) on {}: do not edit.\n"
        "# {} calls of {} layers.\n",
        kSource, date, rows, times.layers.size());
    files.emplace_back(layer_times_path(gpu), to_text(times));
  }
  return files;
}

}  // namespace orrery
