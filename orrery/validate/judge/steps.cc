#include "orrery/validate/judge/steps.h"

#include <fmt/format.h>

#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/validate/rows/engine_run.h"

namespace orrery {
namespace {

// Tokens that a request holds at time `t`; 0 if it does not decode at that time.
double context_at(const RunRequest& r, double t) {
  if (t < r.first || t > r.last || r.last <= r.first) return 0;
  return static_cast<double>(r.input) +
         static_cast<double>(r.output) * (t - r.first) / (r.last - r.first);
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
  const std::string name = dir.filename().string();
  try {
    const EngineRun run(dir, bundle);
    const std::vector<Second> seconds = read_seconds(dir / "timeseries.csv.gz");
    for (std::size_t i = 1; i < seconds.size(); ++i) {
      const Second &now = seconds[i], &before = seconds[i - 1];
      const bool steady = now.prompt == 0 && before.prompt == 0 && now.generated > 0 &&
                          now.running == before.running && now.running > 0;
      if (!steady) continue;
      double held = 0;
      std::int64_t decoding = 0;
      for (const RunRequest& r : run.requests) {
        const double c = context_at(r, now.t - 0.5);
        held += c;
        decoding += c > 0;
      }
      // Requests that were preempted do not decode all the time between their first and last token.
      if (decoding == 0) continue;
      const double context = held / static_cast<double>(decoding);
      const Estimate<Seconds> e = run.steps().time({{{now.running, 1, context}}}).total;
      const auto ms = [&e](double p) { return e.quantile(p).value() * 1e3; };
      report.rows.push_back({{{"table", name},
                              {"metric", "decode step"},
                              {"system", run.gpu.id},
                              {"engine", run.served().deployment.engine.id},
                              {"fitted", "no"}},
                             fmt::format("{}:{}", name, now.t),
                             static_cast<double>(now.running) / now.generated * 1e3,
                             e.value.value() * 1e3,
                             ms(0.25),
                             ms(0.75),
                             ms(0.05),
                             ms(0.95),
                             e.origin});
    }
  } catch (const NoData& e) {
    report.refused.push_back({name, e.what()});
  } catch (const Infeasible& e) {
    report.refused.push_back({name, e.what()});
  }
}

}  // namespace

ValidationReport validate_steps(const std::filesystem::path& dir, const std::string& table,
                                const Bundle& bundle) {
  ValidationReport report;
  report.area = "steps";
  for (const auto& run : run_folders(dir, table)) read_run(run, bundle, report);
  return report;
}

}  // namespace orrery
