#include "orrery/training/iteration/constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr const char* kFile = "training/constants.yaml";

// Priors of the constants. Factors of kernels and collectives are near 1. Exposed shares are those
// of the prototype in docs/reference/training.md: all or half of tensor-parallel communication;
// 0.68 of data-parallel communication, of which the schedule exposes about 0.22. Attention is at
// most twice as slow as the kernels of the kernel room: the kernels of FlashAttention 2 reach 35 to
// 40 % of an H100's peak, those of FlashAttention 3 up to 75 % (Shah et al. 2024,
// arXiv:2407.08608). Ranks differ by 1 %: GPUs of one kind in machines of 216 to 27,648 GPUs
// differ by 8 % from the fastest to the slowest (Sinha et al. 2022, arXiv:2208.11035), and the
// range of as many normal draws is 5.6 to 8 deviations.
constexpr std::array<TrainingConstantProperties, kTrainingConstants> kFacts = {{
    {"products", 1.08, 0.5, 3, "factor of dense products"},
    {"attention", 1.0, 0.5, 2, "factor of attention's forward kernels"},
    {"attention_backward", 1.0, 0.5, 2, "factor of attention's gradients"},
    {"experts", 1.0, 0.5, 4, "factor of routed experts, on top of that of products"},
    {"elementwise", 1.0, 0.3, 4, "factor of norms, activations and residual adds"},
    {"casts", 1.0, 0.1, 4, "factor of casts between number formats"},
    {"head", 1.0, 0.5, 4, "factor of the LM head"},
    {"tensor", 1.0, 0.1, 3, "share of tensor-parallel communication that is exposed"},
    {"context", 1.0, 0.1, 4, "factor of context-parallel communication, before its schedule"},
    {"expert_exchange", 1.0, 0.1, 4, "share of the experts' all-to-all that is exposed"},
    {"tensor_overlapped", 1.0, 0.1, 4, "factor of exposed tensor-parallel communication"},
    {"expert_overlapped", 0.5, 0, 1, "share of the experts' exchange that overlaps in pairs"},
    {"sharded", 1.0, 0.5, 3, "factor of sharded weights' communication, before its schedule"},
    {"data_blocking", 0.59, 0, 1, "share of reducing gradients and gathering weights that blocks"},
    {"pipeline", 1.0, 1, 3, "factor of the pipeline's idle time, at least 1"},
    {"send", 0.5, 0, 2, "share of sends between stages that is exposed"},
    {"optimizer", 1.0, 0.5, 5, "factor of the optimizer's kernel"},
    {"launch", 4.0, 0.5, 20, "microseconds of the host for each kernel"},
    {"host", 5.0, 0, 200, "milliseconds of an iteration in which the GPU waits for the host"},
    {"jitter", 1.0, 0, 5, "percent by which a step's computation differs between ranks"},
}};

std::string_view format_of(const TrainingPrecision& precision) {
  constexpr std::array<std::string_view, 4> kFp8 = {"fp8", "fp8_block", "mxfp8", "fp8"};
  if (precision.compute == Dtype::kFp8) return kFp8[index(precision.recipe)];
  if (precision.compute == Dtype::kFp4) return "nvfp4";
  return to_text(precision.compute);
}

}  // namespace

const TrainingConstantProperties& properties(TrainingConstant constant) {
  return kFacts[index(constant)];
}

namespace {

bool is_narrow(const TrainingPrecision& precision) {
  return precision.compute == Dtype::kFp8 || precision.compute == Dtype::kFp4;
}

}  // namespace

std::vector<ConstantGroup> constant_groups(std::string_view stack, const Gpu& gpu,
                                           const TrainingPrecision& precision, double years) {
  const std::string architecture = gpu.architecture.kernels;
  std::vector<ConstantGroup> groups = {{"base"},
                                       {fmt::format("stack {}", stack)},
                                       {fmt::format("gpu {}", architecture)},
                                       {fmt::format("stack {} gpu {}", stack, architecture)}};
  if (years != 0) groups.push_back({fmt::format("stack {} year", stack), years});
  if (is_narrow(precision)) groups.push_back({fmt::format("format {}", format_of(precision))});
  return groups;
}

std::string coverage_name(std::string_view stack, const Gpu& gpu,
                          const TrainingPrecision& precision) {
  const std::string name = fmt::format("{} {}", stack, gpu.architecture.kernels);
  return is_narrow(precision) ? fmt::format("{} {}", name, format_of(precision)) : name;
}

namespace {

ConstantValues filled(double value) {
  ConstantValues v;
  v.fill(value);
  return v;
}

}  // namespace

ConstantTable prior_constants() {
  ConstantTable table;
  table.provenance = "priors, nothing fitted";
  ConstantValues& base = table.groups["base"];
  for (std::size_t i = 0; i < kTrainingConstants; ++i) base[i] = kFacts[i].base;
  return table;
}

