// The convention looptree against mappings that AccelForge proved optimal, and rules worked out by
// hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "orrery/accelerator/architecture/chip_yaml.h"
#include "orrery/accelerator/cost/looptree_cost.h"
#include "orrery/base/bundle.h"
#include "tests/refusal.h"

namespace orrery {
namespace looptree_test {

Node entry(const std::string& path) {
  const auto file = Bundle().find("accelerators/" + path + ".yaml");
  return parse_yaml(file->content, file->name);
}
Chip chip(const std::string& name) { return read_chip(entry("hierarchies/" + name)); }
Cascade workload(const std::string& name) { return read_cascade(entry("workloads/" + name)); }

// Bits read and written of every tensor in every memory of a step, where there are any.
std::map<std::string, double> bits_of(const Chip& c, const Cascade& w, const CascadeCost& cost,
                                      std::size_t step) {
  std::map<std::string, double> all;
  for (const HolderCounts& h : cost.counts[step].holders) {
    const StorageLevel& level = c.levels[static_cast<std::size_t>(h.level)];
    const EinsumTensor& t = w.steps[step].einsum.tensors[static_cast<std::size_t>(h.tensor)];
    const std::string name = level.name + " " + t.name;
    if (h.reads > 0) all[name + " r"] = h.reads * element_bits(level, t);
    if (h.writes > 0) all[name + " w"] = h.writes * element_bits(level, t);
  }
  return all;
}

// Records are of arithmetic in single precision.
void expect_cost(const CascadeCost& cost, double joules, double seconds) {
  EXPECT_NEAR(cost.energy, joules, joules * 1e-7);
  EXPECT_NEAR(cost.seconds, seconds, seconds * 1e-7);
}

constexpr const char* kNvdla = R"(
  [W0,T1,T0 in MainMemory]
  T-m in [0..4) shape=256
  T-n1 in [0..8) shape=128
  [T1 in GlobalBuffer]
  T-n0 in [0..8) shape=128
  [W0 in GlobalBuffer]
  T-m in [0..2) shape=128
  [T0 in GlobalBuffer]
  T-n1 in [0..4) shape=32
  S-reuse_output-n0 in [0..128) shape=1
  S-reuse_input-n1 in [0..32) shape=1
  [W0 in Register]
  T-m in [0..128) shape=1
  MAC computes Matmul0
)";

TEST(Looptree, AProvedOptimumOnNvdlaHasItsCountsEnergyAndLatency) {
  const Chip c = chip("nvdla");
  const Cascade w = workload("matmul_1024");
  const CascadeMapping m = read_looptree_text(kNvdla, "nvdla", 1, w, c);
  const CascadeCost cost = cost_cascade(c, w, m);
  const std::map<std::string, double> expected = {
      {"GlobalBuffer T0 r", 268435456}, {"GlobalBuffer T0 w", 67108864},
      {"GlobalBuffer T1 r", 67108864},  {"GlobalBuffer T1 w", 67108864},
      {"GlobalBuffer W0 r", 67108864},  {"GlobalBuffer W0 w", 33554432},
      {"MainMemory T0 r", 67108864},    {"MainMemory W0 r", 33554432},
      {"MainMemory T1 w", 8388608},     {"Register W0 r", 8589934592},
      {"Register W0 w", 67108864}};
  EXPECT_EQ(bits_of(c, w, cost, 0), expected);
  EXPECT_EQ(cost.counts[0].operations, 1073741824);
  expect_cost(cost, 1.00624705e-3, 3.54986667e-4);
  EXPECT_NEAR(cost.steps[0].compute_seconds, 2.62144e-4, 1e-10);
  EXPECT_TRUE(overflows(c, w, m).empty());
}

TEST(Looptree, ABufferThatIsExactlyFullFitsAndABitLessDoesNot) {
  Chip c = chip("nvdla");
  const Cascade w = workload("matmul_1024");
  const CascadeMapping m = read_looptree_text(kNvdla, "nvdla", 1, w, c);
  c.levels[1].words = *c.levels[1].words - 1;
  const std::vector<Overflow> found = overflows(c, w, m);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_text(found[0], c, w),
            "Matmul0: GlobalBuffer would hold 524288 bits and has room for 524280; 8 are missing");
  c.levels[1].array[0].size = 31;
  EXPECT_EQ(to_text(overflows(c, w, m)[0], c, w),
            "Matmul0: loops in space take 32 instances along reuse_input below GlobalBuffer, which "
            "has 31");
}

