// What runs on the streams of a pipeline's stages, event by event, and how the transfers among it
// share the ports of their nodes.
//
// On each stage at most one pass computes, one piece travels on the data stream, and any number of
// sends come and go. A transfer is `time` long alone. Of that, `on_port` is what its bytes need of
// the port at the nominal rate, and comes first; what follows (the way to the last rank, steps
// inside nodes) nothing shares. Within a node on_port is 0.
//
// A port has two directions. A piece of the data stream uses both (rings send as they receive), a
// send the outgoing one of its stage and the incoming one of the other's. Transfers on a direction
// share it equally (processor sharing: NCCL's channels and the NIC's queues know no priorities); a
// send goes at the lower of its two shares. With n transfers on the busier direction a pass slows
// down too: its own communication between nodes, spread over the pass, gets one share in n + 1.
// With a pass of length a alone, p of it on the port, and a + x where all of that takes twice as
// long,
//
//   pass      (s + n x / a) times as long      s: slowdown by the data stream's kernels, if it runs
//   a share   (1 - u) / n                      u = p / (s a + n x), at most 1 / (n + 1)
//
// x = p where nothing hides the pass's communication, less where computation does. Shares add up to
// the port: a transfer delays what is beside it by no more than its own time on the port.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace orrery {

// Seconds, as everything here.
struct PassLoad {
  double time = 0;       // alone
  double on_port = 0;    // of its communication
  double contended = 0;  // longer by, where this takes twice as long
};

class StageStreams {
 public:
  enum class What { kPass, kData, kSend };
  struct End {
    What what;
    int stage;        // of a send: the sender's
    std::size_t tag;  // of a send
    double at;
  };

  // `slowdown`: of a pass beside the data stream, >= 1.
  StageStreams(int stages, double slowdown);

  // From `now` on, which is 0 or the last End's. REQUIRES that the stream is free.
  void start_pass(int stage, double now, const PassLoad& load);
  void start_data(int stage, double now, double time, double on_port);
  void start_send(int from, int to, double now, double time, double on_port, std::size_t tag);

  // The next that ends, in the order of time, then of starts. False: nothing runs.
  bool next(End& end);

 private:
  struct Activity {
    bool on = false, wired = false;  // wired: a transfer in its part on the port
    unsigned generation = 0;         // of the event that counts
    double left = 0, since = 0, slow = 1;
    double rest = 0;       // of a transfer, after its part on the port
    double contended = 0;  // of a pass: per second of it, with the next
    double density = 0;
    int from = 0, to = 0;
    std::size_t tag = 0;
  };
  struct Event {
    double at;
    std::uint64_t order;
    std::size_t activity;
    unsigned generation;
    bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  void start_transfer(std::size_t id, double now, double time, double on_port);
  void wire(std::size_t id, double now, bool starts);
  void set(std::size_t id, double now, double slow);
  void post(std::size_t id, double when);
  // After anything of the stage began or ended.
  void share(int stage, double now);

  const int stages_;
  const double slowdown_;
  std::vector<Activity> all_;  // passes by stage, data streams by stage, sends
  std::vector<std::size_t> free_sends_;
  std::vector<std::vector<std::size_t>> out_, in_;  // wired, by stage
  std::vector<double> others_;                      // 1 / (1 - u), by stage
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t posted_ = 0;
};

}  // namespace orrery
