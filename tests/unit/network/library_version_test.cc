// Versions of NCCL: what they have, and how sure a time of another version than the measured is.
#include "orrery/network/algorithms/library_version.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/network/collectives/make_network.h"

namespace orrery {
namespace library_version_test {

TEST(LibraryVersion, TextsAreReadAsNcclSpellsThem) {
  EXPECT_EQ(parse_library_version("2.27"), (LibraryVersion{2, 27}));
  EXPECT_EQ(parse_library_version("2.27.3"), (LibraryVersion{2, 27, 3}));
  EXPECT_EQ(parse_library_version("v2.27.3-1"), (LibraryVersion{2, 27, 3}));
  for (const char* text : {"", "2", "2.", "2.27.", "2.x", "3.1", "22.7", "-2.7", "2.-7", "2.27 ",
                           "2.27.3-", "2.27.3.1", "nccl", "2.1000"})
    EXPECT_FALSE(parse_library_version(text)) << text;
  EXPECT_EQ(to_text(LibraryVersion{2, 27}), "2.27");
  EXPECT_EQ(to_text(LibraryVersion{2, 27, 3}), "2.27.3");
}

TEST(LibraryVersion, VersionsBeforeTheOldestAreRefused) {
  EXPECT_EQ(asked_nccl_version("2.7"), kOldestNccl);
  EXPECT_EQ(asked_nccl_version("2.7.8").patch, 8);
  EXPECT_THROW(asked_nccl_version("2.6.4"), InputError);
  EXPECT_THROW(asked_nccl_version("latest"), InputError);
}

TEST(LibraryVersion, ReleasesOfOneMinorVersionCountAsMeasured) {
  EXPECT_TRUE(was_measured_with({"2.27.3", "2.29.2"}, {2, 29}));
  EXPECT_TRUE(was_measured_with({"2.27.3", "2.29.2"}, {2, 27, 7}));
  EXPECT_FALSE(was_measured_with({"2.27.3", "2.29.2"}, {2, 28}));
  EXPECT_FALSE(was_measured_with({}, {2, 28}));
}

class VersionedNetwork : public ::testing::Test {
 protected:
  std::unique_ptr<NetworkModel> network(int gpus, std::optional<LibraryVersion> version,
                                        const char* gpu = "h100-sxm", const char* stack = "nccl",
                                        int stride = 1) {
    return make_network_model(Cluster(catalog_, catalog_.gpu(gpu), gpus * stride),
                              {.tp = stride, .pp = 1, .dp = gpus}, stack, Bundle(), {}, version);
  }
  static Collective all_reduce(int ranks, double bytes) {
    return {Collective::Kind::kAllReduce, Collective::Group::kData, ranks, Bytes(bytes)};
  }
  static ForcedChoice forced(CollectiveAlgorithm algorithm) { return {algorithm, {}}; }

