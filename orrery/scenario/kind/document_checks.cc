#include "orrery/scenario/kind/document_checks.h"

#include <fmt/format.h>

namespace orrery {

void refuse_knobs(const Node& document, const Scenario& s, std::string_view of) {
  if (!s.hardware.knobs().any()) return;
  const char* key = s.hardware.power_limit ? "power_limit" : "clock";
  document.at("hardware")
      .at(key)
      .fail(fmt::format(
          "has no effect on {}: links and recorded times do not depend on the clock of a GPU", of));
}

void refuse_batch_lengths(const Node& document) {
  const Node* w = document.find("workload");
  if (w == nullptr) return;
  for (const std::string& key : steady_keys()) {
    if (const Node* n = w->find(key))
      n->fail("a scenario with a load takes its lengths from load.isl and load.osl");
  }
}

}  // namespace orrery
