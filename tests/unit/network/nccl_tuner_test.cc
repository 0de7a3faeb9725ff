#include "orrery/network/collectives/nccl_tuner.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery {
namespace nccl_tuner_test {

using A = CollectiveAlgorithm;
using P = CollectiveProtocol;
using Kind = Collective::Kind;

constexpr BytesPerSecond kGb(1e9);

// The graphs of docs/reference/network.md, section "Graphs".
NcclGraph board(NcclGeneration generation, double ring, double nvls) {
  NcclGraph g;
  g.tables = &nccl_tables(Bundle());
  g.generation = generation;
  g.channels = 12;
  g.intra = g.inter = ring * kGb;
  g.nvls_channels = nvls > 0 ? 8 : 0;
  g.nvls = nvls * kGb;
  return g;
}
const NcclGraph kA100x8 = board(NcclGeneration::kAmpere, 20, 0);
const NcclGraph kH100x8 = board(NcclGeneration::kHopper, 30, 40);
const NcclGraph kB200x8 = board(NcclGeneration::kBlackwell, 60, 80);

NcclGraph h100(int nodes) {
  NcclGraph g = kH100x8;
  g.nodes = nodes;
  g.channels = 8;
  g.intra = g.inter = 48 * kGb;
  return g;
}

// Where the choice changes among powers of two from 8 bytes to 8 GiB.
std::string choices(const NcclGraph& g) {
  const NcclCosts costs = nccl_costs(g, Kind::kAllReduce);
  std::string out, last;
  for (int k = 3; k <= 33; ++k) {
    const auto c = nccl_choose(costs, Bytes(std::exp2(k)));
    std::string name(to_text(c->algorithm));
    name += " " + std::string(to_text(c->protocol));
    if (name != last) out += (out.empty() ? "" : ", ") + name + " 2^" + std::to_string(k);
    last = name;
  }
  return out;
}

// docs/reference/network.md, section "Graphs", "The choices that follow", line by line.
TEST(NcclTuner, ChoosesAsTheReferenceSays) {
  EXPECT_EQ(choices(kA100x8), "ring ll 2^3, ring ll128 2^22, ring simple 2^25");
  EXPECT_EQ(choices(kH100x8), "ring ll 2^3, nvls simple 2^21");
  EXPECT_EQ(choices(kB200x8), "ring ll 2^3, nvls simple 2^22");
  EXPECT_EQ(choices(h100(2)), "tree ll 2^3, tree ll128 2^18, nvls-tree simple 2^22");
  EXPECT_EQ(choices(h100(8)),
            "tree ll 2^3, tree ll128 2^18, nvls-tree simple 2^24, ring simple 2^32");
  EXPECT_EQ(choices(h100(128)), "tree ll 2^3, tree ll128 2^19, nvls-tree simple 2^26");
}

// By hand: ring LL on eight A100: 6.6 + 14 * 0.6 us; min(87.7, 240 / 2) GB/s of bus * 8/14.
TEST(NcclTuner, CostsOfARing) {
  const NcclCost ll = nccl_cost(kA100x8, Kind::kAllReduce, A::kRing, P::kLl);
  EXPECT_NEAR(ll.latency / microseconds(1), 15.0, 1e-9);
  EXPECT_NEAR(ll.bandwidth.value() / 1e9, 87.7 * 8 / 14, 1e-9);
  const NcclCost gather = nccl_cost(kA100x8, Kind::kAllGather, A::kRing, P::kSimple);
  EXPECT_NEAR(gather.latency / microseconds(1), 8.4 + 7 * 3.4, 1e-9);
  EXPECT_NEAR(gather.bandwidth.value() / 1e9, 240.0 * 8 / 7, 1e-9);
  // Two nodes of eight: 2 of 30 steps cross; the others cost 3 us of overhead with Simple's 3.4.
  const NcclCost across = nccl_cost(h100(2), Kind::kAllReduce, A::kRing, P::kSimple);
  EXPECT_NEAR(across.latency / microseconds(1), 8.4 + 28 * 3.4 + 2 * 14, 1e-9);
  // Rings with Simple on several nodes start 1.4 times slower from 64 bytes a channel and rank on.
  const Bytes edge(64 * 8 * 16);
  EXPECT_NEAR((nccl_time(across, edge) - edge / across.bandwidth) / across.latency, 1.4, 1e-9);
  EXPECT_NEAR((nccl_time(across, edge * 0.99) - edge * 0.99 / across.bandwidth) / across.latency, 1,
              1e-9);
}

// 8 * 40 * 0.85 * 7/8 * 2 = 476 GB/s of bus, * 8/14; on two nodes capped at 57.7 a channel.
TEST(NcclTuner, CostsOfTheSwitch) {
  EXPECT_NEAR(nccl_cost(kH100x8, Kind::kAllReduce, A::kNvls, P::kSimple).bandwidth.value() / 1e9,
              476.0 * 8 / 14, 1e-9);
  const NcclCost tree = nccl_cost(h100(2), Kind::kAllReduce, A::kNvlsTree, P::kSimple);
  EXPECT_NEAR(tree.bandwidth.value() / 1e9, 57.7 * 8 * 16 / 30, 1e-9);
  EXPECT_NEAR(tree.latency / microseconds(1), 25 + 2 * 20.9, 1e-9);
}

TEST(NcclTuner, OffersWhatNcclOffers) {
  const auto offers = [](const NcclGraph& g, Kind kind, A a, P p) {
    return nccl_cost(g, kind, a, p).available;
  };
  EXPECT_FALSE(offers(kH100x8, Kind::kAllReduce, A::kNvlsTree, P::kSimple));
  EXPECT_FALSE(offers(h100(2), Kind::kAllReduce, A::kNvls, P::kSimple));
  EXPECT_FALSE(offers(kA100x8, Kind::kAllReduce, A::kNvls, P::kSimple));
  EXPECT_FALSE(offers(kH100x8, Kind::kAllGather, A::kTree, P::kSimple));
  EXPECT_FALSE(offers(kH100x8, Kind::kAllGather, A::kPat, P::kSimple));
  EXPECT_FALSE(offers(kH100x8, Kind::kAllToAll, A::kRing, P::kSimple));
  NcclGraph switched = h100(4);
  switched.collnet = true;
  EXPECT_TRUE(offers(switched, Kind::kAllReduce, A::kNvls, P::kSimple));
  EXPECT_EQ(why_not_offered(h100(4), Kind::kAllReduce, A::kCollNetDirect, P::kSimple),
            "CollNet needs a network whose switches reduce");
  // A message passes each of 8 x 48 GB/s once: all-reduce at their sum.
  const NcclCost collnet = nccl_cost(switched, Kind::kAllReduce, A::kCollNetDirect, P::kSimple);
  EXPECT_NEAR(collnet.bandwidth.value() / 1e9, 8 * 48, 1e-9);
  NcclGraph single = h100(16);
  single.ranks_per_node = 1;
  EXPECT_TRUE(offers(single, Kind::kReduceScatter, A::kPat, P::kSimple));
  NcclGraph pci = kA100x8;
  pci.nvlink = false;
  EXPECT_FALSE(offers(pci, Kind::kAllReduce, A::kRing, P::kLl128));
}

// queryModel_lsa of src/sym_kernels.cc by hand. On eight H100, 64 blocks of 65 GB/s (2^30) reach
// the peak of 320: LL carries 320 x 1.0737 / (9 x 8) of the buffer. The switch takes 2 blocks that
// count for eight ranks each, soft_minimum(1040, 480, 65) = 479.99, and S (1 + 1/8) bytes.
TEST(NcclTuner, KernelsForSymmetricMemory) {
  NcclGraph g = h100(1);
  EXPECT_EQ(why_not_offered(g, Kind::kAllReduce, A::kSymmetricMemory, P::kSimple),
            "the buffers must be registered as windows");
  g.symmetric = true;
  const NcclCost ll = nccl_cost(g, Kind::kAllReduce, A::kSymmetricMemory, P::kLl);
  const NcclCost simple = nccl_cost(g, Kind::kAllReduce, A::kSymmetricMemory, P::kSimple);
  ASSERT_TRUE(ll.available && simple.available);
  EXPECT_NEAR(ll.latency / microseconds(1), 4.5, 1e-9);
  EXPECT_NEAR(simple.latency / microseconds(1), 7.8, 1e-9);
  EXPECT_NEAR(ll.bandwidth.value() / 1e9, 320 * 1.073741824 / 72, 0.01);
  EXPECT_NEAR(simple.bandwidth.value() / 1e9, 479.99 * 1.073741824 / 1.125, 0.1);
  EXPECT_FALSE(nccl_cost(g, Kind::kAllReduce, A::kSymmetricMemory, P::kLl128).available);
  EXPECT_FALSE(nccl_cost(g, Kind::kBroadcast, A::kSymmetricMemory, P::kSimple).available);
  g.version = LibraryVersion{2, 26};
  EXPECT_FALSE(nccl_cost(g, Kind::kAllReduce, A::kSymmetricMemory, P::kSimple).available);
  NcclGraph two = h100(2);
  two.symmetric = true;
  EXPECT_FALSE(nccl_cost(two, Kind::kAllReduce, A::kSymmetricMemory, P::kSimple).available);
}

TEST(NcclTuner, ForcedChoices) {
  const NcclGraph g = h100(8);
  const NcclCosts costs = nccl_costs(g, Kind::kAllReduce);
  const ForcedChoice ring{A::kRing, {}};
  const auto c = nccl_choose(costs, Bytes(1e6), ring);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->algorithm, A::kRing);
  EXPECT_FALSE(nccl_choose(costs, Bytes(1e6), {A::kPat, {}}));
  EXPECT_EQ(parse_collective_algorithm("NVLSTree", AlgorithmModel::kTuner), A::kNvlsTree);
  EXPECT_FALSE(parse_collective_algorithm("direct", AlgorithmModel::kTuner));
  EXPECT_EQ(parse_collective_protocol("LL128"), P::kLl128);
  EXPECT_FALSE(parse_collective_protocol("ll64"));
  EXPECT_EQ(why_not_offered(g, Kind::kAllReduce, A::kHalvingDoubling, P::kSimple),
            "NCCL does not have this algorithm");
}

}  // namespace nccl_tuner_test
}  // namespace orrery