  const Catalog catalog_;
  static constexpr double kLong = 1 << 30;
};

// NCCL user guide, NCCL_ALGO: NVLS from 2.17, NVLSTree from 2.18, PAT from 2.23, CollNet from 2.14.
TEST_F(VersionedNetwork, AlgorithmsAreOfferedFromTheirFirstVersionOn) {
  using enum CollectiveAlgorithm;
  EXPECT_EQ(network(8, LibraryVersion{2, 16})->predict(all_reduce(8, kLong)).algorithm, "ring");
  EXPECT_EQ(network(8, LibraryVersion{2, 17})->predict(all_reduce(8, kLong)).algorithm, "nvls");
  const Collective c = all_reduce(8, kLong);
  EXPECT_THROW(network(8, LibraryVersion{2, 16, 5})->predict(c, forced(kNvls)), InputError);
  EXPECT_NO_THROW(network(8, LibraryVersion{2, 17})->predict(c, forced(kNvls)));

  const Collective wide = all_reduce(16, kLong);
  EXPECT_THROW(network(16, LibraryVersion{2, 17})->predict(wide, forced(kNvlsTree)), InputError);
  EXPECT_NO_THROW(network(16, LibraryVersion{2, 18})->predict(wide, forced(kNvlsTree)));
  EXPECT_THROW(network(16, LibraryVersion{2, 13})->predict(wide, forced(kCollNetDirect)),
               InputError);
  EXPECT_NO_THROW(network(16, LibraryVersion{2, 14})->predict(wide, forced(kCollNetDirect)));

  const Collective gather{Collective::Kind::kAllGather, Collective::Group::kData, 16, Bytes(65536)};
  const auto gathered = [&](LibraryVersion version) {
    return network(16, version, "h100-sxm", "nccl", 8)->predict(gather, forced(kPat));
  };
  EXPECT_THROW(gathered({2, 22}), InputError);
  EXPECT_NO_THROW(gathered({2, 23}));
}

TEST_F(VersionedNetwork, ARefusedAlgorithmNamesTheVersionThatHasIt) {
  try {
    network(8, LibraryVersion{2, 16})
        ->predict(all_reduce(8, kLong), forced(CollectiveAlgorithm::kNvls));
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("NCCL 2.16 does not have it, 2.17 does"),
              std::string::npos)
        << e.what();
  }
}

// The tables of collectives within a node of H100 were measured with NCCL 2.29.2.
TEST_F(VersionedNetwork, AnotherVersionThanTheMeasuredIsTransferredAndLessCertain) {
  const auto unasked = network(8, std::nullopt)->predict(all_reduce(8, kLong)).time;
  const auto same = network(8, LibraryVersion{2, 29})->predict(all_reduce(8, kLong)).time;
  const auto older = network(8, LibraryVersion{2, 21})->predict(all_reduce(8, kLong)).time;
  EXPECT_EQ(same.value, unasked.value);
  EXPECT_EQ(same.origin, Origin::kMeasured);
  EXPECT_EQ(same.sigma(), unasked.sigma());
  EXPECT_EQ(older.value, unasked.value);  // 2.21 has the algorithm
  EXPECT_EQ(older.origin, Origin::kTransferred);
  EXPECT_GT(older.sigma(), same.sigma());
}

// 16 H200 over RoCE were measured with 2.30.4, 16 H100 over InfiniBand with an unknown version.
TEST_F(VersionedNetwork, OverNodesTheVersionOfTheNetworksRowsCounts) {
  const auto roce = [&](std::optional<LibraryVersion> version) {
    const Cluster cluster(catalog_, catalog_.gpu("h200-sxm"), 16, "roce-400");
    return make_network_model(cluster, {.dp = 16}, "nccl", Bundle(), {}, version)
        ->predict(all_reduce(16, kLong))
        .time;
  };
  EXPECT_EQ(roce(LibraryVersion{2, 30}).sigma(), roce(std::nullopt).sigma());
  EXPECT_GT(roce(LibraryVersion{2, 20}).sigma(), roce(std::nullopt).sigma());
  const auto unknown = network(16, LibraryVersion{2, 30})->predict(all_reduce(16, kLong)).time;
  EXPECT_EQ(unknown.origin, Origin::kTransferred);
}

// One rank in each of 4 and 16 nodes. Version 2.23 has PAT beside the rings of 2.22, which is no
// reason for them to be slower.
TEST_F(VersionedNetwork, AnAlgorithmMoreIsNeverSlower) {
  for (const int ranks : {4, 16}) {
    for (const double bytes : {65536.0, 1048576.0, 16777216.0, 1073741824.0}) {
      const auto time = [&](LibraryVersion version) {
        const Cluster cluster(catalog_, catalog_.gpu("h100-sxm"), 8 * ranks);
        return make_network_model(cluster, {.tp = 8, .dp = ranks}, "nccl", Bundle(), {}, version)
            ->predict({Collective::Kind::kAllGather, Collective::Group::kData, ranks, Bytes(bytes)})
            .time.value;
      };
      EXPECT_LE(time({2, 23}), time({2, 22})) << ranks << " " << bytes;
    }
  }
}

// By hand from the tables of 2.20.3 for eight H100: a ring with LL takes 6.6 + 14 * 0.6 us and
// carries min(87.7, 360 / 4) * 8 / 14 GB/s, NVLS takes 23 us and carries 267 GB/s, so that NVLS is
// the least from 0.5 MB on. In 2.30 LL carries 141 * 8 / 14 GB/s and NVLS starts at 25 us.
TEST_F(VersionedNetwork, AVersionChoosesByItsOwnTables) {
  const auto chosen = [&](int minor, double bytes, const char* gpu) {
    return network(8, LibraryVersion{2, minor}, gpu)->choice(all_reduce(8, bytes), {});
  };
  EXPECT_EQ(chosen(20, 256 << 10, "h100-sxm").algorithm, "ring");
  EXPECT_EQ(chosen(20, 1 << 20, "h100-sxm").algorithm, "nvls");
  EXPECT_EQ(chosen(30, 1 << 20, "h100-sxm").algorithm, "ring");
  EXPECT_EQ(chosen(20, 1 << 20, "a100-80g-sxm").protocol, "ll");
  EXPECT_EQ(chosen(20, 2 << 20, "a100-80g-sxm").protocol, "ll128");
  EXPECT_EQ(chosen(30, 2 << 20, "a100-80g-sxm").protocol, "ll");
}

// A version that chooses the reduction in the switch waits for it.
TEST_F(VersionedNetwork, TheTimeIsThatOfTheVersionsChoice) {
  const Collective c = all_reduce(8, 1 << 20);
  const auto old = network(8, LibraryVersion{2, 20});
  EXPECT_EQ(old->predict(c).algorithm, "nvls");
  EXPECT_EQ(old->predict(c).time.value,
            old->predict(c, forced(CollectiveAlgorithm::kNvls)).time.value);
  EXPECT_GT(old->predict(c).time.value, network(8, LibraryVersion{2, 30})->predict(c).time.value);
  // A version without NVLS has the ring.
  EXPECT_EQ(network(8, LibraryVersion{2, 16})->predict(c).algorithm, "ring");
}

TEST_F(VersionedNetwork, AFrameworksOwnKernelDoesNotDependOnTheVersion) {
  const Collective small = all_reduce(8, 65536);
  const auto old = network(8, LibraryVersion{2, 10}, "h100-sxm", "vllm")->predict(small).time;
  const auto unasked = network(8, std::nullopt, "h100-sxm", "vllm")->predict(small).time;
  EXPECT_EQ(old.value, unasked.value);
  EXPECT_EQ(old.sigma(), unasked.sigma());
}

// NCCL user guide, NCCL_MNNVL_ENABLE: since 2.21.
TEST_F(VersionedNetwork, ARackIsOneDomainFrom221On) {
  EXPECT_THROW(network(8, LibraryVersion{2, 20}, "gb200"), InputError);
  EXPECT_NO_THROW(network(8, LibraryVersion{2, 21}, "gb200"));
  EXPECT_NO_THROW(network(4, LibraryVersion{2, 20}, "gb200"));
}

TEST_F(VersionedNetwork, OtherLibrariesHaveNoVersionOfNccl) {
  EXPECT_THROW(network(8, LibraryVersion{2, 27}, "mi300x", "rccl"), InputError);
  EXPECT_THROW(network(8, LibraryVersion{2, 27}, "mi300x"), InputError);
}

}  // namespace library_version_test
}  // namespace orrery
