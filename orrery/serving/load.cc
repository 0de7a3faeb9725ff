#include "orrery/serving/load.h"

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::int32_t kIdTokens = 16;

}  // namespace

void set_arrivals(const LoadSpec& spec, RequestLoad& load) {
  const auto process = make_arrivals(spec.arrivals, spec.parameters);
  RandomStream random(spec.seed, "arrivals");
  constexpr double kLatest = 100 * 86400.0;
  double now = 0;
  for (Request& r : load.requests) {
    now = process->next(now, random);
    if (!(now <= kLatest))
      throw InputError(
          "load: the last request would arrive after 100 days; raise rate or ask for fewer");
    r.arrival = sim_seconds(now);
  }
}

RequestLoad make_load(const LoadSpec& spec) {
  RequestLoad load;
  load.id_tokens = kIdTokens;
  load.requests.resize(static_cast<std::size_t>(spec.requests));
  RandomStream inputs(spec.seed, "input"), outputs(spec.seed, "output"),
      groups(spec.seed, "prefix");
  const std::int32_t blocks = spec.shared_prefix / kIdTokens;
  for (std::int64_t g = 0; blocks > 0 && g < spec.prefix_groups; ++g) {
    for (std::int32_t b = 0; b < blocks; ++b)
      load.ids.push_back((static_cast<std::uint64_t>(g) << 32) | static_cast<std::uint32_t>(b));
  }
  for (Request& r : load.requests) {
    r.input = std::max(spec.input.at(inputs.uniform()), spec.shared_prefix + 1);
    r.output = spec.output.at(outputs.uniform());
    if (blocks == 0) continue;
    const auto group = groups.below(static_cast<std::uint64_t>(spec.prefix_groups));
    r.first_id = static_cast<std::uint32_t>(group * static_cast<std::uint64_t>(blocks));
    r.ids = static_cast<std::uint32_t>(blocks);
  }
  set_arrivals(spec, load);
  return load;
}

}  // namespace orrery
