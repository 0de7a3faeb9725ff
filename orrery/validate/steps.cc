#include "orrery/validate/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/model/catalog.h"
#include "orrery/scenario/deployment.h"
#include "orrery/step/step_model.h"

namespace orrery {
namespace {

struct Request {
  double first, last, input, output;  // seconds, tokens
  // Tokens cached at `t`; 0 when it does not decode then.
  double context(double t) const {
    if (t < first || t > last || last <= first) return 0;
    return input + output * (t - first) / (last - first);
  }
};

std::vector<Request> read_requests(const std::filesystem::path& path) {
  CsvReader csv(path);
  const int input = csv.column("input_toks"), output = csv.column("output_toks"),
            first = csv.column("first_token_s"), last = csv.column("last_token_s");
  std::vector<Request> out;
  while (csv.next())
    out.push_back({csv.number(first), csv.number(last), csv.number(input), csv.number(output)});
  return out;
}

struct Second {
  double t, prompt, generated;
  std::int64_t running;
};

std::vector<Second> read_seconds(const std::filesystem::path& path) {
  CsvReader csv(path);
  const int t = csv.column("t"), prompt = csv.column("prompt_throughput"),
            generated = csv.column("gen_throughput"), running = csv.column("running");
  std::vector<Second> out;
  while (csv.next())
    out.push_back({csv.number(t), csv.number(prompt), csv.number(generated), csv.integer(running)});
  return out;
}

void read_run(const std::filesystem::path& dir, const Bundle& bundle, ValidationReport& report) {
  const std::string run = dir.filename().string();
  nlohmann::json config;
  std::ifstream in(dir / "config.json");
  try {
    config = nlohmann::json::parse(in);
    const Catalog catalog(bundle);
    const auto& arguments = config.at("engine_kwargs");
    // The folder's name begins with the GPU's.
    const Gpu gpu = catalog.gpu(run.substr(0, run.find('_')));
    const Architecture model = load_model(arguments.at("model").get<std::string>(), bundle);
    Scenario scenario;
    scenario.model = model.id;
    scenario.hardware.gpu = gpu.id;
    scenario.engine.profile = "vllm";
    const ParallelPlan plan{arguments.at("tensor_parallel_size").get<int>(), 1, 1, 1};
    const Deployment d =
        make_deployment(scenario, model, gpu, load_engine(scenario.engine.profile, bundle));
    const auto kernels = make_kernel_model(gpu, d.classes, bundle);
    const auto network = make_network_model(Cluster(catalog, gpu, plan.devices(), ""), plan,
                                            d.engine.kernels.collectives, bundle);
    const StepModel steps(model, plan, d.precision, d.engine, *kernels, *network);
    const std::vector<Request> requests = read_requests(dir / "requests.csv.gz");
    const std::vector<Second> seconds = read_seconds(dir / "timeseries.csv.gz");
    for (std::size_t i = 1; i < seconds.size(); ++i) {
      const Second &now = seconds[i], &before = seconds[i - 1];
      const bool steady = now.prompt == 0 && before.prompt == 0 && now.generated > 0 &&
                          now.running == before.running && now.running > 0;
      if (!steady) continue;
      double held = 0;
      std::int64_t decoding = 0;
      for (const Request& r : requests) {
        const double c = r.context(now.t - 0.5);
        held += c;
        decoding += c > 0;
      }
      // Requests that were preempted do not decode all the time between their first and last token.
      if (decoding == 0) continue;
      const double context = held / static_cast<double>(decoding);
      const Estimate<Seconds> e = steps.time({{{now.running, 1, context}}}).total;
      const auto ms = [&e](double p) { return e.quantile(p).value() * 1e3; };
      report.rows.push_back({{{"table", run},
                              {"metric", "decode step"},
                              {"system", gpu.id},
                              {"engine", d.engine.id},
                              {"fitted", "no"}},
                             fmt::format("{}:{}", run, now.t),
                             static_cast<double>(now.running) / now.generated * 1e3,
                             e.value.value() * 1e3,
                             ms(0.25),
                             ms(0.75),
                             ms(0.05),
                             ms(0.95),
                             e.origin});
    }
  } catch (const nlohmann::json::exception& e) {
    throw InputError(fmt::format("{}: {}", (dir / "config.json").string(), e.what()));
  } catch (const NoData& e) {
    report.refused.push_back({run, e.what()});
  } catch (const Infeasible& e) {
    report.refused.push_back({run, e.what()});
  }
}

}  // namespace

ValidationReport validate_steps(const std::filesystem::path& dir, const std::string& table,
                                const Bundle& bundle) {
  ValidationReport report;
  report.area = "steps";
  std::vector<std::filesystem::path> runs;
  if (!std::filesystem::is_directory(dir))
    throw InputError(fmt::format("{}: no such folder", dir.string()));
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const bool whole = std::filesystem::exists(entry.path() / "config.json") &&
                       std::filesystem::exists(entry.path() / "timeseries.csv.gz") &&
                       std::filesystem::exists(entry.path() / "requests.csv.gz");
    if (whole && (table.empty() || entry.path().filename() == table)) runs.push_back(entry.path());
  }
  if (runs.empty()) {
    throw InputError(fmt::format(
        "{}: no run{}; expected folders with config.json, requests.csv.gz and timeseries.csv.gz",
        dir.string(), table.empty() ? "" : " called " + table));
  }
  std::sort(runs.begin(), runs.end());
  for (const auto& run : runs) read_run(run, bundle, report);
  return report;
}

}  // namespace orrery
