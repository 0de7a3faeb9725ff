#include "orrery/training/overlap/stream_overlap.h"

#include <algorithm>

namespace orrery {

Seconds piped_time(const PipedPair& p) {
  const Seconds c = p.communication / p.pieces, g = p.compute / p.pieces;
  return p.communication + std::max(g, p.compute - (p.pieces - 1) * c / p.slowdown);
}

PipedRun run_piped(const PipedPair& p) {
  PipedRun run;
  const Seconds c = p.communication / p.pieces, g = p.compute / p.pieces;
  Seconds arrived, free;
  for (int i = 0; i < p.pieces; ++i) {
    run.pieces.push_back({true, arrived, arrived + c});
    arrived += c;
  }
  const Seconds quiet = arrived;  // nothing is sent afterwards
  for (int i = 0; i < p.pieces; ++i) {
    const Seconds start = std::max(free, (i + 1) * c);
    const Seconds overlap = std::max(Seconds(0), quiet - start);
    const Seconds slow = g * p.slowdown;
    const Seconds end =
        slow <= overlap ? start + slow : start + overlap + (g - overlap / p.slowdown);
    run.pieces.push_back({false, start, end});
    free = end;
  }
  run.total = free;
  return run;
}

Seconds piped_exposed(const PipedLayers& l, Fidelity fidelity) {
  if (l.collectives <= 0) return l.communication;
  const PipedPair pair{l.products / l.collectives, l.communication / l.collectives, l.pieces,
                       l.slowdown};
  const Seconds total = fidelity == Fidelity::kEvents ? run_piped(pair).total : piped_time(pair);
  return l.collectives * (total - pair.compute);
}

}  // namespace orrery
