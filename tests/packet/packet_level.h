// The packet level: the traffic of a pattern on ns-3, as a check of the flow level on tens of
// hosts. Built only with -DORRERY_NS3=ON (Debian's libns3-dev, libgsl-dev, libsqlite3-dev).
//
// Every stream is one TCP connection; a message is sent when the flow level would send it, and has
// arrived when its last byte has. Links are point-to-point with unbounded drop-tail queues and
// packets of 9,000 bytes: nothing is lost. Two transports:
//   kOpen   windows are wider than all that a stream sends, so that a sender never waits for an
//           acknowledgement: nearest to RoCE with the links' flow control alone, as Meta runs it
//           (Gangidi et al., SIGCOMM 2024), but for its pauses of whole ports.
//   kDctcp  DCTCP (RFC 8257): a first window of one round trip, switches that mark what queues for
//           longer than a round trip. The nearest to DCQCN that this ns-3 has.
//
// Limits: Debian's ns-3 3.37 has no RoCE, PFC or DCQCN; headers cost 0.6 % and acknowledgements
// share the way back.
//
// ns-3's headers are C++17 and do not compile as C++20: this interface is of plain numbers, in SI
// units, and its source is compiled as C++17.
#pragma once

#include <vector>

namespace orrery::packet {

struct Link {  // both directions
  int from = 0, to = 0;
  double bandwidth = 0, latency = 0;
};
struct Stream {
  int from = 0, to = 0;
  double bytes = 0;  // of a message, at least one
  int count = 1;
};
struct Wait {
  int stream = 0, other = 0, lag = 0;
};
struct Traffic {
  int vertices = 0;
  std::vector<Link> links;
  std::vector<Stream> streams;
  std::vector<Wait> waits;
};

enum class Transport { kOpen, kDctcp };

// When the last message has arrived. Paths are ns-3's shortest ones, so there should be one
// shortest path for each pair. std::runtime_error: a message never arrives.
double makespan(const Traffic& traffic, Transport transport = Transport::kOpen);

}  // namespace orrery::packet