TEST(Looptree, AProvedOptimumOnTpuV4iHasItsCountsEnergyAndLatency) {
  const Chip c = chip("tpu_v4i");
  const Cascade w = workload("matmul_1024");
  const CascadeMapping m = read_looptree_text(R"(
  [W0,T1,T0 in MainMemory]
  [W0 in GlobalBuffer]
  S-Z-m in [0..4) shape=256
  [T0 in LocalBuffer]
  T-n1 in [0..8) shape=128
  [T1 in LocalBuffer]
  T-n0 in [0..8) shape=128
  S-reuse_output-n0 in [0..128) shape=1
  S-reuse_input-n1 in [0..128) shape=1
  [W0 in Register]
  T-m in [0..256) shape=1
  MAC computes Matmul0
)",
                                              "tpu", 1, w, c);
  const CascadeCost cost = cost_cascade(c, w, m);
  const std::map<std::string, double> expected = {
      {"LocalBuffer T0 r", 67108864},  {"LocalBuffer T0 w", 8388608},
      {"LocalBuffer T1 r", 67108864},  {"LocalBuffer T1 w", 67108864},
      {"GlobalBuffer W0 r", 33554432}, {"GlobalBuffer W0 w", 8388608},
      {"MainMemory T0 r", 8388608},    {"MainMemory W0 r", 8388608},
      {"MainMemory T1 w", 8388608},    {"Register W0 r", 8589934592},
      {"Register W0 w", 33554432}};
  EXPECT_EQ(bits_of(c, w, cost, 0), expected);
  expect_cost(cost, 4.0553048e-4, 1.56038095e-5);
  EXPECT_NEAR(cost.steps[0].memories[0].seconds, 5.1233e-6, 1e-10);
  EXPECT_NEAR(cost.steps[0].memories[1].seconds, 2.048e-6, 1e-12);
}

// Two products on tpu_v4i; T1 goes from one to the other through `between`.
CascadeMapping two_products(const Chip& c, const Cascade& w, const std::string& between) {
  return read_looptree_text("  [T1 in " + between + R"(]
  Split
      [W0,T0 in MainMemory]
      [W0 in GlobalBuffer]
      S-Z-m in [0..4) shape=16
      [T0,T1 in LocalBuffer]
      S-reuse_output-n0 in [0..64) shape=1
      S-reuse_input-n1 in [0..64) shape=1
      [W0 in Register]
      T-m in [0..16) shape=1
      MAC computes Matmul0
      [W1,T2 in MainMemory]
      [W1 in GlobalBuffer]
      S-Z-m in [0..4) shape=16
      [T1,T2 in LocalBuffer]
      S-reuse_output-n1 in [0..64) shape=1
      S-reuse_input-n2 in [0..64) shape=1
      [W1 in Register]
      T-m in [0..16) shape=1
      MAC computes Matmul1
)",
                            "two", 1, w, c);
}

TEST(Looptree, AnIntermediateHeldOnTheChipNeverReachesMainMemory) {
  const Chip c = chip("tpu_v4i");
  const Cascade w = workload("matmuls_64");
  const CascadeCost apart = cost_cascade(c, w, two_products(c, w, "MainMemory"));
  const CascadeCost fused = cost_cascade(c, w, two_products(c, w, "GlobalBuffer"));
  expect_cost(apart, 2.14473115e-6, 4.00260589e-8);
  expect_cost(fused, 1.82294939e-6, 3.04761905e-8);
  EXPECT_EQ(bits_of(c, w, fused, 0).count("MainMemory T1 w"), 0u);
  EXPECT_EQ(bits_of(c, w, fused, 0).at("GlobalBuffer T1 w"), 32768);
  EXPECT_EQ(bits_of(c, w, fused, 1).at("GlobalBuffer T1 r"), 32768);
}

