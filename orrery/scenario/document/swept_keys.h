// The keys of a document whose lists and ranges make a sweep, and their values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace orrery {

struct SweptValues {
  std::string path;             // dotted, as the document has it
  std::vector<Node> values;     // at least one
  const Field* size = nullptr;  // where every question of its kind lists it by itself
};

// The keys of a `sweep` group. InputError: not a map, an empty list, a key that cannot be swept.
std::vector<SweptValues> swept_by_group(const Node& sweep);

// The keys of a document that have lists, ranges or numbers with a suffix (2T). A key with a single
// value replaces the value of the document by it. `fields`: all keys of a document.
std::vector<SweptValues> swept_by_lists(const Node& document, const Fields& fields);

// Sorts sizes: numbers of GPUs first, then in the order of their declaration. `fields`: all keys of
// a document.
void order_sizes(std::vector<SweptValues>& sizes, const Fields& fields);

// The next combination of values, the last key fastest; false after the last one.
bool advance(std::vector<std::size_t>& at, const std::vector<SweptValues>& keys);

// Number of combinations of the values.
double combinations(const std::vector<SweptValues>& keys);

}  // namespace orrery
