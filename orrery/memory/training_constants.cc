#include "orrery/memory/training_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr std::string_view kPath = "training/memory.yaml";
constexpr std::string_view kFittedPath = "training/memory-fitted.yaml";

TrainingMemoryConstants read_entry(const Node& node) {
  TrainingMemoryConstants c;
  Fields f;
  f.add("name", c.name, "of the family").required();
  f.add("stacks", c.stacks, "stacks that it stands for; none: all that no other entry names");
  f.add("fused", c.fused, "norms and activations save their inputs once");
  f.add("expanded_kv", c.expanded_kv, "key-value heads are repeated before attention");
  f.add("selective_products", c.selective_products, "selective keeps every other product");
  f.add("gradient_buffer", c.gradient_buffer, "gradients have buffers of their own");
  f.add("stage_outputs", c.stage_outputs, "stages keep what they sent on");
  f.add("narrow_gradients", c.narrow_gradients, "gradients in 16 bits beside fp32 sums");
  f.add("step_copy", c.step_copy, "the optimizer's step copies what it updates");
  f.add("fp32_parameters", c.fp32_parameters, "master weights are the parameters");
  f.add("logits_extra", c.logits_extra, "bytes a logit beside its own").range(0, 32);
  f.add("fused_logits", c.fused_logits, "bytes a logit under a fused loss").range(0, 32);
  f.add("bucket", c.bucket, "elements of a bucket").range(0, 1e11);
  f.add("grids", c.grids, "sets of process groups in Megatron's manner").range(0, 4);
  f.add("workspace", c.workspace, "of products");
  f.read(node);
  return c;
}

// The priors where there is no file.
TrainingMemoryConstants::Fitted read_fitted(const Bundle& bundle) {
  TrainingMemoryConstants::Fitted c;
  const auto file = bundle.find(kFittedPath);
  if (!file) return c;
  std::string recipe;
  Fields f;
  f.add("recipe", recipe, "data, rows, how").required();
  f.add("factor", c.factor, "activations over the tensors counted").range(0.1, 10);
  f.add("fragmentation", c.fragmentation, "reserved over allocated").range(0, 10);
  f.add("context", c.context, "driver context and libraries");
  f.add("error", c.error, "sigma of ln(predicted/measured)").range(1e-3, 3);
  f.read(parse_yaml(file->content, file->name));
  return c;
}

}  // namespace

std::string to_yaml(const TrainingMemoryConstants::Fitted& fitted, std::string_view recipe) {
  return fmt::format(
      "recipe: \"{}\"\nfactor: {:.4g}\nfragmentation: {:.4g}\ncontext: {:.4g} GB\n"
      "error: {:.3g}\n",
      recipe, fitted.factor, fitted.fragmentation, fitted.context.value() / 1e9, fitted.error);
}

std::vector<TrainingMemoryConstants> load_training_memory(const Bundle& bundle) {
  const auto file = bundle.find(kPath);
  if (!file) throw NoData("catalog has no training/memory.yaml");
  std::string recipe;
  std::vector<TrainingMemoryConstants> all;
  Fields f;
  f.add("recipe", recipe, "data, rows, how").required();
  f.custom(
       "families", Field::Type::kList,
       [&](const Node& node) {
         if (!node.is_list()) node.fail("expected a list of families of stacks");
         for (const Node& item : node.items()) all.push_back(read_entry(item));
         if (all.empty()) node.fail("no family");
       },
       [] { return nlohmann::ordered_json(); }, "one for each family of stacks")
      .required();
  f.read(parse_yaml(file->content, file->name));
  const TrainingMemoryConstants::Fitted fitted = read_fitted(bundle);
  for (TrainingMemoryConstants& c : all) c.fitted = fitted;
  return all;
}

TrainingMemoryConstants load_training_memory(std::string_view stack, const Bundle& bundle) {
  const std::vector<TrainingMemoryConstants> all = load_training_memory(bundle);
  const TrainingMemoryConstants* other = &all.front();
  for (const TrainingMemoryConstants& c : all) {
    if (std::find(c.stacks.begin(), c.stacks.end(), stack) != c.stacks.end()) return c;
    if (c.stacks.empty()) other = &c;
  }
  return *other;
}

}  // namespace orrery
