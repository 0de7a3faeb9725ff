#include "orrery/accelerator/dataflow/directive_hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

// The keys of the tool with the name of what they mean.
const std::vector<std::pair<std::string, std::string>>& hardware_keys() {
  static const std::vector<std::pair<std::string, std::string>> kKeys = {
      {"num_pes", "units"},           {"NumPEs", "units"},
      {"l1_size_cstr", "l1"},         {"L1Size", "l1"},
      {"l2_size_cstr", "l2"},         {"L2Size", "l2"},
      {"noc_bw_cstr", "network"},     {"NoC_BW", "network"},
      {"offchip_bw_cstr", "offchip"}, {"noc_hops", "hops"},
      {"NoC_NumHops", "hops"},        {"noc_hop_latency", "hop_latency"},
      {"num_simd_lanes", "lanes"},    {"VectorWidth", "lanes"}};
  return kKeys;
}

}  // namespace

DirectiveHardware read_directive_hardware(std::string_view text, const std::string& file) {
  std::map<std::string, std::int64_t> values;
  constexpr std::string_view kBlank = " \t\r";
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    rest = rest.substr(0, rest.find("//"));
    const auto fail = [&](const std::string& why) {
      throw InputError(fmt::format("{}:{}: {}", file, line, why));
    };
    const auto take = [&](std::string_view part) {
      const std::size_t begin = std::min(part.find_first_not_of(kBlank), part.size());
      part.remove_prefix(begin);
      return part.substr(0, part.find_last_not_of(kBlank) + 1);
    };
    if (take(rest).empty()) continue;
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) {
      fail(fmt::format("expected 'key: value', got '{}'", shortened(take(rest))));
    }
    const std::string key = shortened(take(rest.substr(0, colon)));
    const std::string_view value = take(rest.substr(colon + 1));
    std::vector<std::string> known;
    std::string meaning;
    for (const auto& [name, means] : hardware_keys()) {
      known.push_back(name);
      if (name == key) meaning = means;
    }
    if (meaning.empty()) fail(fmt::format("unknown key '{}'{}", key, did_you_mean(key, known)));
    std::int64_t n = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), n);
    if (error != std::errc() || stop != value.data() + value.size() || n < 1 ||
        n > (std::int64_t{1} << 31)) {
      fail(fmt::format("{}: expected a whole number from 1 to 2^31, got '{}'", key,
                       shortened(value)));
    }
    if (!values.emplace(meaning, n).second) fail(fmt::format("a second value of {}", key));
  }
  DirectiveHardware h;
  const auto set = [&](const char* name, std::int64_t& target) {
    const auto found = values.find(name);
    if (found != values.end()) target = found->second;
  };
  set("units", h.machine.units);
  set("lanes", h.machine.lanes);
  set("network", h.machine.network_bandwidth);
  set("offchip", h.machine.offchip_bandwidth);
  std::int64_t hops = 1, latency = h.machine.network_latency;
  set("hops", hops);
  set("hop_latency", latency);
  h.machine.network_latency = hops * latency;
  if (values.contains("l1")) h.l1_words = values.at("l1");
  if (values.contains("l2")) h.l2_words = values.at("l2");
  return h;
}

}  // namespace orrery
