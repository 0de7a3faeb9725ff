#include "orrery/training/overlap/shared_port.h"

#include <algorithm>

namespace orrery {

PortSharing sharing(const PortUse& pass, Seconds communication, Seconds on_port, double slowdown) {
  const Seconds w = std::min(on_port, communication);
  if (w <= Seconds(0) || pass.on_port <= Seconds(0) || pass.alone <= Seconds(0))
    return {slowdown, 1};
  const double slow = slowdown + pass.contended / pass.alone;
  const double rate = 1 - std::min(pass.on_port / (slow * pass.alone), 0.5);
  const double share = w / communication;
  PortSharing both;
  both.rate = 1 / ((1 - share) + share / rate);
  both.slowdown = 1 / (both.rate * ((1 - share) / slowdown + share / (rate * slow)));
  return both;
}

}  // namespace orrery
