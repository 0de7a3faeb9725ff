// Does the tuner choose the algorithm that NCCL took, in the rows of network/measured.csv whose
// source states it ("default(NVLS)")?
#include <gtest/gtest.h>

#include "orrery/base/csv.h"
#include "orrery/base/data_folder.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/network/fit/measured_place.h"

namespace orrery {
namespace {

TEST(NcclChoiceAccuracy, TheAlgorithmIsTheOneThatTheSourceNames) {
  const Catalog catalog;
  const std::string beginning = "default(";
  CsvReader csv(data_folder() / "network/measured.csv");
  const int collective = csv.column("collective"), gpu = csv.column("gpu"),
            ranks = csv.column("n_gpus"), nodes = csv.column("nodes"),
            fabric = csv.column("fabric"), tuning = csv.column("tuning"),
            bytes = csv.column("message_bytes");
  int rows = 0;
  while (csv.next()) {
    const std::string text(csv.text(tuning));
    if (!text.starts_with(beginning)) continue;
    ASSERT_EQ(csv.text(collective), "all_reduce");
    const auto named = parse_collective_algorithm(
        text.substr(beginning.size(), text.size() - beginning.size() - 1), AlgorithmModel::kTuner);
    ASSERT_TRUE(named) << text;
    const int n = static_cast<int>(csv.integer(ranks));
    const auto place = measured_place(catalog, csv.text(gpu), n,
                                      static_cast<int>(csv.integer(nodes)), csv.text(fabric));
    ASSERT_TRUE(place);
    const auto model = make_network_model(*place, {.tp = n}, "nccl", Bundle());
    const Collective asked{Collective::Kind::kAllReduce, Collective::Group::kTensor, n,
                           Bytes(csv.number(bytes))};
    EXPECT_EQ(model->choice(asked).algorithm, to_text(*named)) << "line " << csv.line();
    ++rows;
  }
  EXPECT_GE(rows, 4);
}

}  // namespace
}  // namespace orrery
