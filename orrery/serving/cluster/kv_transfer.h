// Moving the KV cache of finished prompts from engines that prefill to engines that decode.
//
// A transfer of n tokens alone takes `time(n)`. Transfers out of one engine follow each other,
// first come first served, and so do transfers into one engine: all of an engine's GPUs send their
// shares at the same time, over links of their own, so that an engine is one sender or receiver.
//
//   whole        starts when the prompt is done and the receiver has blocks
//   layer by     each layer's share leaves when the layer is computed: the transfer runs beside the
//   layer        prefill, and what is left at its end is one layer's share at least. It needs the
//                receiver's blocks in advance: if those came only after the prompt was done, the
//                transfer is a whole one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

struct KvTransfer {
  // Of so many tokens' KV cache between two engines, nobody else sending. Never less for more.
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
    SimTime duration;  // that the links were taken
  };
  // A prompt of which `tokens` move; `scheduled`: its first step was planned; `done`: its last step
  // ended; `now` >= done: the receiver has blocks.
  Booking book(std::size_t from, std::size_t to, std::int64_t tokens, SimTime scheduled,
               SimTime done, SimTime now);

 private:
  KvTransfer transfer_;
  std::vector<SimTime> sender_free_, receiver_free_;  // when the last booked one ends
};

}  // namespace orrery
