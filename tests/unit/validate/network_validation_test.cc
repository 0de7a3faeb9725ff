#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/validate/judge/network.h"

namespace orrery {
namespace network_validation_test {

class NetworkValidation : public ::testing::Test {
 protected:
  NetworkValidation() {
    char name[] = "/tmp/orrery-network-XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~NetworkValidation() override { std::filesystem::remove_all(dir_); }

  ValidationReport judge(const std::string& rows) {
    std::ofstream(dir_ / "measured.csv")
        << "collective,library,version,gpu,n_gpus,nodes,fabric,tuning,message_bytes,time_us,"
           "time_inplace_us,algbw_GBps,busbw_GBps,source\n"
        << rows;
    return validate_network(dir_, "", Bundle());
  }
  std::filesystem::path dir_;
};

TEST_F(NetworkValidation, RowsAreJudgedBesideAlphaBeta) {
  const ValidationReport r =
      judge("all_reduce,NCCL,,H100_SXM,8,1,NVSwitch,default,1073741824,4000,3900,,,x\n");
  ASSERT_EQ(r.rows.size(), 3u);
  EXPECT_EQ(r.rows[0].by.at("table"), "orrery");
  EXPECT_EQ(r.rows[0].by.at("metric"), "128 MiB and more");
  EXPECT_EQ(r.rows[0].measured, 3900);  // the smaller of the two
  EXPECT_GT(r.rows[0].predicted, 3000);
  EXPECT_LT(r.rows[0].predicted, 5000);
  // A ring: 14 hops of 0.6 us and 7/4 of the bytes at 450 GB/s.
  EXPECT_EQ(r.rows[1].by.at("table"), "alpha-beta");
  EXPECT_NEAR(r.rows[1].predicted, 14 * 0.6 + 1.75 * 1073741824 / 450e3, 0.1);
  // The pooled line is of orrery alone.
  const ErrorReport errors = grouped(r);
  EXPECT_EQ(errors.pooled.errors.n, 1u);
  EXPECT_NEAR(errors.pooled.errors.mape, 100 * std::abs(r.rows[0].predicted / 3900 - 1), 1e-9);
  ASSERT_EQ(errors.others.size(), 2u);
  EXPECT_EQ(errors.others[0].by.at("predictor"), "alpha-beta");
  EXPECT_EQ(errors.others[1].by.at("predictor"), "orrery left out");
  // The folder has no collective_nccl.csv.gz.
  ASSERT_EQ(r.skipped.size(), 1u);
  EXPECT_NE(r.skipped[0].find("collective_nccl.csv.gz"), std::string::npos);
}

TEST_F(NetworkValidation, PytorchAddsItsLaunchAndTuningIsForced) {
  const ValidationReport r = judge(
      "all_reduce,NCCL,,H100_SXM,8,1,NVSwitch,default,65536,20,,,,x\n"
      "all_reduce,NCCL,,H100_SXM,8,1,NVSwitch,default,65536,40,,,,stas00/ml-engineering\n"
      "all_reduce,NCCL,,H100_SXM,8,1,NVSwitch,NVLS=0,8589934592,40,,,,x\n"
      "all_reduce,NCCL,,H100_SXM,8,1,NVSwitch,default,8589934592,40,,,,x\n");
  ASSERT_EQ(r.rows.size(), 12u);
  EXPECT_NEAR(r.rows[3].predicted - r.rows[0].predicted, 19, 1e-6);
  EXPECT_GT(r.rows[6].predicted, 1.1 * r.rows[9].predicted);  // a ring against the switch
}

// H100 on NVSwitch is left out by constants of H200 alone. No fit has seen the exchange of H800
// within a node or a send of A100.
TEST_F(NetworkValidation, EveryRowIsAlsoJudgedWithoutItsGroup) {
  const ValidationReport r = judge(
      "all_reduce,NCCL,,H100_SXM,8,1,NVSwitch,default,65536,20,,,,x\n"
      "moe_dispatch,DeepEP,V1 normal,H800_SXM,8,1,NVSwitch,"
      "tokens=4096;hidden=7168;topk=8;fp8,,,,,153,x\n"
      "all_reduce,NCCL,,H20,8,1,NVSwitch,default,65536,20,,,,x\n");
  ASSERT_EQ(r.rows.size(), 8u);
  const ValidationRow &seen = r.rows[0], &left_out = r.rows[2], &dispatch = r.rows[4],
                      &unknown = r.rows[7];
  EXPECT_EQ(left_out.by.at("table"), "orrery left out");
  EXPECT_EQ(left_out.by.at("fitted"), "left out");
  EXPECT_NE(left_out.predicted, seen.predicted);
  EXPECT_NEAR(left_out.predicted, seen.predicted, 0.1 * seen.predicted);
  EXPECT_LT(left_out.low90, seen.low90);
  EXPECT_EQ(dispatch.by.at("fitted"), "no");
  EXPECT_EQ(dispatch.predicted, r.rows[3].predicted);
  EXPECT_EQ(unknown.by.at("fitted"), "no");
  EXPECT_EQ(unknown.by.at("seen"), "no");
}

TEST_F(NetworkValidation, RowsWithoutAPlaceAreRefused) {
  const ValidationReport r = judge(
      "all_reduce,NCCL,,A100_SXM,16,2,unspecified,default,65536,20,,,,x\n"
      "all_reduce,NCCL,,A100_SXM,8,1,NVSwitch,default,,,,,200,x\n"
      "barrier,NCCL,,A100_SXM,8,1,NVSwitch,default,8,20,,,,x\n"
      "moe_dispatch,DeepEP,V1 normal,H800_SXM,32,4,IB_NDR_8x400G,"
      "tokens=4096;hidden=7168;topk=8;fp8,,,,,58,x\n");
  EXPECT_EQ(r.refused.size(), 3u);
  ASSERT_EQ(r.rows.size(), 2u);
  EXPECT_EQ(r.rows[0].by.at("metric"), "bandwidth");
  EXPECT_NEAR(r.rows[0].predicted, 58, 10);
  EXPECT_LT(r.rows[0].low90, r.rows[0].high90);
}

TEST_F(NetworkValidation, AFolderWithoutTables) {
  EXPECT_THROW(validate_network(dir_, "", Bundle()), InputError);
  EXPECT_THROW(validate_network(dir_, "measurd", Bundle()), InputError);
}

// Two cards with a bridge of 300 GB/s: 30 MB take 100 us or more. Rows that are faster are of
// another machine, and so are the others of their group. One such row alone may be a slip.
TEST_F(NetworkValidation, GroupsFasterThanTheirWiresAreDistrusted) {
  const auto row = [](const char* gpu, int bytes, int us) {
    return fmt::format("sendrecv,NCCL,,{},2,1,NVLink_pair+PCIe,default,{},{},,,,x\n", gpu, bytes,
                       us);
  };
  const char *fast = "A100_PCIe_NVLink_pairs", *slip = "H100_PCIe_NVLink_pairs";
  const ValidationReport r =
      judge(row(fast, 30'000'000, 99) + row(fast, 60'000'000, 190) + row(fast, 90'000'000, 290) +
            row(fast, 1'000'000, 50) + row(slip, 30'000'000, 90) + row(slip, 60'000'000, 250));
  ASSERT_EQ(r.rows.size(), 18u);  // orrery, alpha-beta and left out
  for (std::size_t i = 0; i < r.rows.size(); ++i)
    EXPECT_EQ(r.rows[i].by.count("trusted"), i < 12 ? 1u : 0u) << r.rows[i].row;
  EXPECT_EQ(r.rows[0].by.at("trusted"), "distrusted");
}

// By hand: the only other row of a size is the closest one. H100 has 10 us where A40 has 20, which
// is 100 % off, and A40 is told by H100 with 50 %. No other GPU has a row of 4 KiB.
TEST_F(NetworkValidation, SendsAreToldBesideTheClosestOtherGroup) {
  const ValidationReport r = judge(
      "sendrecv,NCCL,,H100_SXM,2,1,NVSwitch,default,2048,10,,,,x\n"
      "sendrecv,NCCL,,H100_SXM,2,1,NVSwitch,default,4096,10,,,,x\n"
      "sendrecv,NCCL,,A40_NVLink_pairs,2,1,NVLink_pair+PCIe,default,2048,20,,,,x\n");
  EXPECT_NE(r.note.find(": 2 rows, median"), std::string::npos) << r.note;
  EXPECT_NE(r.note.find("(closest other row 75.0 and 75.0 %)"), std::string::npos) << r.note;
  EXPECT_NE(r.note.find("H100_SXM: 1 rows"), std::string::npos) << r.note;
  EXPECT_NE(r.note.find("(closest other row 100.0 and 100.0 %)"), std::string::npos) << r.note;
  EXPECT_NE(r.note.find("(closest other row 50.0 and 50.0 %)"), std::string::npos) << r.note;
}

// Three rows of the A100 are faster than its bridge, so that none of its rows is trusted. The line
// without them has the rows of H100 alone.
TEST_F(NetworkValidation, SendsAreToldWithoutDistrustedRowsToo) {
  std::string rows;
  for (const int megabytes : {30, 60, 90}) {
    rows += fmt::format(
        "sendrecv,NCCL,,A100_PCIe_NVLink_pairs,2,1,NVLink_pair+PCIe,default,"
        "{}000000,{},,,,x\n",
        megabytes, 3 * megabytes);
  }
  rows += "sendrecv,NCCL,,H100_SXM,2,1,NVSwitch,default,30000000,100,,,,x\n";
  const std::string note = judge(rows).note;
  EXPECT_NE(note.find(": 2 rows, median"), std::string::npos) << note;
  EXPECT_NE(note.find("without distrusted rows: 1 rows, median"), std::string::npos) << note;
}

TEST_F(NetworkValidation, ASendOfOneGroupHasNoOtherRow) {
  EXPECT_EQ(judge("sendrecv,NCCL,,H100_SXM,2,1,NVSwitch,default,2048,10,,,,x\n").note, "");
}

}  // namespace network_validation_test
}  // namespace orrery
