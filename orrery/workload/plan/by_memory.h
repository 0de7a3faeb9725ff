// A default of an engine that depends on the memory of the device, as one text:
//
//   "35 GiB: 24/80, 60 GiB: 32/160, 160 GiB: 256/512, 512"
//
// stands for 24 on devices with less than 35 GiB, else 32 on those with less than 60 GiB, else 256
// on those with less than 160 GiB, and else 512. The number after a slash holds in place of the one
// before it with four tensor-parallel ranks or more (SGLang's rule, sglang/srt/server_args.py).
#pragma once

#include <cstdint>
#include <string_view>

#include "orrery/base/units.h"

namespace orrery {

// InputError: `text` has not this form.
std::int64_t by_memory(std::string_view text, Bytes memory, std::int64_t tp);

}  // namespace orrery
