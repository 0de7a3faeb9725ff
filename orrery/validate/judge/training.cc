#include "orrery/validate/judge/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/random.h"
#include "orrery/training/fit/calibration_factors.h"
#include "orrery/validate/judge/training_folds.h"
#include "orrery/validate/questions/training_scenario.h"

namespace orrery {
namespace {

constexpr int kDraws = 10;       // of three own rows
constexpr std::size_t kOwn = 3;  // rows that a user has
constexpr double kNoise = 0.04;  // least logarithm of the ratio of two measured times that differ

const char* kLeftOut = "left-out source";
const char* kOwnRows = "three own rows";
const char* kMlperf = "mlperf";
const char* kIteration = "iteration";  // rows of iteration.csv, by committed constants

bool has_experts(const Architecture& model) {
  for (const LayerSpec& layer : model.layers.specs())
    if (std::holds_alternative<MoeMlp>(layer.mlp)) return true;
  return false;
}

std::string layout_of(const TrainingJob& job) {
  const TrainingPlan& p = job.plan;
  if (job.tuning != Tuning::kFull) return "LoRA";
  if (p.ep > 1) return "EP";
  if (p.cp > 1) return "CP";
  if (p.tp > 1) return p.pp > 1 ? "TP and PP" : "TP";
  if (p.pp > 1) return "PP";
  return p.zero == 3 ? "FSDP" : "DP";
}

RunLikeness likeness(const TrainingRow& row) { return {row.model_id, row.version, row.job}; }

// The settings of a job that a planner chooses.
auto mapping_of(const TrainingJob& job) {
  const TrainingPlan& p = job.plan;
  return std::tuple(p.tp, p.pp, p.vp, p.cp, p.ep, p.zero, p.sharding(), p.schedule, job.micro_batch,
                    job.recompute, job.recompute_layers);
}

class Validation {
 public:
  Validation(const std::filesystem::path& dir, const Bundle& bundle, ConstantsChoice constants)
      : dir_(dir), bundle_(bundle), scenarios_(bundle) {
    out_.report.area = "training";
    std::vector<TrainingCase> cases = training_cases(dir, bundle, out_.report.refused);
    if (constants == ConstantsChoice::kLeftOut) {
      folds_.emplace(std::move(cases));
      return;
    }
    out_.report.note = kInSample;
    cases_ = std::move(cases);
    committed_ = read_constant_table(bundle);
  }

  // Whether data/training has the table. An absent table is noted.
  bool has(const char* name) { return has_table(dir_ / name, out_.report); }

  void left_out() {
    for (const TrainingCase& c : cases())
      if (judged(c)) add(kLeftOut, c, without(c.row.source), nullptr);
    rank_pairs();
  }

  void iterations() {
    for (const TrainingCase& c : cases())
      if (judged(c)) add(kIteration, c, committed_, nullptr);
  }

  void own_rows() {
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<const TrainingCase*>>
        users;
    for (const TrainingCase& c : cases())
      if (judged(c)) users[{c.row.source, c.row.gpu, c.row.dtype}].push_back(&c);
    for (auto& [key, rows] : users) {
      if (rows.size() <= kOwn) continue;
      const ConstantTable& table = without(std::get<0>(key));
      RandomStream draw(1, std::get<0>(key) + std::get<1>(key) + std::get<2>(key));
      for (int d = 0; d < kDraws; ++d) {
        for (std::size_t i = 0; i < kOwn; ++i)
          std::swap(rows[i], rows[i + draw.below(rows.size() - i)]);
        std::vector<MeasuredIteration> measured;
        std::vector<RunLikeness> runs;
        for (std::size_t i = 0; i < kOwn; ++i) {
          measured.push_back(rows[i]->measured());
          measured.back().fixed = constants_of(table, *rows[i]).value;
          runs.push_back(likeness(rows[i]->row));
        }
        const CalibrationFactors own =
            fit_calibration_factors(std::move(measured), std::move(runs));
        for (std::size_t i = kOwn; i < rows.size(); ++i) add(kOwnRows, *rows[i], table, &own);
      }
    }
  }

