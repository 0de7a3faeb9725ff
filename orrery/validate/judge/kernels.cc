#include "orrery/validate/judge/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/random.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/fit/calibrate.h"
#include "orrery/kernel/fit/fit.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/fit/swept_kernel_model.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tiers/calibration.h"
#include "orrery/scenario/kinds/kernel/kernel_inverse.h"
#include "orrery/validate/judge/kernel_groups.h"
#include "orrery/validate/report/constants_choice.h"
#include "orrery/validate/rows/scenario_keys.h"

namespace orrery {
namespace {

constexpr std::array<std::pair<std::string_view, JudgedTier>, 4> kTiers = {
    {{"best", JudgedTier::kBest},
     {"measured", JudgedTier::kMeasured},
     {"transferred", JudgedTier::kTransferred},
     {"analytical", JudgedTier::kAnalytical}}};

// The number formats of a row as its table spells them, in one column or in columns for operands
// and cache.
class DtypeColumns {
 public:
  explicit DtypeColumns(const CsvReader& csv) : one_(csv.find("dtype")), kv_(csv.find("kv_dtype")) {
    for (const char* name : {"attn_dtype", "mla_dtype"}) {
      if (!one_) one_ = csv.find(name);
    }
  }
  void append(const CsvReader& csv, std::string& to) const {
    if (!one_) return;
    to += csv.text(*one_);
    if (kv_ && csv.text(*kv_) != csv.text(*one_)) to.append("/").append(csv.text(*kv_));
  }

 private:
  std::optional<int> one_, kv_;
};

class KernelJudge {
 public:
  KernelJudge(std::filesystem::path dir, const KernelValidation& options, const Bundle& bundle,
              const std::function<void(const ValidationRow&)>& each)
      : dir_(std::move(dir)), options_(options), bundle_(bundle), catalog_(bundle), each_(each) {
    for (const std::string& system : options.fit_on) fit_on_.insert(catalog_.gpu(system).id);
    if (!options.left_out_gpu.empty()) left_out_ = catalog_.gpu(options.left_out_gpu).id;
    all_rows_ =
        options.all_rows.value_or(options.committed || !fit_on_.empty() || !left_out_.empty());
  }

  // Replaces the surfaces of the catalog by surfaces that are fitted on the systems of fit_on only.
  void fit_again(const std::vector<const KernelTables*>& families) {
    std::map<std::string, std::string> files;
    for (const KernelTables* tables : families) {
      const std::string family(tables->family().name());
      for (const std::string& path : bundle_.list(fmt::format("kernels/{}", family), ".txt.gz")) {
        for (const std::string& id : fit_on_) {
          if (path.ends_with(fmt::format("-{}.txt.gz", id)))
            files[path] = bundle_.find(path)->content;
        }
      }
      const KernelFit fit = fit_kernels(dir_, family, "", bundle_, fit_on_);
      for (const auto& [path, text] : fit.files) files[path] = text;
    }
    bundle_ = bundle_.replacing("kernels", std::move(files));
  }

  // Chooses the rows that calibrate and replaces the bundle's calibrations by theirs.
  void calibrate(const KernelTables& tables, const std::string& table,
                 const std::filesystem::path& file) {
    points_.clear();
    using Drawn = std::map<std::uint64_t, MeasuredCall>;  // by the hash of the row
    std::map<ClassOfGpu, std::pair<const KernelGpu*, Drawn>> classes;
    each_row(tables, table, file, nullptr, [&](const Row& row) {
      auto& [gpu, drawn] = classes[class_of(row)];
      gpu = &row.gpu;
      const std::uint64_t hash = draw(row.sample);
      if (drawn.size() == kMostCandidates && hash >= drawn.rbegin()->first) return;
      drawn.try_emplace(hash, MeasuredCall{row.sample, Seconds(row.measured)});
      if (drawn.size() > kMostCandidates) drawn.erase(std::prev(drawn.end()));
    });
    std::map<std::string, std::pair<const KernelGpu*, std::vector<MeasuredCall>>> gpus;
    for (const auto& [key, entry] : classes) {
      const auto& [gpu, drawn] = entry;
      auto& [its_gpu, calls] = gpus[gpu->id];
      its_gpu = gpu;
      for (const auto& [hash, call] : drawn) calls.push_back(call);
    }
    for (auto& [id, entry] : gpus) {
      const auto& [gpu, candidates] = entry;
      std::vector<KernelSample> samples;
      for (const MeasuredCall& call : candidates) samples.push_back(call.sample);
      std::vector<MeasuredCall> calls;
      for (const std::size_t i :
           calls_to_measure(tables.family(), *gpu, samples, options_.points, bundle_, tier())) {
        calls.push_back(candidates[i]);
        points_.insert({{id, samples[i].framework, samples[i].kernel_class}, draw(samples[i])});
      }
      const PointFit fit = orrery::calibrate(tables.family(), *gpu, calls, bundle_, tier());
      calibrations_.insert(fit.files.begin(), fit.files.end());
    }
    bundle_ = bundle_.replacing("calibration", calibrations_);
    models_.clear();
  }

