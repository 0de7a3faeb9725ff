// The program of a flow simulation: operations with an order for every GPU.
//
//   FlowPattern ring;
//   int a = ring.send(0, 1, Bytes(1e6), 14);   // 14 messages of 1 MB from GPU 0 to GPU 1
//   int b = ring.send(1, 0, Bytes(1e6), 14);
//   ring.wait(b, a, 1);                        // message k of b waits for message k - 1 of a
//
//   FlowProgram p;
//   p.patterns.push_back(ring);
//   p.ops.push_back(FlowOp::run("ring", 0));
//
// A pattern is a set of streams, such as one collective over all its groups. A stream sends `count`
// equal messages from one GPU to another, one after the other. Message k begins when message k - 1
// has left and every wait (other, lag) is met: message k - lag of the other stream has arrived. If
// the other stream has fewer messages, its last one counts; for k < lag there is nothing to wait
// for.
//
// An operation runs a pattern or computes. It begins on a GPU when all operations that precede it,
// and in which the GPU takes part, have ended there. A stream needs that of its sender and of its
// receiver, since a collective is a kernel on both. The operation ends on a GPU when all streams
// from and to the GPU are done. Operations without an order between them run at the same time and
// share the links.
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

  // Adds a stream; returns its number. A stream from a GPU to itself takes no time. InputError:
  // bytes negative or not finite, count < 1, more streams than kMostStreams.
  int send(int from, int to, Bytes bytes, int count = 1);
  // Makes message k of `stream` wait for message k - lag of `other`. InputError: no such stream,
  // lag < 0.
  void wait(int stream, int other, int lag = 0);
  // Makes a GPU take part in the pattern even if it sends and receives nothing.
  void include(int gpu) { members_.push_back(gpu); }

  const std::vector<Stream>& streams() const { return streams_; }
  const std::vector<Wait>& waits() const { return waits_; }
  const std::vector<int>& members() const { return members_; }  // those of include()

  static constexpr std::size_t kMostStreams = 4'200'000;

 private:
  std::vector<Stream> streams_;
  std::vector<Wait> waits_;
  std::vector<int> members_;
};

struct FlowOp {
  std::string name;
  int pattern = -1;            // index of the pattern that it runs; -1: it computes
  double scale = 1;            // factor of the pattern's bytes
  Seconds time;                // of computing, if `times` is empty
  std::vector<int> gpus;       // the GPUs that compute; empty: all
  std::vector<Seconds> times;  // of computing, for each of `gpus`
  std::vector<int> after;      // operations that precede it, by index

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
