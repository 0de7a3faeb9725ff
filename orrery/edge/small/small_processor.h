// Small processors at the edge: microcontrollers and NPUs that execute networks of bytes
// (catalog/edge/small.yaml). They have one core, no system below them, and what they hold of a
// network lies in the chip: its weights in the flash, its tensors in the RAM.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"

namespace orrery {

struct SmallCore {
  std::string name;                      // "cortex-m4"
  std::string kind;                      // "microcontroller", "npu"
  std::optional<double> macs_per_cycle;  // the most, of bytes; absent: the maker states none
};

struct SmallProcessor {
  std::string id;
  std::vector<std::string> names;  // words by which tables call its board
  SmallCore core;
  Hertz clock;
  std::optional<Bytes> flash, ram;
  std::string source;
};

class SmallProcessors {
 public:
  // InputError: malformed, an unknown core or source, two processors of one id.
  explicit SmallProcessors(const Bundle& bundle);

  const std::vector<SmallProcessor>& all() const { return processors_; }
  // nullptr where no processor has this id. NoData: one of the NPUs of which nothing was measured.
  const SmallProcessor* find(std::string_view id) const;
  // The processor of which a table's name of a system speaks; letter case is ignored.
  const SmallProcessor* in_text(std::string_view text) const;

 private:
  struct Unmeasured {
    std::string id, about;
  };
  std::vector<SmallProcessor> processors_;
  std::vector<Unmeasured> unmeasured_;
};

}  // namespace orrery
