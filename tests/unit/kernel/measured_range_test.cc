#include "orrery/kernel/surface/measured_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/surface/surface.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {
namespace measured_range_test {

MeasuredRange box() {
  MeasuredRange r;
  r.low = {0, 1, 0, 0};
  r.high = {3, 4, 11, 17};
  r.most = 20;
  return r;
}

TEST(MeasuredRange, HoldsWhatIsInTheBoxAndBelowTheSum) {
  EXPECT_TRUE(box().holds({3, 4, 0, 13}));
  EXPECT_FALSE(box().holds({3.5, 4, 0, 0}));
  EXPECT_FALSE(box().holds({0, 0.5, 0, 0}));
  EXPECT_FALSE(box().holds({3, 4, 0, 14}));
  EXPECT_TRUE(MeasuredRange().holds({-90, 90, 900, 9000}));
}

TEST(MeasuredRange, DistanceIsInDoublings) {
  EXPECT_DOUBLE_EQ(box().distance({3, 4, 0, 13}), 0);
  EXPECT_DOUBLE_EQ(box().distance({4, 1, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(box().distance({4, 0.5, 0, 0}), 1.5);
  EXPECT_DOUBLE_EQ(box().distance({3, 4, 10, 17}), 14);
  EXPECT_DOUBLE_EQ(MeasuredRange().distance({9, 9, 9, 9}), 0);
}

TEST(MeasuredRange, ExchangesWhatExceeds) {
  const AxisExchange heads{0, 2, 0.05};
  SurfacePlace inside(3, 1, 2, 5), outside(5, 1, 2, 5);
  EXPECT_DOUBLE_EQ(box().exchange({&heads, 1}, inside), 0);
  EXPECT_DOUBLE_EQ(inside.x[2], 2);
  EXPECT_DOUBLE_EQ(box().exchange({&heads, 1}, outside), 0.05 * std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(outside.x[0], 3);
  EXPECT_DOUBLE_EQ(outside.x[2], 4);
  EXPECT_DOUBLE_EQ(MeasuredRange().exchange({&heads, 1}, outside), 0);
  SurfacePlace full(5, 1, 10, 5);  // no room for all of it along the other: nothing is moved
  EXPECT_DOUBLE_EQ(box().exchange({&heads, 1}, full), 0);
  EXPECT_DOUBLE_EQ(full.x[0], 5);
}

TEST(MeasuredRange, IsWrittenByNodes) {
  SurfaceFile f;
  f.axes.nodes = {{0, 2, 4}, {1, 2, 4}};
  f.surfaces.push_back({"bf16", microseconds(2), 0.06, 0.02, std::vector<float>(9), {}});
  f.surfaces[0].measured_range.low = {2.3, 1, 0, 0};
  f.surfaces[0].measured_range.high = {2.9, 5.5, 0, 0};
  f.surfaces[0].measured_range.most = 7.01;
  const std::string text = to_text(f);
  const SurfaceFile read = parse_surfaces(text, "x.txt");
  EXPECT_EQ(to_text(read), text);
  const MeasuredRange& r = read.surfaces[0].measured_range;
  EXPECT_TRUE(r.holds({2, 5, 0, 0}));     // between the nodes around 2.3
  EXPECT_FALSE(r.holds({1.9, 4, 0, 0}));  // below them
  EXPECT_TRUE(r.holds({2, -5, 0, 0}));    // the first node is no end
  EXPECT_FALSE(r.holds({4, 4, 0, 0}));    // the sum
  EXPECT_FALSE(r.holds({1, 6.1, 0, 0}));
  std::string wrong = text;
  wrong.replace(wrong.find("range") + 6, 4, "#\"!!");
  EXPECT_THROW(parse_surfaces(wrong, "x.txt"), InputError);
}

KernelTime time_of(const std::string& gpu, const Op& op) {
  return make_kernel_model(Catalog().gpu(gpu), {}, Bundle())->predict(op);
}

DecodeAttention decode(std::int64_t sequences, int kv_heads, double context) {
  DecodeAttention a;
  a.batch = sequences, a.heads = a.kv_heads = kv_heads, a.head_dim = a.value_dim = 128;
  a.context = context;
  return a;
}

// vLLM's sweeps end at 8 KV heads. 32 heads of one sequence read as many bytes as 8 heads of four
// sequences.
TEST(MeasuredRange, HeadsOutsideTheSweepAreSequences) {
  for (const double context : {2048, 4096, 8192, 16384, 32768}) {
    const KernelTime beyond = time_of("l40s", decode(1, 32, context)),
                     within = time_of("l40s", decode(4, 8, context));
    // The end of the box is written with a margin of 1e-6.
    EXPECT_NEAR(beyond.time.value / within.time.value, 1, 1e-5) << context;
    EXPECT_GT(beyond.time.own, within.time.own) << context;
  }
}

TEST(MeasuredRange, FarOutsideNothingIsMeasured) {
  const KernelTime inside = time_of("h100-sxm", decode(16, 8, 4096)),
                   outside = time_of("h100-sxm", decode(100'000, 8, 1e6));
  EXPECT_EQ(inside.time.origin, Origin::kMeasured);
  EXPECT_EQ(outside.time.origin, Origin::kTransferred);
  EXPECT_GT(outside.time.own, 0.3);
  PrefillAttention p;
  p.heads = 32, p.kv_heads = 8, p.head_dim = p.value_dim = 128, p.new_tokens = 256;
  const KernelTime fresh = time_of("h100-sxm", p);
  EXPECT_EQ(fresh.time.origin, Origin::kMeasured);
  p.past = 8192;  // no table has a past: 33 times the keys count as 2 doublings
  const KernelTime later = time_of("h100-sxm", p);
  EXPECT_EQ(later.time.origin, Origin::kTransferred);
  EXPECT_GT(later.time.own, fresh.time.own + 0.1);
  p.past = 0, p.new_tokens = 100'000'000;
  EXPECT_EQ(time_of("h100-sxm", p).time.origin, Origin::kTransferred);
}

TEST(MeasuredRange, ExpertsOfNoSweptModelAreTransferred) {
  MoeExperts swept;  // Mixtral's
  swept.tokens = 64, swept.hidden = 4096, swept.intermediate = 14336, swept.experts = 8,
  swept.top_k = 2;
  MoeExperts other = swept;
  other.hidden = 4352;
  const KernelTime one = time_of("h100-sxm", swept), two = time_of("h100-sxm", other);
  EXPECT_EQ(one.time.origin, Origin::kMeasured);
  EXPECT_EQ(two.time.origin, Origin::kTransferred);
  EXPECT_GT(two.time.own, 0.17);
}

}  // namespace measured_range_test
}  // namespace orrery
