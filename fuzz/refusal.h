// The refusals that a reader may give to malformed bytes; any other outcome is a finding of the
// fuzzer.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery {

// Runs `read`; an InputError is an answer, if it is one line that a terminal can show. Anything
// else that `read` throws ends the fuzzer.
template <class Read>
void read_or_refuse(Read read) {
  try {
    read();
  } catch (const InputError& e) {
    constexpr std::size_t kLongestMessage = 4000;
    const std::string_view message = e.what();
    if (message.empty() || message.size() > kLongestMessage) std::abort();
    for (char c : message) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) std::abort();
    }
  }
}

}  // namespace orrery
