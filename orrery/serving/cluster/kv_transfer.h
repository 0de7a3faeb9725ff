// Disaggregated prefill: moving the KV cache of computed prompts from engines that prefill to
// engines that decode.
//
// A transfer of n tokens alone takes `time(n)`. Transfers out of one engine follow each other,
// first come first served, and so do transfers into one engine: all GPUs of an engine send their
// shares at the same time over links of their own, so that an engine is one sender or receiver.
//
//   whole      A transfer starts when the prompt is computed and the receiver has blocks.
//   layerwise  The share of each layer leaves when the layer is computed, so that the transfer
//              overlaps with the prefill. At least the share of one layer is left at the end. The
//              receiver must have blocks before the prompt is computed; else the transfer is whole.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

struct KvTransfer {
  // Time of moving the KV cache of `tokens` tokens between two engines while no other transfer
  // runs. Must not fall with `tokens`.
  std::function<SimTime(std::int64_t tokens)> time;
  bool layerwise = false;
  std::int32_t layers = 1;
};

class KvLinks {
 public:
  KvLinks(KvTransfer transfer, std::size_t engines)
      : transfer_(std::move(transfer)), sender_free_(engines), receiver_free_(engines) {}

  struct Booking {
    SimTime end;
    SimTime duration;  // time in which the links are occupied
  };
  // Books a transfer of `tokens` tokens of a prompt. Its first step was planned at `scheduled`, its
  // last step ended at `done`, and the receiver has blocks since `now` >= done.
  Booking book(std::size_t from, std::size_t to, std::int64_t tokens, SimTime scheduled,
               SimTime done, SimTime now);
  // The engine lost its work: its own links are free at `now`. Those of the other engines stay
  // booked.
  void forget(std::size_t engine, SimTime now) {
    sender_free_[engine] = receiver_free_[engine] = now;
  }

 private:
  KvTransfer transfer_;
  std::vector<SimTime> sender_free_, receiver_free_;  // end of the last booked transfer
};

}  // namespace orrery
