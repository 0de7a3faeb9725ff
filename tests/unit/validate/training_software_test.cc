// Measured rows of training state the release of PyTorch and the library of attention.
#include <gtest/gtest.h>

#include <optional>

#include "orrery/hardware/catalog.h"
#include "orrery/validate/rows/training_rows.h"

namespace orrery {
namespace training_software_test {

TEST(TrainingSoftware, RowsStateTheirTorchAndTheirAttention) {
  EXPECT_EQ(stated_torch("deepspeed 0.19.2, torch 2.13"), (TorchVersion{2, 13}));
  EXPECT_EQ(stated_torch("2.11.0 cu130"), (TorchVersion{2, 11}));
  EXPECT_EQ(stated_torch("25.09"), std::nullopt);
  EXPECT_EQ(stated_torch("0.8.0"), std::nullopt);
  const Catalog catalog;
  TrainingRow row;
  row.stack.name = "fsdp";
  row.release = 2024.9;
  EXPECT_EQ(attention_of(row, catalog.gpu("h100-sxm")), "flash2");
  row.stack.attention = "cudnn";  // of a framework, where its times are known
  EXPECT_EQ(attention_of(row, catalog.gpu("h100-sxm")), "cudnn");
  EXPECT_EQ(attention_of(row, catalog.gpu("mi300x")), "");
  row.attention = "flash3";
  EXPECT_EQ(attention_of(row, catalog.gpu("h100-sxm")), "flash3");
}

}  // namespace training_software_test
}  // namespace orrery
