// Sends between GPUs of larger groups.
#include "orrery/network/wires/send_channels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/network/collectives/make_network.h"

namespace orrery {
namespace {

constexpr double kKibi = 1024, kMebi = 1 << 20;

// addP2pToPlan by hand: parts of 64 KiB, 32 / ranks channels (a power of two), and twice as many
// from parts of more than 16 MiB on.
TEST(SendChannels, FollowTheGroupAndTheMessage) {
  EXPECT_EQ(send_channels(2, Bytes(64 * kKibi)), 1);
  EXPECT_EQ(send_channels(2, Bytes(65 * kKibi)), 2);
  EXPECT_EQ(send_channels(2, Bytes(kMebi)), 16);
  EXPECT_EQ(send_channels(2, Bytes(256 * kMebi)), 16);
  EXPECT_EQ(send_channels(2, Bytes(257 * kMebi)), 32);
  EXPECT_EQ(send_channels(4, Bytes(64 * kMebi)), 8);
  EXPECT_EQ(send_channels(8, Bytes(64 * kMebi)), 4);
  EXPECT_EQ(send_channels(8, Bytes(65 * kMebi)), 8);
  EXPECT_EQ(send_channels(8, Bytes(1024 * kMebi)), 32);
  EXPECT_EQ(send_channels(5, Bytes(kMebi)), 4);
  EXPECT_EQ(send_channels(64, Bytes(kMebi)), 1);
}

// A pair that carries 320 GB/s has 20 a channel at least; with a limit of 45 a channel is taken to
// carry 30. Four channels then carry 64 MiB less their first 64 KiB each at 120 GB/s.
TEST(SendChannels, FewChannelsCarryLess) {
  const BytesPerSecond pair(320e9), most(45e9);
  const Bytes message(64 * kMebi);
  const SendTransfer eight = send_transfer(8, message, message / pair, most);
  EXPECT_NEAR(eight.time.value(), (16 * kMebi - 64 * kKibi) / 30e9, 1e-9);
  EXPECT_NEAR(eight.error, std::log(1.5) / heavy_quantile(0.95), 1e-9);
  EXPECT_EQ(send_transfer(2, message, message / pair, most).time, message / pair);
  EXPECT_EQ(send_transfer(2, message, message / pair, most).error, 0);
  // Twice as many channels do not make a longer message quicker.
  EXPECT_GE(send_transfer(8, Bytes(65 * kMebi), Bytes(65 * kMebi) / pair, most).time, eight.time);
}

TEST(SendChannels, ASendIsNoQuickerInALargerGroup) {
  const Catalog catalog;
  for (const char* gpu : {"a100-80g-sxm", "h100-sxm", "b200-sxm"}) {
    const auto model =
        make_network_model(Cluster(catalog, catalog.gpu(gpu), 8), {.tp = 8}, "nccl", Bundle());
    for (const int ranks : {2, 4, 8}) {
      Seconds before(0);
      for (double bytes = 1024; bytes < 4e9; bytes *= 1.3) {
        const auto send = [&](int n) {
          return model
              ->predict({Collective::Kind::kSend, Collective::Group::kTensor, n, Bytes(bytes)})
              .time.value;
        };
        EXPECT_GE(send(ranks), before) << gpu << " x" << ranks << " " << bytes;
        EXPECT_GE(send(ranks), send(2));
        before = send(ranks);
      }
    }
  }
}

}  // namespace
}  // namespace orrery
