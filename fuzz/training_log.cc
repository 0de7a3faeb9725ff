// Logs of training jobs: any text is read or refused; what is read is positive and finite.
#include "orrery/scenario/measured/training_log.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::TrainingLog log = orrery::parse_training_log(text, "fuzz");
    for (const auto& figure :
         {log.iteration_s, log.tokens_per_s_per_gpu, log.tflops_per_gpu, log.memory_gb}) {
      if (figure && !(*figure > 0 && std::isfinite(*figure))) std::abort();
    }
  });
  return 0;
}
