#include "orrery/network/collectives/unseen_servers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace orrery {

UnseenServers read_unseen_servers(const Bundle& bundle) {
  UnseenServers errors;
  const auto file = bundle.find(kUnseenServersPath);
  if (!file) return errors;
  std::vector<double> same, other;
  std::string recipe;
  Fields f;
  const auto add = [&f](const char* name, std::vector<double>& values, const char* doc) {
    f.add(name, values, doc).range(0, 10).required();
  };
  add("same_fabric", same, "sigma on GPUs not measured on a fabric: below 1 MiB, 128 MiB, above");
  add("other_fabric", other, "sigma on fabrics not measured: below 1 MiB, 128 MiB, above");
  f.add("send_start", errors.send_start, "start of a send on wires without a measured one");
  f.add("recipe", recipe, "how the errors were found").required();
  const Node document = parse_yaml(file->content, file->name);
  f.read(document);
  const auto copy = [&](const char* name, const std::vector<double>& from, auto& to) {
    if (from.size() != to.size()) document.at(name).fail("expected three values, by size");
    std::copy(from.begin(), from.end(), to.begin());
  };
  copy("same_fabric", same, errors.same_fabric);
  copy("other_fabric", other, errors.other_fabric);
  return errors;
}

std::string to_yaml(const UnseenServers& errors, const std::array<std::size_t, 2>& groups) {
  const std::string send =
      errors.send_start > Seconds(0)
          ? fmt::format("send_start: {:.4g} us\n", errors.send_start / microseconds(1))
          : "";
  return fmt::format(
      "# Made by `orrery fit network`.\n"
      "recipe: \"errors of {} and {} groups that the fit left out in turn\"\n"
      "same_fabric: [{:.3f}]\nother_fabric: [{:.3f}]\n{}",
      groups[0], groups[1], fmt::join(errors.same_fabric, ", "),
      fmt::join(errors.other_fabric, ", "), send);
}

}  // namespace orrery
