// Throughput of whole services over time, compared with measured runs of an older vLLM:
// disaggregated prefill and decode, and two engines behind a router. Skipped where the tables are
// absent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "orrery/base/csv.h"
#include "orrery/base/data_folder.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/service/service_detail.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace trajectory_accuracy_test {

RequestLoad load_of(const std::filesystem::path& workload) {
  CsvReader csv(workload);
  const int arrival = csv.column("arrival_s"), input = csv.column("input_toks"),
            output = csv.column("output_toks");
  RequestLoad load;
  while (csv.next()) {
    Request r;
    r.arrival = sim_seconds(csv.number(arrival));
    r.input = static_cast<std::int32_t>(csv.integer(input));
    r.output = static_cast<std::int32_t>(csv.integer(output));
    load.requests.push_back(r);
  }
  return load;
}

// Tokens in each second; a row of the tables counts those of the second before it.
std::vector<double> simulated(const Point& p, std::size_t seconds) {
  std::vector<double> bins(seconds + 1);
  for (const RequestRow& r : service_detail(p).requests) {
    for (std::int64_t i = 0; i < r.output; ++i) {
      const double t = (r.arrival + r.ttft + static_cast<double>(i) * r.tpot).value();
      bins[std::min(static_cast<std::size_t>(t) + 1, seconds)] += 1;
    }
  }
  return bins;
}

// Sum of |predicted - measured| over the sum of the measured.
double difference(const std::string& run, const std::string& scenario) {
  const std::filesystem::path dir = data_folder() / "inference/request_level" / run;
  const RequestLoad load = load_of(dir / "workload.csv.gz");
  std::vector<double> measured;
  CsvReader csv(dir / "throughput.csv");
  while (csv.next()) measured.push_back(csv.number(csv.column("throughput")));
  RunOptions options;
  options.intervals = false;
  options.requests = true;
  options.load = &load;
  const Point p =
      Runner{Bundle()}
          .run(read_scenario(all_kinds(), parse_yaml(scenario + "load: {requests: 1}\n", "s.yaml")),
               options)
          .points.at(0);
  const std::vector<double> bins = simulated(p, measured.size() + 20);
  double off = 0, sum = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double m = i < measured.size() ? measured[i] : 0;
    off += std::abs(bins[i] - m);
    sum += m;
  }
  fmt::print("{}: {:.1f} % of the tokens are in another second\n", run, 100 * off / sum);
  return off / sum;
}

bool absent() { return !std::filesystem::exists(data_folder() / "inference"); }

TEST(Accuracy, PrefillAndDecodeApartOverTime) {
  if (absent()) GTEST_SKIP() << "no measured rows to compare with";
  EXPECT_LE(difference("trajectory_rtx-a6000_llama-3.1-8b_pdd",
                       "model: llama-3.1-8b\nhardware: {gpu: rtx-a6000}\nengine: {overrides: "
                       "{scheduler: {prefix_caching: false}}}\ndisaggregation: {decode: 1}\n"),
            0.05);
}

TEST(Accuracy, TwoEnginesBehindARouterOverTime) {
  if (absent()) GTEST_SKIP() << "no measured rows to compare with";
  EXPECT_LE(difference("trajectory_h100-sxm-80gb_llama-3.1-70b_md",
                       "model: llama-3.1-70b\nhardware: {gpu: h100-sxm}\nparallel: {tp: "
                       "4}\nengine: {overrides: {scheduler: {prefix_caching: false}}}\ncluster: "
                       "{replicas: 2}\n"),
            0.15);
}

}  // namespace trajectory_accuracy_test
}  // namespace orrery
