#include "orrery/network/wires/send_channels.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/estimate.h"

namespace orrery {
namespace {

constexpr int kChannels = 32;  // of all sends of a GPU
constexpr int kOfPair = 16;    // of the send in a group of two
constexpr Bytes kLeastPart(64 << 10), kMostPart(16 << 20);

// The channels of a group's send, before the parts of a long message are halved.
int channels_of_group(int ranks) {
  int most = kChannels;
  while (most > 1 && most * ranks > kChannels) most /= 2;
  return most;
}

}  // namespace

int send_channels(int ranks, Bytes bytes) {
  const double parts = std::ceil(bytes / kLeastPart);
  int channels = std::max(1, static_cast<int>(std::min<double>(channels_of_group(ranks), parts)));
  while (bytes / channels > kMostPart && channels <= kChannels / 2) channels *= 2;
  return channels;
}

SendTransfer send_transfer(int ranks, Bytes bytes, Seconds pair, BytesPerSecond most) {
  const BytesPerSecond least = bytes / pair / kOfPair;
  if (most <= least) return {pair, 0};
  const int channels = send_channels(ranks, bytes);
  Bytes part = std::max(bytes / channels, std::min(bytes, kLeastPart));
  if (channels > channels_of_group(ranks)) part = std::max(part, kMostPart);
  const BytesPerSecond one(std::sqrt(least.value() * most.value()));
  const Seconds beyond = (part - kLeastPart) / one;
  if (beyond <= pair) return {pair, 0};
  return {beyond, std::log(most / least) / 2 / heavy_quantile(0.95)};
}

}  // namespace orrery
