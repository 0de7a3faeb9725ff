#include "orrery/scenario/kinds/rent/rent_question.h"

#include "orrery/scenario/question/sweep.h"

namespace orrery {

void declare(Fields& f, RentQuestion& q) {
  constexpr std::int64_t kMostGpus = 1'000'000;
  add_sweep(f, "gpus", q.gpus, 1, kMostGpus, "GPUs that are rented");
  f.add("time", q.time, "time for which they are rented");
}

}  // namespace orrery