TEST(Looptree, TensorsOfOtherStepsTakeRoomWhileTheyLive) {
  // T1 stays in the buffer, 64 x 64 x 8 bits, beside the weights of either product.
  Chip c = chip("tpu_v4i");
  const Cascade w = workload("matmuls_64");
  const CascadeMapping m = two_products(c, w, "GlobalBuffer");
  c.levels[1].words = 2 * 64 * 64;
  EXPECT_TRUE(overflows(c, w, m).empty());
  c.levels[1].words = 2 * 64 * 64 - 1;
  EXPECT_EQ(overflows(c, w, m).size(), 2u);
  // Weights that live all the time and are kept there from the start take room in both.
  Cascade persistent = w;
  persistent.persistent = {"W0"};
  CascadeMapping on_chip = m;
  std::erase_if(on_chip.steps[0].mapping.nodes,
                [](const MappingNode& n) { return n.hold() && n.level == 0 && n.index == 2; });
  c.levels[1].words = 2 * 64 * 64;
  const std::vector<Overflow> found = overflows(c, persistent, on_chip);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].step, 1);
  EXPECT_EQ(found[0].needed, 3 * 64 * 64 * 8);
}

// A chain of products Tn = T(n-1) W(n-1), run point by point with all tensors in `holders`.
std::string chain(int products, std::int64_t size, const std::string& holders) {
  std::string text;
  const auto holder = [&](const std::string& memory, int first, int last) {
    std::string names;
    for (int t = first; t <= last; ++t) names += (names.empty() ? "T" : ",T") + std::to_string(t);
    for (int w = first; w < last; ++w) names += ",W" + std::to_string(w);
    return "[" + names + " in " + memory + "]\n";
  };
  const auto loop = [&](const std::string& dim) {
    return "  T-" + dim + " in [0.." + std::to_string(size) + ") shape=1\n";
  };
  text = holder("MainMemory", 0, products) + "Split\n";
  for (int i = 0; i < products; ++i) {
    if (!holders.empty()) text += "  " + holder(holders, i, i + 1);
    text += loop("m") + loop("n" + std::to_string(i)) + loop("n" + std::to_string(i + 1)) +
            "  MAC computes Matmul" + std::to_string(i) + "\n";
  }
  return text;
}

// The optima that AccelForge publishes for chips on which every access costs the same.
TEST(Looptree, PublishedTotalsOnChipsOfUnitCosts) {
  const auto cost = [](const char* c, const char* w, const std::string& text) {
    const Chip on = chip(c);
    const Cascade cascade = workload(w);
    return cost_cascade(on, cascade, read_looptree_text(text, w, 1, cascade, on));
  };
  expect_cost(cost("simple", "matmuls_64", chain(2, 64, "")), 17235968, 524288);
  expect_cost(cost("simple", "three_matmuls_128", chain(3, 128, "")), 207224832, 6291456);
  EXPECT_NEAR(cost("snowcat", "matmuls_64", chain(2, 64, "GlobalBuffer")).energy, 196608, 1e-6);
  EXPECT_NEAR(cost("snowcat", "three_matmuls_128", chain(3, 128, "GlobalBuffer")).energy, 1179648,
              1e-6);
}

TEST(Looptree, EveryChipAndWorkloadOfTheCatalogIsRead) {
  const ComponentLibrary library{Bundle()};
  for (const std::string& path : Bundle().list("accelerators/hierarchies", ".yaml")) {
    const auto file = Bundle().find(path);
    const Chip c = read_chip(parse_yaml(file->content, path), &library);
    EXPECT_NE(path.find(c.name), std::string::npos);
  }
  for (const std::string& path : Bundle().list("accelerators/workloads", ".yaml")) {
    const auto file = Bundle().find(path);
    const Cascade c = read_cascade(parse_yaml(file->content, path));
    EXPECT_NE(path.find(c.name), std::string::npos);
    for (const std::string& tensor : c.persistent) {
      EXPECT_TRUE(std::any_of(c.steps.begin(), c.steps.end(), [&](const CascadeStep& s) {
        return std::any_of(s.einsum.tensors.begin(), s.einsum.tensors.end(),
                           [&](const EinsumTensor& t) { return t.name == tensor && !t.output; });
      })) << tensor;
    }
  }
}

