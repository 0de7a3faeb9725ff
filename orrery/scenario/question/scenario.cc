#include "orrery/scenario/question/scenario.h"

#include <algorithm>

namespace orrery {
namespace {

// The same values at the same keys in the same order.
bool same(const Node& a, const Node& b) {
  return a.kind() == b.kind() && a.quoted() == b.quoted() && a.text() == b.text() &&
         a.keys() == b.keys() &&
         std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), same);
}

}  // namespace

bool ServingSetup::EngineChoice::operator==(const EngineChoice& other) const {
  return profile == other.profile && setup == other.setup && same(overrides, other.overrides);
}

}  // namespace orrery
