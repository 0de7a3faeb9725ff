// A pass and the data-parallel communication during it, if both send over the rank's port, in
// closed form. Computation slows down while the library's kernels run, and transfers between nodes
// share the port as in stage_streams.h, with one transfer besides the pass (n = 1 there).
//
// A pass takes a alone, p of it on the port, and a + x if its own communication takes twice as long
// on the port. During the pass runs communication of length c, w of it on the port. While the part
// on the port runs,
//
//   the pass takes              s_w = s + x / a  times as long (s: slowdown by the kernels)
//   communication has the rate  r_w = 1 - min(p / (s_w a), 1/2)
//
// and while the rest runs, s and 1. Both parts alternate, piece by piece or layer by layer, so that
// for the whole communication
//
//   1 / rate = ((c - w) + w / r_w) / c,   slowdown = 1 / (rate ((c - w) / s + w / (r_w s_w)) / c)
//
// The event level follows each piece. Both agree nearly (tests/law/shared_port_law_test.cc), and
// exactly if nothing is shared or all of c is on the port (tests/unit/training). The closed form
// neglects sends during passes that send, sends that overlap with each other, and sends that
// overlap with weights or gradients, except for the last gradients of each stage, which leave
// together with its last send.
#pragma once

#include "orrery/base/units.h"

namespace orrery {

// The use of the port by a pass.
struct PortUse {
  Seconds alone;      // a: length of the pass if it has the port for itself
  Seconds on_port;    // p: time on the port of its communication
  Seconds contended;  // x: time by which it is longer if that takes twice as long
};

struct PortSharing {
  double slowdown = 1;  // of the pass, while communication runs
  double rate = 1;      // of communication, while the pass runs
};

// `slowdown`: s above, >= 1.
PortSharing sharing(const PortUse& pass, Seconds communication, Seconds on_port, double slowdown);

}  // namespace orrery
