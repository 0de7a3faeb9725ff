// A question about rented GPUs: the money for a time.
//
//   hardware: {gpu: h100-sxm}
//   rent: {gpus: [8, 64], time: 30 d}
//   cost: {tier: on_demand}
#pragma once

#include <cstdint>

#include "orrery/base/fields.h"
#include "orrery/base/units.h"

namespace orrery {

struct QuestionKind;

struct RentQuestion {
  std::int64_t gpus = 1;
  Seconds time = Seconds(3600);
};

// Defined by the kind (rent_kind.cc).
const QuestionKind& kind_of(const RentQuestion& question);

void declare(Fields& fields, RentQuestion& question);

}  // namespace orrery