  void judge(const KernelTables& tables, const std::string& table,
             const std::filesystem::path& file) {
    std::string key;
    each_row(tables, table, file, &refused_, [&](const Row& row) {
      if (!points_.empty() && points_.contains({class_of(row), draw(row.sample)})) return;
      const KernelTime t =
          model_of(row.gpu, row.sample.framework).predict(tables.family(), row.sample.op);
      if (const char* why = not_of_tier(t.time.origin)) {
        refused_.add(table, row.csv.line(), why);
        return;
      }
      key.assign(table).append("\n").append(row.system).append("\n");
      key.append(row.sample.framework).append("\n").append(to_text(t.time.origin)).append("\n");
      const std::size_t before = key.size();
      row.dtype.append(row.csv, key);
      count(key, std::string_view(key).substr(before), row, t);
    });
  }

  void refuse_table(const std::string& table, std::size_t rows, const std::string& why) {
    refused_.add(table, 0, why, rows);
  }

  ErrorReport report() {
    ErrorReport out;
    out.area = "kernels";
    if (options_.committed) out.note = kInSample;
    out.refused = refused_.take();
    groups_.write(out);
    return out;
  }

 private:
  // A row that the report may use.
  struct Row {
    const CsvReader& csv;
    std::string_view system;
    const KernelGpu& gpu;
    const KernelSample& sample;
    double measured;  // s
    const DtypeColumns& dtype;
    const KernelFamily& family;
  };

  // `refused`: null in a first pass over the table.
  template <class Use>
  void each_row(const KernelTables& tables, const std::string& table,
                const std::filesystem::path& file, CountedRefusals* refused, const Use& use) {
    CsvReader csv(file);
    const int system = csv.column("system"), latency = csv.column("latency_us");
    const DtypeColumns dtype(csv);
    const auto refuse = [&](const std::string& why) {
      if (refused) refused->add(table, csv.line(), why);
    };
    while (csv.next()) {
      const System& s = system_of(csv.text(system));
      if (!s.gpu) {
        refuse(s.why);
        continue;
      }
      if (fit_on_.contains(s.gpu->id)) continue;
      if (!left_out_.empty() && s.gpu->id != left_out_) continue;
      KernelSample sample;
      if (!tables.read(csv, table, sample)) {
        refuse(
            fmt::format("no kernel class of {}, or known to be unsound", tables.family().name()));
        continue;
      }
      if (sample.kernel_class.ends_with(kForOthers)) {
        refuse("another version's call, which serves other GPUs");
        continue;
      }
      if (!all_rows_ && !is_left_out(sample)) continue;
      const double measured = microseconds(csv.number(latency)).value();
      if (measured <= 0) {
        refuse("no time");
        continue;
      }
      try {
        if (measured < tables.family().point(sample.op, *s.gpu, true).least.value() * kImpossible) {
          refuse("faster than the hardware can be");
          continue;
        }
        use(Row{.csv = csv,
                .system = csv.text(system),
                .gpu = *s.gpu,
                .sample = sample,
                .measured = measured,
                .dtype = dtype,
                .family = tables.family()});
      } catch (const NoData& e) {
        refuse(e.what());
      }
    }
  }

  using ClassOfGpu = std::tuple<std::string, std::string, std::string>;
  static ClassOfGpu class_of(const Row& row) {
    return {row.gpu.id, row.sample.framework, row.sample.kernel_class};
  }
  static std::uint64_t draw(const KernelSample& s) {
    return hash_text(fmt::format("point {} {}", s.shape, describe(s.op)));
  }

  struct System {
    std::optional<KernelGpu> gpu;
    std::string why;  // there is none
  };

