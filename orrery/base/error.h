// The errors that leave the library. The command line turns them into exit codes; the library
// itself never exits.
//
//   InputError   2   The question is malformed. The message says where, what was expected and the
//                    nearest valid name.
//   Infeasible   3   The question is sound, but does not fit (memory, a rule of the layout).
//   NoData       4   No tier knows this combination (fp8 on a GPU without it).
//
// Any other std::exception is an internal error (1).
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace orrery {

class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Infeasible : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class NoData : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The name of `known` with the least edit distance to `name` (case, '_', '-' and '.' ignored), if
// it is close enough to be meant; otherwise empty. Ties go to the earlier one, among names that
// begin with the input to the shortest.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

// " (did you mean 'h100-sxm'?)" or "" when nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

// Lower case, '_' as '-': the form in which ids and aliases are compared.
std::string canonical_name(std::string_view name);

}  // namespace orrery
