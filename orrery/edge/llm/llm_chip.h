// A chip that an LLM runs on: a GPU, a system on a chip, a processor (catalog/edge/chips.yaml).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"

namespace orrery {

// Chips of one family run the same kernels. `backend` is llama.cpp's usual one for them.
struct LlmFamily {
  std::string_view name;     // "ampere"
  std::string_view vendor;   // "nvidia", "apple", "amd", "intel", "qualcomm", "cores"
  std::string_view backend;  // "cuda", "metal", "vulkan", "cpu", ...
  bool phone = false;
};

struct LlmChip {
  std::string id;
  std::vector<std::string> names;  // words by which tables call it: "rtx 4080 super"
  const LlmFamily* family = nullptr;
  BytesPerSecond bandwidth;
  // The rate of the matrix units with 16-bit operands and sums; without them the float rate.
  FlopsPerSecond matrix;
  Bytes memory;         // of the largest configuration
  bool usable = false;  // `memory` is what the driver gives, not what is on the box
  bool shared = false;  // the memory is the system's
  std::optional<Watts> power;
  std::string source;
};

class LlmChips {
 public:
  // InputError: malformed, an unknown family, two chips of one id.
  explicit LlmChips(const Bundle& bundle);

  const std::vector<LlmChip>& all() const { return chips_; }
  // InputError with the nearest id where there is none.
  const LlmChip& chip(std::string_view id) const;
  // The chip that has this id; nullptr where there is none.
  const LlmChip* find(std::string_view id) const;
  // The chip of which a text speaks: the one with the most words that all are in it ("Radxa Orion
  // O6 (Nvidia RTX 3080 Ti)" is an rtx-3080-ti); a GPU goes before processors. nullptr where there
  // is none.
  const LlmChip* in_text(std::string_view text) const;

 private:
  std::vector<LlmChip> chips_;
};

}  // namespace orrery