ConstantTable read_constant_table(const Bundle& bundle) {
  ConstantTable table = prior_constants();
  const auto file = bundle.find(kFile);
  if (!file) return table;
  const Node document = parse_yaml(file->content, file->name);
  std::vector<std::string> recipe;
  Fields fields;
  fields.add("provenance", table.provenance, "data and date of the fit");
  fields
      .add("covered_error", table.covered_error,
           "own error of an iteration whose stack, architecture and format are in the fit")
      .range(0, 2);
  fields.add("related_error", table.related_error, "the same if each of them is in the fit")
      .range(0, 2);
  fields.add("uncovered_error", table.uncovered_error, "the same if one of them is not in the fit")
      .range(0, 2);
  fields.add("experts_error", table.experts_error, "added with routed experts").range(0, 2);
  fields
      .add("adapters_error", table.adapters_error,
           "added if adapters are trained and other weights frozen")
      .range(0, 2);
  std::vector<std::string> covers;
  fields.add("covers", covers, "stacks on architectures, with narrow formats, in the fit");
  fields.add("recipe", recipe, "how it was made");
  fields.custom(
      "releases", Field::Type::kGroup,
      [&](const Node& stacks) {
        for (std::size_t s = 0; s < stacks.keys().size(); ++s) {
          ReleaseSpan& span = table.releases[stacks.keys()[s]];
          Fields dates;
          dates.add("first", span.first, "the oldest release in the fit, in years")
              .range(2000, 2100);
          dates.add("last", span.last, "the newest").range(2000, 2100);
          dates.add("usual", span.usual, "the one whose constants the groups say")
              .range(2000, 2100);
          dates.read(stacks.items()[s]);
        }
      },
      [] { return nlohmann::ordered_json::object(); }, "by stack");
  fields.custom(
      "groups", Field::Type::kGroup,
      [&](const Node& groups) {
        for (std::size_t g = 0; g < groups.keys().size(); ++g) {
          const std::string& name = groups.keys()[g];
          const bool base = name == "base";
          ConstantValues values = base ? table.groups["base"] : filled(1);
          Fields constants;
          for (std::size_t i = 0; i < kTrainingConstants; ++i)
            constants.add(std::string(kFacts[i].name), values[i], std::string(kFacts[i].doc))
                .range(0, 1000);
          constants.read(groups.items()[g]);
          table.groups[name] = values;
        }
      },
      [] { return nlohmann::ordered_json::object(); }, "factors by group");
  fields.read(document);
  table.covers.insert(covers.begin(), covers.end());
  return table;
}

std::string to_yaml(const ConstantTable& table) {
  std::string out = fmt::format(
      "provenance: \"{}\"\ncovered_error: {:.4g}\nrelated_error: {:.4g}\n"
      "uncovered_error: {:.4g}\nexperts_error: {:.4g}\nadapters_error: {:.4g}\n",
      table.provenance, table.covered_error, table.related_error, table.uncovered_error,
      table.experts_error, table.adapters_error);
  out += fmt::format("covers: [{}]\n", fmt::join(table.covers, ", "));
  if (!table.releases.empty()) out += "releases:\n";
  for (const auto& [stack, span] : table.releases)
    out += fmt::format("  {}: {{first: {:.2f}, last: {:.2f}, usual: {:.2f}}}\n", stack, span.first,
                       span.last, span.usual);
  out += "groups:\n";
  for (const auto& [name, values] : table.groups) {
    std::string line;
    for (std::size_t i = 0; i < kTrainingConstants; ++i) {
      const std::string value = fmt::format("{:.4g}", values[i]);
      if (name != "base" && value == "1") continue;  // an absent factor is 1
      line += fmt::format("{}{}: {}", line.empty() ? "" : ", ", kFacts[i].name, value);
    }
    if (!line.empty()) out += fmt::format("  {}: {{{}}}\n", name, line);
  }
  return out;
}

TrainingConstants training_constants(const ConstantTable& table, std::string_view stack,
                                     const Gpu& gpu, const TrainingPrecision& precision,
                                     std::optional<double> release) {
  TrainingConstants c;
  c.value = filled(1);
  const auto span = table.releases.find(stack);
  const double years = release && span != table.releases.end() ? span->second.years(*release) : 0;
  bool known = true;  // the table has the stack, the architecture and the narrow format
  for (const auto& [group, power] : constant_groups(stack, gpu, precision, years)) {
    const auto found = table.groups.find(group);
    const bool pair = group.find(" gpu ") != std::string::npos, year = group.ends_with(" year");
    if (!pair && !year) known &= found != table.groups.end();
    if (found == table.groups.end()) continue;
    for (std::size_t i = 0; i < kTrainingConstants; ++i)
      c.value[i] *= power == 1 ? found->second[i] : std::pow(found->second[i], power);
  }
  for (std::size_t i = 0; i < kTrainingConstants; ++i)
    c.value[i] = std::clamp(c.value[i], kFacts[i].least, kFacts[i].most);
  if (known) c.cover = FitCover::kEach;
  if (known && table.covers.contains(coverage_name(stack, gpu, precision)))
    c.cover = FitCover::kCombination;
  c.adapters_error = table.adapters_error;
  c.experts_error = table.experts_error;
  c.error = c.cover == FitCover::kCombination ? table.covered_error
            : c.cover == FitCover::kEach      ? table.related_error
                                              : table.uncovered_error;
  c.provenance = table.provenance;
  return c;
}

}  // namespace orrery
