// Expressions in AccelForge's files: arithmetic over numbers, and sets of tensors.
//
//   1024 * 64 * 8      1 / (8 * 614e9)      max(2, n) ** 2      inf
//   weight.bits_per_value if weight else 0
//   All    Nothing    input | output    ~Intermediates    Inputs & Intermediates if len(All) == 3
//                                                         else Inputs
//
// The tool evaluates Python; functions, ranges, strings and comprehensions are refused.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "orrery/base/node.h"

namespace orrery {

using NameSet = std::set<std::string>;

// The names that an expression may use.
struct ExpressionNames {
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, NameSet, std::less<>> sets;
  NameSet all;  // for complements
};

// The value of a scalar. InputError with its place: anything else than the forms above, an unknown
// name with the nearest one, a division by zero.
double evaluate_number(const Node& node, const ExpressionNames& names);
NameSet evaluate_set(const Node& node, const ExpressionNames& names);
// The same for a text, such as a key; messages are about `node`.
NameSet evaluate_set(const std::string& text, const Node& node, const ExpressionNames& names);

}  // namespace orrery
