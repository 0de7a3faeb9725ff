#include "orrery/validate/rows/engine_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery {
namespace {

std::vector<RunRequest> read_requests(const std::filesystem::path& path) {
  CsvReader csv(path);
  const int arrival = csv.column("arrival_s"), queued = csv.column("queued_s"),
            scheduled = csv.column("scheduled_s"), first = csv.column("first_token_s"),
            last = csv.column("last_token_s"), input = csv.column("input_toks"),
            output = csv.column("output_toks");
  std::vector<RunRequest> out;
  while (csv.next()) {
    out.push_back({csv.number(arrival), csv.number(queued), csv.number(scheduled),
                   csv.number(first), csv.number(last), csv.integer(input), csv.integer(output)});
  }
  return out;
}

}  // namespace

EngineRun::EngineRun(const std::filesystem::path& dir, const Bundle& bundle)
    : name(dir.filename().string()), facts_(std::make_unique<Facts>(bundle)) {
  ParallelPlan plan;
  Deployment deployment;
  const std::filesystem::path file = dir / "config.json";
  try {
    std::ifstream in(file);
    const nlohmann::json config = nlohmann::json::parse(in);
    const auto& arguments = config.at("engine_kwargs");
    gpu = facts_->gpu(name.substr(0, name.find('_')));
    const Architecture& model = facts_->architecture(arguments.at("model").get<std::string>());
    plan.tp = arguments.at("tensor_parallel_size").get<int>();
    scenario.model = model.id;
    scenario.hardware.gpu = gpu.id;
    scenario.engine.profile = "vllm";
    deployment =
        make_deployment(scenario, model, gpu, load_engine(scenario.engine.profile, gpu, bundle));
    auto& limits = deployment.engine.scheduler;
    limits.max_num_batched_tokens = arguments.at("max_num_batched_tokens").get<std::int64_t>();
    limits.max_num_seqs = arguments.at("max_num_seqs").get<std::int64_t>();
    if (const auto& length = arguments.at("max_model_len"); !length.is_null())
      scenario.workload.max_model_len = length.get<std::int64_t>();
    if (const auto cache = config.find("kv_cache"); cache != config.end())
      kv_blocks = cache->at("num_gpu_blocks").get<std::int64_t>();
    if (const auto hardware = config.find("hardware"); hardware != config.end())
      gpu.memory.usable = Bytes(hardware->at("device_total_memory_bytes").get<double>());
  } catch (const nlohmann::json::exception& e) {
    throw InputError(fmt::format("{}: {}", file.string(), e.what()));
  }
  deployment.gpu = gpu;
  served_ = make_served_model(*facts_, facts_->architecture(scenario.model), std::move(deployment),
                              plan, {});
  requests = read_requests(dir / "requests.csv.gz");
}

SimulationConfig EngineRun::config() const {
  Scenario service = scenario;
  service.ask<ServiceQuestion>();
  return service_config(service, *served_, served_->memory->kv_blocks());
}

std::vector<std::filesystem::path> run_folders(const std::filesystem::path& dir,
                                               const std::string& only) {
  if (!std::filesystem::is_directory(dir))
    throw InputError(fmt::format("{}: no such folder", dir.string()));
  std::vector<std::filesystem::path> runs;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const bool whole = std::filesystem::exists(entry.path() / "config.json") &&
                       std::filesystem::exists(entry.path() / "timeseries.csv.gz") &&
                       std::filesystem::exists(entry.path() / "requests.csv.gz");
    if (whole && (only.empty() || entry.path().filename() == only)) runs.push_back(entry.path());
  }
  if (runs.empty()) {
    throw InputError(fmt::format(
        "{}: no run{}; expected folders with config.json, requests.csv.gz and timeseries.csv.gz",
        dir.string(), only.empty() ? "" : " called " + only));
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace orrery
