#include "orrery/edge/graph/ncnn_layer.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "orrery/base/error.h"

namespace orrery {
namespace {

std::int64_t as_integer(double value, int key) {
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  if (!(std::abs(value) <= kMost) || value != std::trunc(value)) {
    throw InputError(fmt::format("key {} must be an integer of 32 bits", key));
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

void NcnnParams::set(int key, std::vector<double> values) {
  if (!values_.emplace(key, std::move(values)).second) {
    throw InputError(fmt::format("key {} is given twice", key));
  }
}

std::int64_t NcnnParams::integer(int key, std::int64_t otherwise) const {
  return as_integer(number(key, static_cast<double>(otherwise)), key);
}

double NcnnParams::number(int key, double otherwise) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return otherwise;
  if (found->second.size() != 1) throw InputError(fmt::format("key {} must be one number", key));
  return found->second[0];
}

std::vector<std::int64_t> NcnnParams::integers(int key) const {
  std::vector<std::int64_t> result;
  const auto found = values_.find(key);
  if (found == values_.end()) return result;
  for (const double v : found->second) result.push_back(as_integer(v, key));
  return result;
}

std::size_t NcnnParams::count(int key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? 0 : found->second.size();
}

const EdgeDims& NcnnLayer::input(std::size_t i) const {
  if (i >= inputs.size()) throw InputError(fmt::format("it needs {} inputs", i + 1));
  return inputs[i];
}

void NcnnLayer::set_weights(std::int64_t weights, std::int64_t positions, int key) {
  const std::int64_t given = params.integer(key, 0);
  if (given != weights) {
    throw InputError(fmt::format("it has {} weights, and its shapes need {}", given, weights));
  }
  node.weights = weights;
  node.macs = checked_product({weights, positions});
}

const NcnnKind* ncnn_kind(std::string_view type) {
  static const std::unordered_map<std::string_view, const NcnnKind*> kKinds = [] {
    std::unordered_map<std::string_view, const NcnnKind*> kinds;
    for (const auto* list : {&ncnn_product_kinds(), &ncnn_shape_kinds()}) {
      for (const NcnnKind& k : *list) kinds.emplace(k.type, &k);
    }
    return kinds;
  }();
  const auto found = kKinds.find(type);
  return found == kKinds.end() ? nullptr : found->second;
}

}  // namespace orrery
