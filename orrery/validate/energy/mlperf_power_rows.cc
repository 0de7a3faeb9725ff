#include "orrery/validate/energy/mlperf_power_rows.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/scenario/kinds/steady/steady_load.h"
#include "orrery/scenario/kinds/steady/wave_energy.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/validate/rows/row_cells.h"

namespace orrery {
namespace {

constexpr const char* kPowerFile = "mlperf_power.csv";
constexpr const char* kRateFile = "offline_throughput.csv";

// A server, as its results and as catalog/plant/plant.yaml call it.
struct Server {
  std::string_view system, gpu, node, plant;
  bool figures_of_node;  // those of the node type in the catalog come from it
};
constexpr std::array<Server, 3> kServers = {
    {{"H200-SXM-141GBx8_TRT", "h200-sxm", "hgx-h200", "NVIDIA H200 SXM x8", true},
     {"SR680a_V3_B200SXMx8_TRT", "b200-sxm", "hgx-b200", "Lenovo SR680a V3, B200 SXM x8, air",
      true},
     {"SR780a_V3_B200SXMx8_TRT", "b200-sxm", "hgx-b200", "Lenovo SR780a V3, B200 SXM x8, liquid",
      false}}};
constexpr std::string_view kMaxQ = "_MaxQ";

// A benchmark, as the header tells. `sequences` of an engine in Offline and in Server; each request
// decodes `beams` of them.
struct Benchmark {
  std::string_view name, model, engine, quantization;
  std::int64_t isl, osl, offline, server;
  int beams, gpus;  // of an engine
  double cap;       // W, under MaxQ
};
constexpr std::array<Benchmark, 4> kBenchmarks = {
    {{"llama2-70b", "llama-2-70b", "trtllm-2024", "fp8", 300, 291, 806, 896, 1, 1, 500},
     {"gptj", "gpt-j-6b", "trtllm-2024", "fp8", 870, 69, 396, 396, 4, 1, 350},
     {"mixtral-8x7b", "mixtral-8x7b", "trtllm-2024", "fp8", 300, 146, 3072, 3072, 1, 1, 500},
     {"llama3.1-405b", "llama-3.1-405b", "trtllm", "nvfp4", 9400, 654, 512, 512, 1, 8, 0}}};

const Benchmark& benchmark_of(const std::string& name) {
  for (const Benchmark& b : kBenchmarks)
    if (name.starts_with(b.name)) return b;
  throw NoData(fmt::format("no model of the program is the benchmark {}", name));
}

// The row of a system and a benchmark, without what was measured.
MlperfPowerRow row_of(std::string system, const std::string& benchmark, const std::string& scenario,
                      const Catalog& catalog) {
  MlperfPowerRow r;
  r.system = system, r.benchmark = benchmark, r.scenario = scenario;
  const Benchmark& b = benchmark_of(benchmark);
  if (system.ends_with(kMaxQ)) {
    r.cap = Watts(b.cap);
    system.resize(system.size() - kMaxQ.size());
  }
  const Server* server = nullptr;
  for (const Server& s : kServers)
    if (s.system == system) server = &s;
  if (server == nullptr) throw NoData(fmt::format("no server of the catalog is {}", system));
  r.server = server->plant;
  r.gpu = catalog.gpu(std::string(server->gpu));
  r.node = catalog.node_type(server->node);
  if (server->figures_of_node) r.node.power.idle = r.node.power.loaded = std::nullopt;
  r.engine = b.engine;
  ScenarioKeys& k = r.keys;
  k.set("model", std::string(b.model));
  k.set("hardware.gpu", r.gpu.id);
  k.set("engine.profile", r.engine);
  k.set("engine.setup", "tuned");
  k.set("parallel.tp", b.gpus);
  k.set("precision.quantization", std::string(b.quantization));
  k.set("precision.kv_cache_dtype", "fp8");
  const std::int64_t sequences = (scenario == "server" ? b.server : b.offline) * b.beams;
  k.set_engine("scheduler.max_num_seqs", std::to_string(sequences));
  k.set("workload.batch", sequences);
  k.set("workload.isl", b.isl);
  k.set("workload.osl", b.osl);
  if (b.beams > 1) k.set("workload.past", b.isl - b.isl / b.beams);
  k.set("workload.closed_loop", "true");
  k.set("workload.equal_lengths", "false");
  k.set("workload.requests_per_user", 0);
  return r;
}

// The closed form of a question, and the model that it is of.
struct Predicted {
  std::shared_ptr<const ServedModel> served;
  ClosedFormResult result;
};

Predicted predicted(const ScenarioKeys& keys, Facts& facts) {
  const Scenario scenario = keys.scenario().points.front();
  const SteadyQuestion& load = scenario.as<SteadyQuestion>();
  Predicted p;
  p.served = served_model_of(facts, scenario);
  const std::int64_t capacity = capacity_of(load, *p.served, planned_length(scenario, load));
  if (capacity < 1) throw NoData("the model does not fit");
  p.result = closed_form_of(load, *p.served, capacity, false);
  return p;
}

// Adds what is predicted of a wave with and without the cap, and the time in which a server of
// `rate` requests a second does it.
void predict(MlperfPowerRow& row, Facts& facts, double rate) {
  const Benchmark& b = benchmark_of(row.benchmark);
  const Predicted free = predicted(row.keys, facts);
  row.work = work_of_wave(free.result);
  row.requests = real(free.result.running) / b.beams;
  row.time = Seconds(row.requests * row.gpus / b.gpus / rate);
  if (row.cap) row.keys.set("hardware.power_limit", fmt::format("{} W", row.cap->value()));
  const Predicted p = row.cap ? predicted(row.keys, facts) : free;
  const Estimate<Seconds>& step = p.result.decode_step.total;
  const auto wave = wave_energy(read_step_power(facts.bundle()), *p.served, p.result);
  if (!wave) throw NoData("no power of the boards is known");
  row.power = wave->power;
  row.alone = {p.result.computed.time, step.shared, step.own, step.origin};
  row.clock_error = p.result.decode_step.governed.error;
}

void refuse(std::map<std::string, RefusedRow>& refused, const std::string& name, const char* why) {
  RefusedRow& r = refused[why];
  r.rows = r.row.empty() ? 1 : r.rows + 1;
  if (r.row.empty()) r.row = name, r.why = why;
}

}  // namespace

std::vector<MlperfPowerRow> read_mlperf_power(const std::filesystem::path& dir,
                                              const Bundle& bundle, ValidationReport& report) {
  std::vector<MlperfPowerRow> rows;
  if (!has_table(dir / kPowerFile, report)) return rows;
  Facts facts(bundle);
  CsvReader csv(dir / kPowerFile);
  const RowCells get(csv);
  std::set<std::string> seen;
  std::map<std::string, RefusedRow> refused;
  while (csv.next()) {
    const std::string name = fmt::format("{}:{}", kPowerFile, csv.line());
    try {
      MlperfPowerRow row =
          row_of(get.text("system"), get.text("benchmark"), get.text("scenario"), facts.catalog());
      row.name = name;
      const auto rate = get.number("samples_per_s"), wall = get.number("wall_power_w");
      if (!rate || !wall) throw NoData("the row states no rate or no power");
      if (!seen.insert(fmt::format("{} {} {}", row.system, *rate, *wall)).second)
        throw NoData("the run of another accuracy target");
      row.gpus = get.whole("n_accelerators", 8);
      row.wall = Watts(*wall);
      predict(row, facts, *rate);
      rows.push_back(std::move(row));
    } catch (const std::runtime_error& e) {  // InputError, NoData, Infeasible
      refuse(refused, name, e.what());
    }
  }
  for (auto& [why, row] : refused) report.refused.push_back(std::move(row));
  return rows;
}

std::vector<CappedPair> read_capped_pairs(const std::filesystem::path& dir, const Bundle& bundle,
                                          ValidationReport& report) {
  std::vector<CappedPair> pairs;
  const std::filesystem::path table = dir.parent_path() / "inference" / kRateFile;
  if (!has_table(table, report)) return pairs;
  CsvReader csv(table);
  const RowCells get(csv);
  // Requests a second and the line of a run, by "<submitter>/results/<system>/<benchmark>".
  std::map<std::string, std::pair<double, int>> runs;
  while (csv.next()) {
    constexpr std::string_view kClosed = ":closed/", kOffline = "/Offline";
    const std::string source = get.text("source_ref");
    const std::size_t from = source.find(kClosed);
    const auto rate = get.number("req_s");
    if (from == std::string::npos || !source.ends_with(kOffline) || !rate) continue;
    const std::size_t start = from + kClosed.size();
    runs[source.substr(start, source.size() - kOffline.size() - start)] = {*rate, csv.line()};
  }
  Facts facts(bundle);
  std::map<std::string, RefusedRow> refused;
  for (const auto& [run, capped] : runs) {
    const std::size_t mark = run.find(std::string(kMaxQ) + "/");
    if (mark == std::string::npos) continue;
    const auto free = runs.find(std::string(run).erase(mark, kMaxQ.size()));
    const std::string name = fmt::format("{}:{}", kRateFile, capped.second);
    try {
      if (free == runs.end()) throw NoData("no run without the cap is known");
      const std::size_t system = run.find("/results/") + std::string_view("/results/").size();
      const std::size_t end = mark + kMaxQ.size();
      CappedPair pair{
          row_of(run.substr(system, end - system), run.substr(end + 1), "offline", facts.catalog()),
          capped.first, free->second.first};
      pair.row.name = name;
      predict(pair.row, facts, capped.first);
      pairs.push_back(std::move(pair));
    } catch (const std::runtime_error& e) {  // InputError, NoData, Infeasible
      refuse(refused, name, e.what());
    }
  }
  for (auto& [why, row] : refused) report.refused.push_back(std::move(row));
  return pairs;
}

}  // namespace orrery