  const System& system_of(std::string_view name) {
    const auto [at, is_new] = systems_.try_emplace(std::string(name));
    if (is_new) {
      try {
        at->second.gpu = catalog_.gpu(name);
      } catch (const InputError& e) {
        at->second.why = e.what();
      }
    }
    return at->second;
  }

  const SweptKernelModel& model_of(const Gpu& gpu, const std::string& framework) {
    std::unique_ptr<SweptKernelModel>& model = models_[{gpu.id, framework}];
    if (!model)
      model = std::make_unique<SweptKernelModel>(gpu, classes_of(framework), bundle_, tier());
    return *model;
  }

  TierChoice tier() const {
    if (!left_out_.empty()) return TierChoice::kTransferred;
    return options_.tier == JudgedTier::kTransferred  ? TierChoice::kTransferred
           : options_.tier == JudgedTier::kAnalytical ? TierChoice::kAnalytical
                                                      : TierChoice::kBest;
  }

  const char* not_of_tier(Origin origin) const {
    if (options_.tier == JudgedTier::kMeasured && origin != Origin::kMeasured)
      return "no sweep of this kernel class on this GPU";
    if (options_.tier == JudgedTier::kTransferred && origin != Origin::kTransferred)
      return "no relative of this GPU serves this kernel class";
    return nullptr;
  }

  void count(const std::string& key, std::string_view dtype, const Row& r, const KernelTime& t) {
    const double measured = r.measured;
    const auto make = [&] {
      KernelGroups::Key by = {{"table", key.substr(0, key.find('\n'))},
                              {"system", std::string(r.system)},
                              {"framework", r.sample.framework},
                              {"tier", std::string(to_text(t.time.origin))}};
      if (!dtype.empty()) by.emplace("dtype", dtype);
      return by;
    };
    const double predicted = t.time.value.value(), sigma = t.time.sigma();
    const double off = std::abs(std::log(measured / predicted));
    static const double kZ50 = heavy_quantile(0.75), kZ90 = heavy_quantile(0.95);
    const double half50 = kZ50 * sigma, half90 = kZ90 * sigma;
    const double roofline = std::max(t.compute, t.memory).value();
    for (KernelErrors* errors : groups_.of(key, make)) {
      errors->predicted.add(measured, predicted, off <= half50, off <= half90);
      errors->roofline.add(measured, roofline, false, false);
    }
    if (!each_) return;
    ValidationRow row;
    row.by = make();
    row.row = fmt::format("{}:{}", row.by.at("table"), r.csv.line());
    row.measured = measured;
    row.predicted = predicted;
    row.low50 = predicted * std::exp(-half50), row.high50 = predicted * std::exp(half50);
    row.low90 = predicted * std::exp(-half90), row.high90 = predicted * std::exp(half90);
    row.origin = t.time.origin;
    // The framework is no part of it: the same call of two frameworks is one question.
    row.same = fmt::format("{} {}", r.system, describe(r.sample.op));
    if (!dtype.empty()) row.same.append(", ").append(dtype);
    row.what = question_of(r, row.same);
    if (row.what.starts_with('{')) row.answer = "time";
    row.source = r.sample.framework;
    row.peers["roofline"] = roofline;
    each_(row);
  }

  // The scenario that asks for the row's call as the sweep made it; else `words` and the reason why
  // none does.
  static std::string question_of(const Row& r, const std::string& words) {
    const Op& op = r.sample.op;
    const KernelFamily* answers = answering_family(op, classes_of(r.sample.framework));
    if (answers != &r.family)
      return fmt::format("{}: asked for by itself it is a call of {}", words,
                         answers ? answers->name() : "no family");
    const auto keys = kernel_keys_of(op);
    if (!keys) return words + ": sizes that no key of a question names";
    ScenarioKeys asked;
    asked.set("hardware.gpu", r.gpu.id);
    asked.set("kernel.framework", r.sample.framework);
    asked.set("kernel.repeated", "true");
    for (const auto& [key, value] : *keys) asked.set("kernel." + key, value);
    return asked.yaml();
  }

  static KernelClasses classes_of(const std::string& framework) {
    KernelClasses classes = kernels_of(framework);
    if (framework == "pytorch") classes.rows = framework;
    return classes;
  }

