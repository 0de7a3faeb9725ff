// Does astra_sim_time equal the times that ASTRA-sim printed (data/network/astra_sim.csv)? All
// congestion-aware rows are compared, to the nanosecond. `accuracy_tests
// --gtest_filter='AstraSim*'` prints how many there are and the worst.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "orrery/base/csv.h"
#include "orrery/base/data_folder.h"
#include "orrery/flow/chakra/astra_sim.h"

namespace orrery {
namespace astra_sim_accuracy_test {

TEST(AstraSimAccuracy, EveryCongestionAwareRowIsReproduced) {
  const std::map<std::string, Collective::Kind, std::less<>> kinds = {
      {"all_reduce", Collective::Kind::kAllReduce},
      {"all_gather", Collective::Kind::kAllGather},
      {"reduce_scatter", Collective::Kind::kReduceScatter},
      {"all_to_all", Collective::Kind::kAllToAll}};
  const std::map<std::string, Wiring, std::less<>> wirings = {
      {"Ring", Wiring::kRing}, {"FullyConnected", Wiring::kMesh}, {"Switch", Wiring::kSwitch}};
  CsvReader csv(data_folder() / "network/astra_sim.csv");
  const int backend = csv.column("backend"), topology = csv.column("topology"),
            npus = csv.column("n_npus"), bandwidth = csv.column("bandwidth"),
            latency = csv.column("latency_ns"), algorithm = csv.column("algorithm"),
            collective = csv.column("collective"), bytes = csv.column("message_bytes"),
            predicted = csv.column("predicted_ns");
  int rows = 0, exact = 0;
  double worst = 0;
  while (csv.next()) {
    if (csv.text(backend) != "congestion_aware") continue;
    const AstraSimDimension d{wirings.find(csv.text(topology))->second,
                              static_cast<int>(csv.integer(npus)), csv.number(bandwidth),
                              csv.number(latency)};
    const Seconds t =
        astra_sim_time(kinds.find(csv.text(collective))->second,
                       parse_flow_algorithm(csv.text(algorithm)), d, Bytes(csv.number(bytes)));
    const double ns = t.value() * 1e9;
    worst = std::max(worst, std::abs(ns / csv.number(predicted) - 1));
    exact += std::abs(ns - csv.number(predicted)) < 1;
    ++rows;
  }
  std::printf("  %d rows, %d to the nanosecond, worst %.2g %%\n", rows, exact, 100 * worst);
  EXPECT_GT(rows, 300);
  EXPECT_EQ(exact, rows);
}

}  // namespace astra_sim_accuracy_test
}  // namespace orrery
