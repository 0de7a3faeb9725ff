#include "orrery/accelerator/problem/timeloop_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>

namespace orrery {
namespace {

constexpr std::int64_t kMostIterations = std::int64_t{1} << 40;
constexpr std::int64_t kMostCoefficient = std::int64_t{1} << 16;

const Node* either(const Node& map, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const Node* found = map.find(name)) return found;
  }
  return nullptr;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::int64_t positive(const Node& node) {
  const std::int64_t value = node.as_int();
  if (value < 1 || value > kMostIterations) node.fail("expected a whole number from 1 to 2^40");
  return value;
}

int dimension_of(const Einsum& e, const Node& name) {
  const auto found = std::find(e.dims.begin(), e.dims.end(), name.as_string());
  if (found == e.dims.end()) {
    name.fail(fmt::format("expected a dimension ({}), got '{}'{}", fmt::join(e.dims, ", "),
                          name.text(), did_you_mean(name.text(), e.dims)));
  }
  return static_cast<int>(found - e.dims.begin());
}

EinsumTensor read_tensor(const Einsum& e, const Node& node,
                         const std::map<std::string, std::int64_t, std::less<>>& coefficients) {
  EinsumTensor tensor;
  tensor.name = node.at("name").as_string();
  if (const Node* output = either(node, {"read_write", "read-write"})) {
    tensor.output = output->as_bool();
  }
  for (const char* role : {"input", "weight", "output"}) {
    const std::string name = lower(tensor.name);
    if (name == role || name == std::string(role) + "s") tensor.role = role;
  }
  const Node& projection = node.at("projection");
  if (!projection.is_list() || projection.items().size() > static_cast<std::size_t>(kMostRanks)) {
    projection.fail(fmt::format("expected a list of at most {} ranks", kMostRanks));
  }
  for (const Node& rank : projection.items()) {
    if (!rank.is_list() || rank.items().empty()) rank.fail("expected a list of summands");
    std::vector<IndexTerm> terms;
    for (const Node& term : rank.items()) {
      if (!term.is_list() || term.items().empty() || term.items().size() > 2) {
        term.fail("expected [dimension] or [dimension, coefficient]");
      }
      IndexTerm t;
      t.dim = dimension_of(e, term.items()[0]);
      if (term.items().size() == 2) {
        const Node& c = term.items()[1];
        const auto named = coefficients.find(c.text());
        t.coefficient = named != coefficients.end() ? named->second : positive(c);
        if (t.coefficient > kMostCoefficient) c.fail("expected a coefficient of at most 65536");
      }
      terms.push_back(t);
    }
    tensor.ranks.push_back(std::move(terms));
  }
  return tensor;
}

}  // namespace

Einsum read_timeloop_problem(const Node& root) {
  const Node* inside = root.find("problem");
  const Node& problem = inside != nullptr ? *inside : root;
  const Node& shape = problem.at("shape");
  const Node& instance = problem.at("instance");
  Einsum e;
  if (const Node* name = shape.find("name")) e.name = name->as_string();
  const Node& dimensions = shape.at("dimensions");
  if (!dimensions.is_list() || dimensions.items().empty() ||
      dimensions.items().size() > static_cast<std::size_t>(kMostEinsumDims)) {
    dimensions.fail(fmt::format("expected 1 to {} dimensions", kMostEinsumDims));
  }
  for (const Node& d : dimensions.items()) {
    if (std::find(e.dims.begin(), e.dims.end(), d.as_string()) != e.dims.end()) {
      d.fail(fmt::format("a second dimension named '{}'", d.as_string()));
    }
    e.dims.push_back(d.as_string());
    e.sizes.push_back(positive(instance.at(e.dims.back())));
  }
  std::map<std::string, std::int64_t, std::less<>> coefficients;
  if (const Node* list = shape.find("coefficients")) {
    for (const Node& c : list->items()) {
      const std::string& name = c.at("name").as_string();
      const Node* given = instance.find(name);
      const Node* usual = c.find("default");
      if (given == nullptr && usual == nullptr) c.fail("has no value in instance and no default");
      coefficients[name] = positive(given != nullptr ? *given : *usual);
    }
  }
  const Node* tensors = either(shape, {"data_spaces", "data-spaces", "dataspaces"});
  if (tensors == nullptr || !tensors->is_list() || tensors->items().empty()) {
    shape.fail("expected data_spaces, a list of tensors");
  }
  for (const Node& t : tensors->items()) e.tensors.push_back(read_tensor(e, t, coefficients));
  if (std::none_of(e.tensors.begin(), e.tensors.end(),
                   [](const EinsumTensor& t) { return t.output; })) {
    tensors->fail("expected an output: a data space with read_write: true");
  }
  return e;
}

}  // namespace orrery
