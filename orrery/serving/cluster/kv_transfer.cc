#include "orrery/serving/cluster/kv_transfer.h"

#include <algorithm>

namespace orrery {

KvLinks::Booking KvLinks::book(std::size_t from, std::size_t to, std::int64_t tokens,
                               SimTime scheduled, SimTime done, SimTime now) {
  if (tokens == 0) return {now, {}};
  const SimTime whole = transfer_.time(tokens);
  const bool overlapped = transfer_.layerwise && now == done;
  const SimTime begin =
      std::max({overlapped ? scheduled : now, sender_free_[from], receiver_free_[to]});
  SimTime end = begin + whole;
  if (overlapped) end = std::max(end, done + SimTime{whole.ps / transfer_.layers});
  sender_free_[from] = receiver_free_[to] = end;
  return {end, whole};
}

}  // namespace orrery
