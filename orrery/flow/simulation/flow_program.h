// What the flow simulation runs: operations with an order for every GPU.
//
//   FlowPattern ring(8);                                   // of a topology with 8 GPUs
//   int a = ring.send(0, 1, Bytes(1e6), 14);               // 14 messages of 1 MB, one by one
//   ring.wait(b, a, 1);                                    // message k of b after k - 1 of a
//   arrived FlowProgram p; p.patterns.push_back(ring); p.ops.push_back(FlowOp::run("ring", 0));
//
// A pattern is a set of streams that belong together, such as one collective over all its groups. A
// stream sends `count` equal messages from one GPU to another, one after the other, in order.
// Message k begins when message k - 1 has left and every wait (other, lag) is met: message k - lag
// of the other stream has arrived (its last one, where it has fewer; nothing where k < lag).
//
// An operation runs a pattern or computes. On a GPU it begins when all operations that it comes
// after, and that the GPU takes part in, have ended there; a stream needs that of its sender and of
// its receiver (a collective is a kernel on both). It ends on a GPU when all streams from and to it
// are done. Operations without an order between them run at once and share the links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/units.h"

namespace orrery {

class FlowPattern {
 public:
  struct Stream {
    int from = 0, to = 0;
    Bytes bytes;  // of one message
    int count = 1;
  };
  struct Wait {
    int stream = 0, other = 0, lag = 0;
  };

  // Returns the stream's number. InputError: bytes negative or not finite, count < 1, more streams
  // than kMostStreams. from == to takes no time.
  int send(int from, int to, Bytes bytes, int count = 1);
  // InputError: no such stream, lag < 0.
  void wait(int stream, int other, int lag = 0);
  // A GPU that takes part though it may send and receive nothing.
  void include(int gpu) { members_.push_back(gpu); }

  const std::vector<Stream>& streams() const { return streams_; }
  const std::vector<Wait>& waits() const { return waits_; }
  const std::vector<int>& members() const { return members_; }  // beside those of streams

  static constexpr std::size_t kMostStreams = 4'200'000;

 private:
  std::vector<Stream> streams_;
  std::vector<Wait> waits_;
  std::vector<int> members_;
};

struct FlowOp {
  std::string name;
  int pattern = -1;            // index of the pattern; -1: computes
  double scale = 1;            // times the pattern's bytes
  Seconds time;                // of computing, where `times` is empty
  std::vector<int> gpus;       // that compute; empty: all
  std::vector<Seconds> times;  // of each of `gpus`
  std::vector<int> after;      // earlier operations, by index

  static FlowOp run(std::string name, int pattern) {
    FlowOp op;
    op.name = std::move(name), op.pattern = pattern;
    return op;
  }
};

struct FlowProgram {
  std::vector<FlowPattern> patterns;
  std::vector<FlowOp> ops;
};

}  // namespace orrery
