// What a pass and the data-parallel communication beside it make of each other, in closed form:
// computation slows down beside the library's kernels, and where both send between nodes they share
// the rank's port, as stage_streams.h says, whose n is 1 here.
//
// A pass: a long alone, p of that on the port, a + x where its own communication takes twice as
// long on it. Beside it communication of c, w of that on the port. While w is under way,
//
//   pass            s_w = s + x / a    times as long, s: the kernels' slowdown
//   communication   r_w = 1 - min(p / (s_w a), 1/2)
//
// and while the rest is, s and 1. Both parts alternate, piece by piece or layer by layer, so that
// the whole of it counts as
//
//   1 / rate = ((c - w) + w / r_w) / c,   slowdown = 1 / (rate ((c - w) / s + w / (r_w s_w)) / c)
//
// The event level follows each piece: both agree nearly (tests/law/shared_port_law_test.cc), and
// exactly where nothing is shared or all of c is on the port (tests/unit/training). What the closed
// form leaves out, because it depends on when sends are under way: sends beside what passes send
// themselves, beside each other, and beside weights and gradients, but for the last gradients of
// each stage, which leave with its last send.
#pragma once

#include "orrery/base/units.h"

namespace orrery {

// Of a pass.
struct PortUse {
  Seconds alone, on_port, contended;  // a, p, x
};

struct PortSharing {
  double slowdown = 1;  // of the pass, while communication runs
  double rate = 1;      // of communication, while the pass runs
};

// `slowdown`: s >= 1.
PortSharing sharing(const PortUse& pass, Seconds communication, Seconds on_port, double slowdown);

}  // namespace orrery
