#include "orrery/validate/choices/serving_choices.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/quantile.h"
#include "orrery/hardware/catalog.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/validate/judge/serving.h"

namespace orrery {
namespace {

constexpr int kMostGpus = 8;
constexpr std::size_t kLeastLayouts = 3;

// The cells of a row that the scenario of the row does not keep.
struct Cells {
  std::string precision, version, isl, osl, moe_tp, moe_ep, reference;
  std::optional<double> ttft, tpot;
};

std::map<int, Cells> read_cells(const std::filesystem::path& file) {
  std::map<int, Cells> out;
  CsvReader csv(file);
  const auto text = [&](const char* name) { return std::string(csv.text(csv.column(name))); };
  while (csv.next()) {
    out[csv.line()] = {text("precision"),
                       text("version"),
                       text("isl"),
                       text("osl"),
                       text("moe_tp"),
                       text("moe_ep"),
                       text("source_ref"),
                       csv.optional_number(csv.column("ttft_ms")),
                       csv.optional_number(csv.column("tpot_ms"))};
  }
  return out;
}

// TTFT and TPOT in ms by AIConfigurator, of a row's reference.
using PeerFigures = std::map<std::string, std::pair<double, double>>;

PeerFigures read_peer(const std::filesystem::path& file) {
  PeerFigures out;
  if (!std::filesystem::exists(file)) return out;
  CsvReader csv(file);
  const int reference = csv.column("source_ref"), ttft = csv.column("pred_ttft_ms"),
            tpot = csv.column("pred_tpot_ms");
  while (csv.next()) {
    const auto first = csv.optional_number(ttft), step = csv.optional_number(tpot);
    if (first && step && *first > 0 && *step > 0)
      out[std::string(csv.text(reference))] = {*first, *step};
  }
  return out;
}

// "serving_steady:57 REFERENCE" -> 57.
int line_of(const std::string& row) {
  const std::size_t colon = row.find(':');
  int line = 0;
  std::from_chars(row.data() + colon + 1, row.data() + row.size(), line);
  return line;
}

int whole(const std::string& text) {
  int v = 1;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

int size_of(const MeasuredRow& row, const char* key) {
  return static_cast<int>(row.keys.number(std::string("parallel.") + key));
}

int gpus_of(const MeasuredRow& row) {
  return size_of(row, "tp") * size_of(row, "pp") * size_of(row, "dp");
}

// Least bytes of a weight in a number format as the table spells it.
double least_bytes(const std::string& precision) {
  if (precision == "fp4" || precision.starts_with("int4")) return 0.5;
  return precision == "fp16" || precision == "bf16" ? 2 : 1;
}

class Layouts {
 public:
  explicit Layouts(const Bundle& bundle) : bundle_(bundle), catalog_(bundle) {}

  // Why the row's layout cannot be what ran; empty: it can.
  std::string wrong(const MeasuredRow& row, const Cells& cells) {
    const int gpus = gpus_of(row);
    const int experts = whole(cells.moe_tp) * whole(cells.moe_ep) * size_of(row, "pp");
    if (!cells.moe_tp.empty() && experts != gpus)
      return fmt::format("mislabelled layout: attention on {} GPUs, experts on {}", gpus, experts);
    const std::string model = row.keys.text("model");
    auto [at, is_new] = parameters_.try_emplace(model, 0.0);
    if (is_new)
      at->second = static_cast<double>(count_parameters(load_model(model, bundle_)).total());
    const double weights = at->second * least_bytes(cells.precision);
    if (weights > gpus * catalog_.gpu(row.system).memory.capacity.value())
      return fmt::format("mislabelled layout: {:.0f} GB of weights or more on {} {}", weights / 1e9,
                         gpus, row.system);
    return "";
  }

 private:
  const Bundle& bundle_;
  Catalog catalog_;
  std::map<std::string, double> parameters_;
};

// A row, with its measured point and the output tokens per second of other figures.
struct Candidate {
  MeasuredRow row;
  Cells cells;

  double throughput(double ttft_ms, double tpot_ms) const {
    const auto tokens = static_cast<double>(row.keys.number("workload.osl"));
    const double seconds = (ttft_ms + tpot_ms * (tokens - 1)) / 1e3;
    return static_cast<double>(row.keys.number("workload.batch")) * tokens / seconds / gpus_of(row);
  }
  std::string layout() const {
    const auto others = [&] {
      return cells.moe_tp.empty()
                 ? std::string()
                 : fmt::format(", experts tp {} ep {}", whole(cells.moe_tp), whole(cells.moe_ep));
    };
    return fmt::format("tp {}, pp {}, dp {}{}", size_of(row, "tp"), size_of(row, "pp"),
                       size_of(row, "dp"), others());
  }
  LayoutPoint measured() const {
    return {layout(), throughput(*cells.ttft, *cells.tpot), *cells.tpot, {}};
  }
};

using Groups = std::map<std::string, std::vector<Candidate>>;

// The groups by their names, with rows of two or fewer layouts dropped.
Groups read_groups(const std::filesystem::path& dir, const Bundle& bundle,
                   std::vector<RefusedRow>& refused) {
  const Catalog catalog(bundle);
  std::vector<MeasuredRow> rows;
  std::vector<RefusedRow> unread;  // told by `validate serving`
  read_inference_rows(dir, "serving_steady", catalog, rows, unread);
  const std::map<int, Cells> cells = read_cells(dir / "serving_steady.csv");
  Layouts layouts(bundle);
  Groups groups;
  for (const MeasuredRow& row : rows) {
    const Cells& c = cells.at(line_of(row.reference));
    if (!row.is_closed_loop() || !c.ttft || !c.tpot || gpus_of(row) > kMostGpus ||
        row.system.starts_with("gb"))
      continue;
    if (const std::string why = layouts.wrong(row, c); !why.empty()) {
      refused.push_back({row.reference, why});
      continue;
    }
    groups[fmt::format("{} {} on {}, {} {}, {} in, {} out", row.keys.text("model"), c.precision,
                       row.system, row.framework, c.version, c.isl, c.osl)]
        .push_back({row, c});
  }
  std::erase_if(groups, [](const auto& group) {
    std::vector<LayoutPoint> points;
    for (const Candidate& c : group.second) points.push_back({c.layout(), 0, 0, {}});
    return layout_count(points) < kLeastLayouts;
  });
  return groups;
}

// Our figures of a row: TTFT and TPOT in ms, and the deviation of the logarithm of TPOT.
struct Ours {
  std::optional<double> ttft, tpot;
  double deviation = 0;
};

std::map<std::string, Ours> predicted(const Groups& groups, const Bundle& bundle,
                                      ConstantsChoice constants, std::vector<RefusedRow>& refused) {
  std::vector<MeasuredRow> rows;
  for (const auto& [name, candidates] : groups)
    for (const Candidate& c : candidates) rows.push_back(c.row);
  const ValidationReport report = predicted_services(rows, bundle, constants);
  refused.insert(refused.end(), report.refused.begin(), report.refused.end());
  std::map<std::string, Ours> out;
  for (const ValidationRow& r : report.rows) {
    Ours& ours = out[r.row];
    if (r.by.at("metric") == "ttft") {
      ours.ttft = r.predicted;
    } else {
      ours.tpot = r.predicted;
      ours.deviation = std::log(r.high90 / r.low90) / (2 * normal_quantile(0.95));
    }
  }
  return out;
}

}  // namespace

std::vector<ServingChoice> serving_choices(const std::filesystem::path& dir, const Bundle& bundle,
                                           ConstantsChoice constants,
                                           std::vector<RefusedRow>& refused) {
  const Groups groups = read_groups(dir, bundle, refused);
  const std::map<std::string, Ours> ours = predicted(groups, bundle, constants, refused);
  const PeerFigures peers = read_peer(dir / "peer_predictions_aiconfigurator.csv");
  std::vector<ServingChoice> out;
  for (const auto& [name, candidates] : groups) {
    const int line = line_of(candidates.front().row.reference);
    ServingChoice q{
        fmt::format("serving_steady.csv:{}", line), name, candidates.front().row, {}, {}, {}};
    for (const Candidate& c : candidates) {
      LayoutPoint point = c.measured();
      if (const auto own = ours.find(c.row.reference);
          own != ours.end() && own->second.ttft && own->second.tpot) {
        const auto& [ttft, tpot, deviation] = own->second;
        point.predicted = {c.throughput(*ttft, *tpot), *tpot, deviation};
      }
      q.points.push_back(point);
      const auto theirs = peers.find(c.cells.reference);
      if (theirs == peers.end()) continue;
      q.shared.push_back(point);
      const auto& [ttft, tpot] = theirs->second;
      point.predicted = {c.throughput(ttft, tpot), tpot, 0};
      q.peer.push_back(std::move(point));
    }
    if (layout_count(q.shared) < kLeastLayouts) q.shared.clear(), q.peer.clear();
    out.push_back(std::move(q));
  }
  return out;
}

}  // namespace orrery
