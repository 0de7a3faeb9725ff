// The streams of a pipeline's stages, event by event: passes, the data stream and sends, and how
// the transfers among them share the ports of their nodes.
//
// On each stage runs at most one pass and at most one piece of the data stream, and any number of
// sends. A transfer has a length, `time`, if no other transfer is in its way. Its bytes need the
// port for `on_port` of that time at the nominal rate; this part comes first. Nothing shares the
// rest of it (the latency to the last rank, steps inside nodes). Within a node on_port is 0.
//
// A port has two directions. A piece of the data stream uses both (rings send while they receive).
// A send uses the outgoing direction of its stage and the incoming direction of the other stage.
// Transfers on a direction share it equally (processor sharing: NCCL's channels and the NIC's
// queues have no priorities), and a send runs at the lower of its two shares. With n transfers on
// the busier direction, a pass that communicates between nodes slows down too: its own
// communication is spread over the pass and gets one share in n + 1. For a pass of length a alone,
// p of it on the port, and a + x if its own communication takes twice as long,
//
//   the pass takes      s + n x / a times as long   s: slowdown by the data stream's kernels
//   a transfer's share  (1 - u) / n                 u = p / (s a + n x), at most 1 / (n + 1)
//
// x = p if nothing hides the pass's communication, and less if computation hides some of it. The
// shares add up to the port, so a transfer delays others by at most its own time on the port.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "orrery/base/units.h"

namespace orrery {

// A pass, or one of its pieces.
struct PassLoad {
  Seconds time{};       // if no transfer runs
  Seconds on_port{};    // time on the port of its own communication
  Seconds contended{};  // time by which it is longer if its communication takes twice as long
};

class StageStreams {
 public:
  enum class What { kPass, kData, kSend };
  // The end of an activity.
  struct End {
    What what;
    int stage;        // for a send: the stage that sends
    std::size_t tag;  // for a send: the tag given to start_send
    Seconds at;
  };

  // `slowdown`: factor >= 1 on a pass while the data stream runs.
  StageStreams(int stages, double slowdown);

  // Start an activity at `now`, which is 0 or the time of the last End. REQUIRES that the stage has
  // no other pass, or no other piece of data.
  void start_pass(int stage, Seconds now, const PassLoad& load);
  void start_data(int stage, Seconds now, Seconds time, Seconds on_port);
  void start_send(int from, int to, Seconds now, Seconds time, Seconds on_port, std::size_t tag);

  // The next activity that ends, in the order of time and then of starts. False: none is running.
  bool next(End& end);

 private:
  // A pass, a piece of data or a send.
  struct Activity {
    bool on = false;
    bool wired = false;       // a transfer in its part on the port
    unsigned generation = 0;  // of the only event that is valid
    Seconds left, since;      // remaining length at time `since`
    double slow = 1;          // it takes this many times as long
    Seconds rest;             // of a transfer, after its part on the port
    double contended = 0;     // of a pass: x / a
    double density = 0;       // of a pass: p / a
    int from = 0, to = 0;
    std::size_t tag = 0;
  };
  struct Event {
    Seconds at;
    std::uint64_t order;
    std::size_t activity;
    unsigned generation;
    bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  void start_transfer(std::size_t id, Seconds now, Seconds time, Seconds on_port);
  void wire(std::size_t id, Seconds now, bool starts);
  void set(std::size_t id, Seconds now, double slow);
  void post(std::size_t id, Seconds when);
  // Sets the pace of every activity of a stage, after one of them started or ended.
  void share(int stage, Seconds now);

  const int stages_;
  const double slowdown_;
  std::vector<Activity> all_;  // passes by stage, data streams by stage, sends
  std::vector<std::size_t> free_sends_;
  std::vector<std::vector<std::size_t>> out_, in_;  // transfers on the port, by stage
  std::vector<double> others_;                      // 1 / (1 - u), by stage
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t posted_ = 0;
};

}  // namespace orrery
