// Does the tuner choose the algorithm that NCCL took, in the rows of network/measured.csv whose
// source states it ("default(NVLS)")? All-reduces only.
#include <gtest/gtest.h>

#include "orrery/base/csv.h"
#include "orrery/base/data_folder.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/network/fit/measured_place.h"

namespace orrery {
namespace nccl_choice_accuracy_test {

TEST(NcclChoiceAccuracy, TheAlgorithmIsTheOneThatTheSourceNames) {
  const Catalog catalog;
  const std::string beginning = "default(";
  CsvReader csv(data_folder() / "network/measured.csv");
  const int collective = csv.column("collective"), gpu = csv.column("gpu"),
            ranks = csv.column("n_gpus"), nodes = csv.column("nodes"),
            fabric = csv.column("fabric"), tuning = csv.column("tuning"),
            bytes = csv.column("message_bytes");
  int rows = 0, others = 0;
  while (csv.next()) {
    const std::string text(csv.text(tuning));
    if (!text.starts_with(beginning)) continue;
    // One all-gather of 16 GiB on eight H200 is a ring where the tuner has NVLS (docs/network.md).
    if (csv.text(collective) != "all_reduce") continue;
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
    const bool same = model->choice(asked).algorithm == to_text(*named);
    // The row of five H200 is NVLS, although that of five B200 and the tuner's formula have a ring.
    const bool known = n == 5 && csv.text(gpu).starts_with("H200");
    EXPECT_EQ(same, !known) << "line " << csv.line();
    others += same ? 0 : 1;
    ++rows;
  }
  EXPECT_GE(rows, 4);
  EXPECT_LE(others, 1);
}

}  // namespace nccl_choice_accuracy_test
}  // namespace orrery
