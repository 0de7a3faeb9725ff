#include "orrery/training/overlap/data_overlap.h"

#include <algorithm>

#include "orrery/training/schedules/schedule.h"

namespace orrery {

Seconds sharded_time(const ShardedPass& p) {
  const int n = p.layers;
  const Seconds a = p.compute / n, g = p.gather / n, r = p.scatter / n;
  const auto during = [&](Seconds sent) { return side_by_side(a, sent, p.slowdown, p.rate); };
  if (!p.backward) return g + (n - 1) * during(g) + a;
  if (n == 1) return a + r;
  // Without gathers all policies have the same formula, so that results are equal to the last bit.
  if (p.prefetch == Prefetch::kPost || g <= Seconds(0)) return a + (n - 1) * (g + during(r)) + r;
  if (p.prefetch == Prefetch::kNone) return n * a + (n - 1) * (r + g) + r;
  return during(g) + (n - 2) * during(g + r) + during(r) + r;
}

Seconds run_sharded(const ShardedPass& p) {
  const Seconds a = p.compute / p.layers, g = p.gather / p.layers, r = p.scatter / p.layers;
  const bool ahead = !p.backward || p.prefetch == Prefetch::kPre;
  const bool waits = p.backward && p.prefetch == Prefetch::kNone && g > Seconds(0);
  Seconds now = p.backward ? Seconds(0) : g;  // time at which the layer's weights have arrived
  for (int i = 0; i < p.layers; ++i) {
    const bool last = i + 1 == p.layers;
    const Seconds start = now;
    Seconds sent = start;
    if (ahead && !last) sent += g;                   // gather of the next layer
    if (p.backward && i > 0 && !waits) sent += r;    // reduction of the layer before
    const Seconds shared = (sent - start) / p.rate;  // time of communication during the layer
    const Seconds done = shared / p.slowdown;        // part of the layer computed by then
    now = done < a ? start + shared + (a - done) : sent + (1 - p.rate) * p.slowdown * a;
    if (waits && !last) now += r;  // reduction of this layer
    if (!ahead && !last) now += g;
  }
  return p.backward ? now + r : now;
}

DataExposed exposed(const DataStream& d) {
  const int v = d.chunks, n = d.pieces;
  const double taken = (1 - 1 / d.slowdown) / d.rate;  // computation lost to communication
  const double lost = (1 - d.rate) * d.slowdown;       // communication lost to computation
  const Seconds each = d.communication / v, part = each / n;
  const Seconds ahead = each + lost * d.pass - d.spacing;  // delay of a chunk's communication
  const auto longest = [&](Seconds of_chunk) { return std::max(of_chunk, (v - 1) * of_chunk); };
  Seconds backlog;
  if (v > 1) backlog = std::max(Seconds(0), d.pass + longest(ahead));
  const Seconds piece = d.pass / n;
  const Seconds computed = d.pass + part + taken * (backlog + (n - 1) * part);
  const Seconds sent =
      std::max(backlog + lost * d.pass, piece + taken * backlog + lost * (d.pass - piece)) + each;
  const Seconds before = std::max(Seconds(0), (v - 1) * each - backlog);
  DataExposed out;
  if (d.communication > Seconds(0))
    out.communication = std::max(computed, sent) - d.pass + taken * before;
  if (d.to_host <= Seconds(0)) return out;
  // Three streams follow each other: the slowest one determines the end of the pieces.
  const Seconds host = d.to_host / v;
  const Seconds after = d.pass + out.communication;
  const Seconds queued =
      v > 1 ? std::max(Seconds(0), d.pass + longest(host - d.spacing)) : Seconds(0);
  const Seconds last =
      std::max(after + host / n, std::max(queued, piece + part + taken * backlog) + host);
  out.to_host = last - after;
  return out;
}

}  // namespace orrery