  void mlperf() {
    for (const TrainingCase& c : cases())
      if (c.row.source == kMlperf) add(kMlperf, c, without(kMlperf), nullptr);
  }

  void peers() {
    const Catalog catalog(bundle_);
    const TrainingModels models(dir_, bundle_);
    const ConstantTable& table = without("korthikanti2022");
    const std::vector<TrainingStackProfile> stacks = load_training_stacks(bundle_);
    CsvReader csv(dir_ / "peer_calculon.csv");
    const auto text = [&](const char* name) { return std::string(csv.text(csv.column(name))); };
    const auto whole = [&](const char* name) {
      return static_cast<int>(csv.integer(csv.column(name)));
    };
    while (csv.next()) {
      if (text("metric") != "iteration_time" || text("published").empty()) continue;
      TrainingRow row;
      row.model_id = text("model");
      std::transform(row.model_id.begin(), row.model_id.end(), row.model_id.begin(),
                     [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
      if (row.model_id == "turing-530b") row.model_id = "megatron-530b";
      row.gpu = catalog.gpu("a100-80g-sxm").id;
      row.gpus = whole("n_gpus");
      row.version = "2022-05";
      row.release = stated_release(row.version);
      row.stack = stack_defaults(stacks, "Megatron-LM", row.version, "fp16");
      row.dtype = "fp16";
      row.model = models.at(row.model_id);
      row.node = catalog.node_type("hgx-a100");
      TrainingJob& job = row.job;
      job.precision = training_precision("fp16", row.stack);
      TrainingPlan& p = job.plan;
      p.tp = whole("tp"), p.pp = whole("pp"), p.dp = whole("dp"), p.vp = whole("interleaving");
      p.sequence_parallel = text("seq_parallel") == "True";
      p.dp_overlap = false;
      job.seq = 2048;
      job.micro_batch = whole("microbatch"), job.global_batch = whole("batch");
      job.recompute = text("recompute") == "full" ? Recompute::kFull : Recompute::kSelective;
      job.flash = false, job.dropout = true;
      row.iteration = Seconds(csv.number(csv.column("published")));
      const std::string name =
          fmt::format("{} on {}, {} recompute", row.model_id, row.gpus, to_text(job.recompute));
      const Seconds peer(csv.number(csv.column("predicted")));
      const TrainingCase c = training_case(std::move(row), catalog, bundle_);
      out_.peers.push_back({name, *c.row.iteration,
                            iteration_time(c.parts, constants_of(table, c), c.row.job).total,
                            peer});
    }
  }

  TrainingValidation result() {
    group();
    return std::move(out_);
  }

 private:
  const std::vector<TrainingCase>& cases() const { return folds_ ? folds_->cases() : cases_; }
  // The constants that judge the rows of a source.
  const ConstantTable& without(const std::string& source) const {
    return folds_ ? folds_->without(source) : committed_;
  }

  static bool judged(const TrainingCase& c) { return c.row.complete && c.row.source != kMlperf; }

  void add(const char* kind, const TrainingCase& c, const ConstantTable& table,
           const CalibrationFactors* own) {
    TrainingConstants k = constants_of(table, c);
    const bool is_covered = folds_ ? folds_->covered(c.row) : k.cover == FitCover::kCombination;
    if (own) k = with_calibration_factors(k, *own, likeness(c.row), table.covered_error);
    const IterationTime t = iteration_time(c.parts, k, c.row.job);
    const Estimate<Seconds> e = iteration_estimate(c.parts, t, k, c.row.job);
    out_.report.rows.push_back({{{"table", kind},
                                 {"source", c.row.source},
                                 {"gpu", c.row.gpu},
                                 {"dtype", c.row.dtype},
                                 {"kind", has_experts(c.row.model) ? "moe" : "dense"},
                                 {"covered", is_covered ? "covered" : "not covered"},
                                 {"layout", layout_of(c.row.job)},
                                 {"stack", c.row.stack.name},
                                 {"trusted", c.row.distrusted.empty() ? "trusted" : "distrusted"}},
                                c.row.name(),
                                c.row.iteration->value(),
                                e.value.value(),
                                e.quantile(0.25).value(),
                                e.quantile(0.75).value(),
                                e.quantile(0.05).value(),
                                e.quantile(0.95).value(),
                                e.origin});
    ValidationRow& row = out_.report.rows.back();
    row.source = c.row.source;
    row.same = words_of(c.row);
    // The question of three own rows would hold those rows, too.
    if (own) {
      row.what = row.same + ": corrected by runs that only the table has";
      return;
    }
    row.what = scenarios_.question(c.row);
    if (row.what.starts_with('{')) row.answer = "iteration_time";
  }

  void rank_pairs() {
    const auto job_of = [](const TrainingRow& r) {
      return std::tuple(r.source, r.version, r.model_id, r.gpu, r.gpus, r.job.seq,
                        r.job.global_batch, r.dtype, r.job.tuning);
    };
    for (std::size_t i = 0; i < cases().size(); ++i) {
      for (std::size_t j = i + 1; j < cases().size(); ++j) {
        const TrainingRow &a = cases()[i].row, &b = cases()[j].row;
        if (!judged(cases()[i]) || !judged(cases()[j]) || job_of(a) != job_of(b) ||
            mapping_of(a.job) == mapping_of(b.job))
          continue;
        const double measured = std::log(*a.iteration / *b.iteration);
        // error = log(predicted / measured), so that the difference of two errors is the error of
        // the predicted ratio.
        const double predicted = measured + folds_->error(i) - folds_->error(j);
        if (measured == 0) continue;
        const bool right = measured * predicted > 0;
        ++out_.all_pairs.pairs, out_.all_pairs.right += right;
        if (std::abs(measured) < kNoise) continue;
        ++out_.distinct_pairs.pairs, out_.distinct_pairs.right += right;
      }
    }
  }

  void group() {
    std::map<std::pair<std::string, std::string>, std::vector<const ValidationRow*>> groups;
    std::vector<const ValidationRow*> all;
    for (const ValidationRow& r : out_.report.rows) {
      const auto put = [&](const std::string& name) {
        groups[{r.by.at("table"), name}].push_back(&r);
      };
      all.push_back(&r);
      put("all");
      put("by gpu: " + r.by.at("gpu") + " " + r.by.at("dtype"));
      put("by source: " + r.by.at("source"));
      if (r.by.at("table") == kMlperf) continue;
      put(r.by.at("kind"));
      put(r.by.at("trusted"));
      put(r.by.at("covered"));
      put(r.by.at("covered") + ", " + r.by.at("kind"));
      if (r.by.at("trusted") == "trusted")
        put(r.by.at("covered") + ", " + r.by.at("kind") + ", trusted");
      put("layout: " + r.by.at("layout"));
    }
    out_.errors.area = "training";
    out_.errors.note = out_.report.note;
    for (const RefusedRow& r : out_.report.refused) {
      const auto same = std::find_if(out_.errors.refused.begin(), out_.errors.refused.end(),
                                     [&](const RefusedRow& o) { return o.why == r.why; });
      if (same == out_.errors.refused.end()) {
        out_.errors.refused.push_back(r);
      } else {
        ++same->rows;
      }
    }
    out_.errors.skipped = out_.report.skipped;
    out_.errors.pooled.errors = summarise(all);
    for (const auto& [name, rows] : groups)
      out_.errors.groups.push_back({{{"table", name.first}, {"rows", name.second}},
                                    summarise(rows),
                                    {},
                                    name.second.starts_with("by source")});
  }

  std::filesystem::path dir_;
  const Bundle& bundle_;
  TrainingValidation out_;
  TrainingScenarios scenarios_;
  std::optional<TrainingFolds> folds_;
  // By committed constants there are no folds.
  std::vector<TrainingCase> cases_;
  ConstantTable committed_;
};

double mape(const std::vector<PeerIteration>& rows, Seconds PeerIteration::* predicted) {
  double sum = 0;
  for (const PeerIteration& r : rows) sum += 100 * std::abs(r.*predicted / r.published - 1);
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

}  // namespace

double TrainingValidation::orrery_mape() const { return mape(peers, &PeerIteration::orrery); }
double TrainingValidation::peer_mape() const { return mape(peers, &PeerIteration::peer); }

TrainingValidation validate_training(const std::filesystem::path& dir, const std::string& table,
                                     const Bundle& bundle, ConstantsChoice constants) {
  const bool committed = constants == ConstantsChoice::kCommitted;
  std::vector<std::string> tables = {kLeftOut, kOwnRows, kMlperf, "peers"};
  if (committed) tables = {kIteration, kMlperf, "peers"};
  if (!table.empty() && std::find(tables.begin(), tables.end(), table) == tables.end())
    throw InputError(fmt::format("expected the table '{}' or {}, got '{}'",
                                 fmt::join(tables.begin(), tables.end() - 1, "', '"), tables.back(),
                                 table));
  Validation v(dir, bundle, constants);
  const auto wanted = [&](const char* name) { return table.empty() || table == name; };
  if (committed && wanted(kIteration)) v.iterations();
  if (!committed && wanted(kLeftOut)) v.left_out();
  if (!committed && wanted(kOwnRows)) v.own_rows();
  if (table == kMlperf || (table.empty() && v.has("mlperf_training.csv"))) v.mlperf();
  if (table == "peers" || (table.empty() && v.has("peer_calculon.csv"))) v.peers();
  return v.result();
}

nlohmann::ordered_json to_json(const TrainingValidation& v) {
  nlohmann::ordered_json j = to_json(v.errors);
  const auto pairs = [](const MappingPairs& p) {
    return nlohmann::ordered_json{{"pairs", p.pairs}, {"right_percent", p.percent()}};
  };
  j["mapping_pairs"] = {{"all", pairs(v.all_pairs)}, {"distinct", pairs(v.distinct_pairs)}};
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PeerIteration& p : v.peers)
    rows.push_back({{"job", p.name},
                    {"published_s", p.published.value()},
                    {"orrery_s", p.orrery.value()},
                    {"calculon_s", p.peer.value()}});
  j["peers"] = {{"orrery_mape", v.orrery_mape()}, {"calculon_mape", v.peer_mape()}, {"rows", rows}};
  return j;
}

std::string remarks(const TrainingValidation& v) {
  std::string out;
  if (v.all_pairs.pairs > 0)
    out += fmt::format(
        "mapping pairs in the right order: {:.1f} % of {}; {:.1f} % of the {} that differ by "
        "{:.0f} % or more\n",
        v.all_pairs.percent(), v.all_pairs.pairs, v.distinct_pairs.percent(),
        v.distinct_pairs.pairs, 100 * kNoise);
  if (v.peers.empty()) return out;
  out += fmt::format("{:<44} {:>9} {:>9} {:>9}\n", "Korthikanti et al. 2022, seconds", "published",
                     "orrery", "calculon");
  for (const PeerIteration& p : v.peers)
    out += fmt::format("{:<44} {:>9.2f} {:>9.2f} {:>9.2f}\n", p.name, p.published.value(),
                       p.orrery.value(), p.peer.value());
  out += fmt::format("{:<44} {:>9} {:>9.2f} {:>9.2f}\n", "mean |error|, percent", "",
                     v.orrery_mape(), v.peer_mape());
  return out;
}

std::string to_markdown(const TrainingValidation& v) {
  std::string out = to_markdown(v.errors);
  if (v.all_pairs.pairs > 0)
    out += fmt::format(
        "\nMapping pairs in the right order: {:.1f} % of {}; {:.1f} % of the {} that differ by "
        "{:.0f} % or more.\n",
        v.all_pairs.percent(), v.all_pairs.pairs, v.distinct_pairs.percent(),
        v.distinct_pairs.pairs, 100 * kNoise);
  if (v.peers.empty()) return out;
  out += "\n| Korthikanti et al. 2022 | published s | orrery | Calculon |\n|---|---|---|---|\n";
  for (const PeerIteration& p : v.peers)
    out += fmt::format("| {} | {:.2f} | {:.2f} | {:.2f} |\n", p.name, p.published.value(),
                       p.orrery.value(), p.peer.value());
  out +=
      fmt::format("| mean abs. error | | {:.2f} % | {:.2f} % |\n", v.orrery_mape(), v.peer_mape());
  return out;
}

}  // namespace orrery