  std::filesystem::path dir_;
  const KernelValidation& options_;
  Bundle bundle_;
  Catalog catalog_;
  const std::function<void(const ValidationRow&)>& each_;
  std::set<std::string> fit_on_;  // ids
  std::string left_out_;          // the id of left_out_gpu
  bool all_rows_ = false;
  std::map<std::string, System> systems_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<SweptKernelModel>> models_;
  std::set<std::pair<ClassOfGpu, std::uint64_t>> points_;  // rows of the table that calibrate
  std::map<std::string, std::string> calibrations_;
  KernelGroups groups_;
  CountedRefusals refused_;
};

// "gemm_older" has rows of the table "gemm". They are used only if --table names it.
std::string_view base_table(std::string_view table) {
  constexpr std::string_view kOlder = "_older";
  return table.ends_with(kOlder) ? table.substr(0, table.size() - kOlder.size()) : table;
}

// Tables of the folder by name; only those with a time.
std::set<std::string> tables_in(const std::filesystem::path& dir) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    std::string name = entry.path().filename().string();
    for (const std::string_view ending : {".gz", ".csv"}) {
      if (name.ends_with(ending)) name = name.substr(0, name.size() - ending.size());
    }
    if (name != entry.path().filename().string()) names.insert(name);
  }
  return names;
}

std::size_t rows_in(const std::filesystem::path& file) {
  CsvReader csv(file);
  if (!csv.find("latency_us")) return 0;  // a table of another kind: counts, GPUs
  std::size_t rows = 0;
  while (csv.next()) ++rows;
  return rows;
}

}  // namespace

std::optional<JudgedTier> parse_judged_tier(std::string_view text) {
  for (const auto& [name, tier] : kTiers) {
    if (name == text) return tier;
  }
  return std::nullopt;
}

const std::set<std::string>& kernel_row_keys() {
  static const std::set<std::string> keys = {"table", "system", "framework", "tier", "dtype"};
  return keys;
}

ErrorReport validate_kernels(const std::filesystem::path& dir, const KernelValidation& options,
                             const Bundle& bundle,
                             const std::function<void(const ValidationRow&)>& each) {
  if (options.points > kMostCalibrationPoints)
    throw InputError(fmt::format("validate: --points: at most {}", kMostCalibrationPoints));
  if (options.committed && (!options.fit_on.empty() || !options.left_out_gpu.empty() ||
                            options.points > 0 || !options.all_rows.value_or(true))) {
    throw InputError(
        "validate: --committed judges all rows by the catalog; leave out --fit-on, --left-out-gpu, "
        "--points and --rows left-out");
  }
  if (!options.left_out_gpu.empty()) {
    if (options.tier != JudgedTier::kBest)
      throw InputError("validate: --left-out-gpu chooses the tier; leave out --tier");
    if (!options.fit_on.empty())
      throw InputError("validate: --left-out-gpu and --fit-on exclude each other");
  }
  if (!std::filesystem::is_directory(dir))
    throw InputError(fmt::format("{}: no such directory", dir.string()));
  struct Judged {
    const KernelTables* tables;
    std::string table;
  };
  std::vector<Judged> judged;
  std::vector<const KernelTables*> families;
  const std::set<std::string> tables = tables_in(dir);
  for (const KernelTables* its : all_kernel_tables()) {
    for (const std::string& known : its->tables()) {
      for (const std::string& table : tables) {
        if (options.table.empty() ? table != known
                                  : table != options.table || base_table(table) != known)
          continue;
        judged.push_back({its, table});
        if (families.empty() || families.back() != its) families.push_back(its);
      }
    }
  }
  if (judged.empty()) {
    const std::vector<std::string> names(tables.begin(), tables.end());
    throw InputError(fmt::format("{}: no table{} that a kernel family reads{}", dir.string(),
                                 options.table.empty() ? "" : " '" + options.table + "'",
                                 options.table.empty() ? "" : did_you_mean(options.table, names)));
  }
  KernelJudge judge(dir, options, bundle, each);
  if (!options.fit_on.empty()) judge.fit_again(families);
  for (const Judged& j : judged) {
    const std::filesystem::path file = *table_file(dir, j.table);
    if (options.points > 0) judge.calibrate(*j.tables, j.table, file);
    judge.judge(*j.tables, j.table, file);
  }
  for (const std::string& table : tables) {
    if (!options.table.empty() || std::any_of(judged.begin(), judged.end(),
                                              [&](const Judged& j) { return j.table == table; }))
      continue;
    if (const std::size_t rows = rows_in(*table_file(dir, table))) {
      judge.refuse_table(table, rows,
                         base_table(table) != table
                             ? "an older version's kernels: asked for by --table"
                             : "no kernel family reads this table");
    }
  }
  return judge.report();
}

}  // namespace orrery
