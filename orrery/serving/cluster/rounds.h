// Requests of the load, and the requests that engines are sent for them.
//
// Usually they are the same. Beam search decorates both ends: an engine is sent one request for
// each beam and token, and what it tells of these becomes what the simulation hears of the request.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "orrery/serving/cluster/beam_search.h"
#include "orrery/serving/engine/replica.h"
#include "orrery/serving/requests/request.h"

namespace orrery {

class Rounds {
 public:
  virtual ~Rounds() = default;

  // All requests that engines may be sent; those of the load come first.
  virtual const RequestLoad& load() const = 0;
  // The request that is sent first for `request` of the load.
  virtual std::uint32_t start(std::uint32_t request) = 0;
  // The request of the load to which a sent request belongs.
  virtual std::uint32_t of_load(std::uint32_t sent) const = 0;
  // Whether a request takes several rounds. All rounds go to the engine of the first, and when an
  // engine fails only the present round is lost.
  virtual bool several() const = 0;
  // The observer that engines tell of sent requests.
  virtual ReplicaObserver& observer() = 0;
};

// Engines are sent the requests of `load`, and `simulation` hears of them. Borrows both.
std::unique_ptr<Rounds> single_rounds(const RequestLoad& load, ReplicaObserver& simulation);

// The rounds of a beam search. `simulation` hears of the requests of the load alone: a token when a
// round has ended. `send` is called with the time and number of each request after the first round.
// Borrows `simulation`.
std::unique_ptr<Rounds> beam_rounds(BeamSearch search, SimTime overhead,
                                    ReplicaObserver& simulation,
                                    std::function<void(SimTime, std::uint32_t)> send);

}  // namespace orrery
