// The values of the keys of a document, while it is read or written.
//
// The common part is held as a Scenario. Besides it each kind of question declares its keys on a
// struct of its own, which is found here by its type:
//
//   values.of<ReplayQuestion>().trace;
#pragma once

#include <any>
#include <functional>
#include <map>
#include <typeindex>
#include <utility>

#include "orrery/base/fields.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

class KeyValues {
 public:
  KeyValues() = default;
  KeyValues(const KeyValues&) = delete;  // fields refer to the values
  KeyValues& operator=(const KeyValues&) = delete;

  Scenario scenario;     // the common part; its question is not read
  SteadyQuestion batch;  // the keys of a batch in the group `workload`

  // The struct of this type; made with its defaults when it is first asked for.
  template <class Keys>
  Keys& of() {
    std::any& held = held_[std::type_index(typeid(Keys))];
    if (!held.has_value()) held = Keys();
    return *std::any_cast<Keys>(&held);
  }
  // REQUIRES that it was made.
  template <class Keys>
  const Keys& of() const {
    return *std::any_cast<Keys>(&held_.at(std::type_index(typeid(Keys))));
  }

 private:
  std::map<std::type_index, std::any> held_;
};

// The keys of one struct: groups at the top of a document.
struct KeySet {
  std::function<void(Fields& fields, KeyValues& values)> declare = {};  // empty: no keys
  void (*reset)(KeyValues& values) = nullptr;                           // to the defaults
};

template <class Keys>
KeySet key_set(std::function<void(Fields& fields, KeyValues& values)> declare) {
  return {std::move(declare), [](KeyValues& values) { values.of<Keys>() = Keys(); }};
}

}  // namespace orrery
