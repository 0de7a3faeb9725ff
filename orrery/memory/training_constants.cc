#include "orrery/memory/training_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr double kMostShare = 0.5;
constexpr std::string_view kFittedPath = "training/memory-fitted.yaml";
// The stack whose memory stands for that of stacks without a file.
constexpr std::string_view kEagerStack = "hf";

// The priors if the bundle has no file.
TrainingMemoryConstants::Fitted read_fitted(const Bundle& bundle) {
  TrainingMemoryConstants::Fitted c;
  const auto file = bundle.find(kFittedPath);
  if (!file) return c;
  std::string recipe;
  Fields f;
  f.add("recipe", recipe, "data, rows and method of the fit").required();
  f.add("factor", c.factor, "measured activations over the tensors counted").range(0.1, 10);
  f.add("fragmentation", c.fragmentation, "unused reserved memory over activations").range(0, 10);
  f.add("context", c.context, "driver context and libraries");
  f.add("relative_error", c.error.relative, "standard deviation as a share of the memory")
      .range(1e-3, 3);
  f.add("absolute_error", c.error.absolute, "standard deviation of what does not grow with it");
  f.read(parse_yaml(file->content, file->name));
  return c;
}

}  // namespace

Bytes MemoryError::deviation(Bytes size) const {
  return Bytes(std::hypot(relative * size.value(), absolute.value()));
}

double MemoryError::share(Bytes size) const {
  return size > Bytes(0) ? std::min(deviation(size) / size, kMostShare) : kMostShare;
}

std::string to_yaml(const TrainingMemoryConstants::Fitted& fitted, std::string_view recipe) {
  return fmt::format(
      "recipe: \"{}\"\nfactor: {:.4g}\nfragmentation: {:.4g}\ncontext: {:.4g} GB\n"
      "relative_error: {:.3g}\nabsolute_error: {:.3g} GB\n",
      recipe, fitted.factor, fitted.fragmentation, fitted.context.value() / 1e9,
      fitted.error.relative, fitted.error.absolute.value() / 1e9);
}

std::vector<TrainingMemoryConstants> load_training_memory(const Bundle& bundle) {
  const TrainingMemoryConstants::Fitted fitted = read_fitted(bundle);
  std::vector<TrainingMemoryConstants> all;
  for (TrainingStackProfile& stack : load_training_stacks(bundle)) {
    TrainingMemoryConstants& c = all.emplace_back();
    static_cast<StackMemory&>(c) = stack.memory;
    c.name = std::move(stack.name);
    c.fitted = fitted;
  }
  return all;
}

TrainingMemoryConstants load_training_memory(std::string_view stack, const Bundle& bundle) {
  check_stack_file(bundle, stack);
  const std::vector<TrainingMemoryConstants> all = load_training_memory(bundle);
  const auto named = [&](std::string_view name) {
    return std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.name == name; });
  };
  auto found = named(stack);
  if (found == all.end()) found = named(kEagerStack);
  if (found == all.end()) throw NoData(fmt::format("no training stack '{}'", kEagerStack));
  return *found;
}

}  // namespace orrery
