#include "orrery/training/iteration/data_transfers.h"

#include <utility>

namespace orrery {

Seconds DataTransfers::add(const Collective& each, double count) {
  if (each.ranks <= 1 || each.bytes <= Bytes(0)) return Seconds(0);
  const CollectiveTime one = network_.predict(each, place_);
  transfers_.push_back({each, count, one.time.value});
  on_port_ += one.port_time * count;
  errors_.add(one.time, count * repeats_);
  return one.time.value * count;
}

Seconds DataTransfers::take_port_time() { return std::exchange(on_port_, Seconds(0)); }

std::vector<DataTransfer> DataTransfers::take() { return std::exchange(transfers_, {}); }

}  // namespace orrery
