#include "orrery/edge/llm/llm_memory.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace orrery {
namespace {

// The memory that a backend takes of each device: of a GPU with its own, the driver's context and
// the libraries' workspace (assumed).
constexpr Bytes kOwnContext = gibibytes(0.4), kSharedContext = gibibytes(0.1);
constexpr double kGivenOfNominal = 0.97, kPhonePart = 0.6, kSharedPart = 0.9;
constexpr std::string_view kCpu = "cpu";  // backend without a memory of its own
constexpr Bytes kLargeApple = gibibytes(36);

}  // namespace

Bytes memory_limit(const LlmChip& chip, Bytes memory) {
  const bool own = memory <= Bytes(0);
  const Bytes size = own ? chip.memory : memory;
  if (!chip.shared) return size * (own && chip.usable ? 1 : kGivenOfNominal);
  if (chip.family->vendor == "apple") return size * (size > kLargeApple ? 3.0 / 4 : 2.0 / 3);
  return size * (chip.family->phone ? kPhonePart : kSharedPart);
}

LlmFit memory_fit(const LlmFile& file, const LlmChip& chip, const LlmMemory& m) {
  LlmFit fit;
  const bool whole = chip.family->backend == kCpu;
  fit.weights = whole ? file.size() : file.size() - file.tables();
  fit.cache = file.cache(m.context, m.ubatch);
  fit.buffers =
      (file.buffered_row() * m.ubatch + (chip.shared ? kSharedContext : kOwnContext)) * m.devices;
  fit.limit = memory_limit(chip, m.memory) * m.devices;
  return fit;
}

std::optional<double> longest_context(const LlmFile& file, const LlmChip& chip, LlmMemory m) {
  const auto fits = [&](double context) {
    m.context = context;
    return memory_fit(file, chip, m).fits();
  };
  if (!fits(1)) return std::nullopt;
  double low = 1, high = std::max(1, file.max_context());
  if (fits(high)) return high;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace orrery