// Y[p] = X[p + r] * F[r] with 6 outputs and 3 taps, on a memory above a buffer.
Cascade convolution() {
  return read_cascade(parse_yaml(R"(
name: conv
bits: 1
sizes: {p: 6, r: 3}
einsums: ["Y[p] = X[p + r] * F[r]"]
)",
                                 "conv.yaml"));
}
Chip two_memories() {
  return read_chip(parse_yaml(R"(
name: two
word_bits: 1
levels:
  - {name: Main, bandwidth: 1 Gbit/s, read_pj_per_bit: 10, write_pj: 20}
  - {name: Buffer, capacity: 1 KiB, read_pj: 1, write_pj: 2, leak_w: 0.001}
compute: {name: MAC, rate: 1 GHz, pj: 3}
)",
                              "two.yaml"));
}

TEST(Looptree, AHaloIsSharedBelowAHolderAndFetchedAgainAbove) {
  const Chip c = two_memories();
  const Cascade w = convolution();
  const auto fetched = [&](const std::string& nest) {
    const CascadeMapping m =
        read_looptree_text("[Y,X,F in Main]\n" + nest + "MAC computes Y\n", "conv", 1, w, c);
    return bits_of(c, w, cost_cascade(c, w, m), 0).at("Main X r");
  };
  EXPECT_EQ(fetched("[X,Y,F in Buffer]\nT-p in [0..6) shape=1\nT-r in [0..3) shape=1\n"), 8);
  // Two tiles of 3 + 2.
  EXPECT_EQ(fetched("T-p in [0..2) shape=3\n[X,Y,F in Buffer]\nT-p in [0..3) shape=1\n"
                    "T-r in [0..3) shape=1\n"),
            10);
  // A loop that does not move F, above it, fetches it again; X is fetched for each tap.
  EXPECT_EQ(fetched("T-r in [0..3) shape=1\n[X,Y,F in Buffer]\nT-p in [0..6) shape=1\n"), 18);
}

TEST(Looptree, AStreamedTileNeedsRoomForItsInnerPartAlone) {
  const Chip c = two_memories();
  const Cascade w = convolution();
  const CascadeMapping m = read_looptree_text(
      "[Y,X,F in Main]\n[Y in Buffer]\nT-p in [0..6) shape=1\n[F in Buffer]\n"
      "T-r in [0..3) shape=1\n[X in Buffer]\nMAC computes Y\n",
      "conv", 1, w, c);
  LooptreeCounts counts;
  count_looptree(w.steps[0].einsum, c, m.steps[0].mapping, 0, counts);
  std::map<int, double> room;
  for (const HolderCounts& h : counts.holders) {
    if (h.level == 1) room[h.tensor] = h.tile;
  }
  EXPECT_EQ(room.at(0), 1);  // Y: p streams through
  EXPECT_EQ(room.at(2), 1);  // F: r streams through
  EXPECT_EQ(room.at(1), 1);  // X below both
}

TEST(Looptree, EnergyAndTimeOfAMemoryByHand) {
  const Chip c = two_memories();
  const Cascade w = convolution();
  const CascadeMapping m = read_looptree_text(
      "[Y,X,F in Main]\n[X,Y,F in Buffer]\nT-p in [0..6) shape=1\nT-r in [0..3) shape=1\n"
      "MAC computes Y\n",
      "conv", 1, w, c);
  const LooptreeCost cost = cost_cascade(c, w, m).steps[0];
  // Main: 8 of X and 3 of F read, 6 of Y written.
  EXPECT_NEAR(cost.memories[0].seconds, 17e-9, 1e-18);
  EXPECT_NEAR(cost.memories[0].read_energy, 110e-12, 1e-21);
  EXPECT_NEAR(cost.memories[0].write_energy, 120e-12, 1e-21);
  // Buffer: operands of 18 points, 12 partial sums and 6 results read; 11 + 18 written.
  EXPECT_NEAR(cost.memories[1].read_energy, 54e-12, 1e-21);
  EXPECT_NEAR(cost.memories[1].write_energy, 58e-12, 1e-21);
  EXPECT_NEAR(cost.memories[1].leakage, 18e-12, 1e-21);  // 18 ns of a milliwatt
  EXPECT_NEAR(cost.compute_energy, 54e-12, 1e-21);
  EXPECT_NEAR(cost.seconds, 18e-9, 1e-18);
}

