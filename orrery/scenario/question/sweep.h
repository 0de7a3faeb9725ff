// Lists of whole numbers as flags and files write them: "8", "1,2,4,8", "1-64*2" (doubling),
// "128-1024+128".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"

namespace orrery {

// A swept value: at least one number, in the order written.
using Sweep = std::vector<std::int64_t>;

// InputError at `node` if the text is no list, a number is outside [least, most], a range runs
// backwards or has more than 10,000 numbers. A YAML list may mix numbers and ranges.
Sweep read_sweep(const Node& node, std::int64_t least, std::int64_t most);

// Declares a parameter that takes lists and ranges of whole numbers in this form. It holds one
// value: the reader of a document makes a point of each (scenario_sweep.h).
Field& add_sweep(Fields& fields, std::string name, std::int64_t& value, std::int64_t least,
                 std::int64_t most, std::string doc);
Field& add_sweep(Fields& fields, std::string name, int& value, int least, int most,
                 std::string doc);
// The same for an optional value. `shown` is the text of an absent value in JSON and help.
Field& add_sweep(Fields& fields, std::string name, std::optional<std::int64_t>& value,
                 std::int64_t shown, std::int64_t least, std::int64_t most, std::string doc);

// The same for an optional value that `open`, the least, leaves open.
Field& add_open_sweep(Fields& fields, std::string name, std::optional<std::int64_t>& value,
                      std::int64_t open, std::int64_t most, std::string doc);

// The same for sizes in bytes: "65536", "64K", "1K-16G*4", "13.48 GB", "8 MiB". A bare prefix is
// binary as in nccl-tests (1K = 1024); GB is 1e9 and GiB 2^30.
Field& add_byte_sweep(Fields& fields, std::string name, std::int64_t& value, std::int64_t least,
                      std::int64_t most, std::string doc);

// Declares a parameter that is a list itself: all its numbers are one value.
Field& add_list(Fields& fields, std::string name, Sweep& value, std::int64_t least,
                std::int64_t most, std::string doc);

}  // namespace orrery
