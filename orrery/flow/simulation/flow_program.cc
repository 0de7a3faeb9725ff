#include "orrery/flow/simulation/flow_program.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/base/error.h"

namespace orrery {

int FlowPattern::send(int from, int to, Bytes bytes, int count) {
  if (!(bytes >= Bytes(0)) || !std::isfinite(bytes.value())) {
    throw InputError(
        fmt::format("a message of {} bytes from gpu{} to gpu{}", bytes.value(), from, to));
  }
  if (count < 1) throw InputError(fmt::format("a stream of {} messages: at least 1", count));
  if (streams_.size() >= kMostStreams) {
    throw InputError(
        fmt::format("more than {} streams are too many for the flow level; take the "
                    "analytical fidelity or fewer GPUs",
                    kMostStreams));
  }
  streams_.push_back({from, to, bytes, count});
  return static_cast<int>(streams_.size()) - 1;
}

void FlowPattern::wait(int stream, int other, int lag) {
  const int n = static_cast<int>(streams_.size());
  if (stream < 0 || stream >= n || other < 0 || other >= n || lag < 0) {
    throw InputError(fmt::format("stream {} waits for stream {}, {} messages before: there are {}",
                                 stream, other, lag, n));
  }
  waits_.push_back({stream, other, lag});
}

}  // namespace orrery