TEST(Looptree, ATollIsChargedForWhatPassesInBothDirections) {
  Chip c = two_memories();
  c.levels[1].kind = StorageLevel::Kind::kToll;
  const Cascade w = convolution();
  const CascadeMapping m = read_looptree_text(
      "[Y,X,F in Main]\n[X,Y in Buffer]\nT-p in [0..6) shape=1\nT-r in [0..3) shape=1\n"
      "MAC computes Y\n",
      "conv", 1, w, c);
  const auto bits = bits_of(c, w, cost_cascade(c, w, m), 0);
  EXPECT_EQ(bits.at("Buffer X r"), 18);
  EXPECT_EQ(bits.at("Buffer Y r"), 18 + 12);  // written, and all but the first partial sums read
  EXPECT_EQ(bits.at("Main X r"), 18);
  EXPECT_EQ(bits.at("Main Y w"), 18);
}

std::string refused_mapping(const std::string& text) {
  const Chip c = two_memories();
  const Cascade w = convolution();
  return refusal_of([&] { read_looptree_text(text, "m.txt", 5, w, c); });
}

TEST(Looptree, MessagesOfMappingsNameTheLine) {
  EXPECT_EQ(refused_mapping("[Y,X,F in Mian]\nMAC computes Y\n"),
            "m.txt:5: no memory 'Mian' (Main, Buffer) (did you mean 'Main'?)");
  EXPECT_EQ(refused_mapping("[Y,X,F in Main]\nT-q in [0..6) shape=1\nMAC computes Y\n"),
            "m.txt:6: no dimension of Y 'q' (p, r) (did you mean 'p'?)");
  EXPECT_EQ(refused_mapping("[Y,X,F in Main]\nT-p in [0..4) shape=1\nMAC computes Y\n"),
            "m.txt:6: a tile of 6 in p is not divided into 4 of 1");
  EXPECT_EQ(refused_mapping("[Y,X,F in Main]\nT-p in [0..6) shape=1\nMAC computes Y\n"),
            "m.txt:7: the loops of Y over r leave a tile of 3");
  EXPECT_EQ(refused_mapping("[Y,X in Main]\nT-p in [0..6) shape=1\nT-r in [0..3) shape=1\n"
                            "MAC computes Y\n"),
            "m.txt:8: tensor F of Y is held nowhere");
  EXPECT_EQ(refused_mapping("[Y,X,F in Main]\n"), "m.txt:5: no mapping of einsum Y");
  EXPECT_EQ(refused_mapping("walk\n"),
            "m.txt:5: expected a holder, a loop, Split or the compute of an einsum, got 'walk'");
}

TEST(Looptree, MessagesOfCascadesNameTheEinsum) {
  const auto refused = [](const std::string& einsum) {
    return refusal_of([&] {
      read_cascade(
          parse_yaml("name: c\nsizes: {m: 4, n: 2}\neinsums:\n  - \"" + einsum + "\"\n", "c.yaml"));
    });
  };
  EXPECT_EQ(refused("Z[m, k] = A[m, n]"),
            "c.yaml:4: einsums[0]: dimension 'k' has no size; sizes are given of m, n "
            "(did you mean 'm'?)");
  EXPECT_EQ(refused("Z[m, n] A[m, n]"),
            "c.yaml:4: einsums[0]: expected '=' after 'Z[m, n] ', as in 'Z[m, n] = A[m, k] * B[k, "
            "n]'");
  EXPECT_EQ(refused("Z[m, 0*n] = A[m, n]"),
            "c.yaml:4: einsums[0]: expected a coefficient of 1 to 65536, got '0'");
}

TEST(Looptree, MessagesOfChipsNameTheKey) {
  const auto refused = [](const std::string& level) {
    return refusal_of([&] {
      read_chip(parse_yaml("name: c\nlevels:\n  - {name: A" + level +
                               "}\ncompute: {name: MAC}\nbeside: [{name: S, level: B}]\n",
                           "c.yaml"));
    });
  };
  EXPECT_EQ(refused(""), "c.yaml:5: beside[0].level: no level named 'B' (did you mean 'A'?)");
  EXPECT_EQ(refused(", read_pj: 1, read_pj_per_bit: 2"),
            "c.yaml:3: levels[0].read_pj: is given for an access and for a bit; give one");
  EXPECT_EQ(refused(", access_bits: 12"),
            "c.yaml:3: levels[0].access_bits: expected a multiple of word_bits (8)");
  EXPECT_NE(refused(", bandwith: 1 GB/s").find("did you mean 'bandwidth'"), std::string::npos);
}

}  // namespace looptree_test
}  // namespace orrery
