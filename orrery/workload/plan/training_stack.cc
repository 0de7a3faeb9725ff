#include "orrery/workload/plan/training_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/kinds.h"

namespace orrery {
namespace {

constexpr std::string_view kFolder = "training/stacks", kYaml = ".yaml";

void declare(Fields& f, StackTraits& t) {
  f.add("fused", t.fused, "fusible ops are folded into their neighbours");
  f.add("broadcasts", t.broadcasts, "one owner after the other broadcasts updated weights");
  f.add("whole_shards", t.whole_shards,
        "with ZeRO 1, one all-reduce of gradients and one gathering of weights follow the passes");
  f.add("fused_accumulation", t.fused_accumulation,
        "the kernel of a weight's gradient adds to the sum of earlier micro-batches");
  f.add("async_gradients", t.async_gradients,
        "backward, tensor-parallel communication overlaps with the product of the other gradient");
  f.add("whole_sends", t.whole_sends, "each tensor-parallel rank sends the whole residual stream");
  f.add("grouped_experts", t.grouped_experts, "one kernel computes all experts of a rank");
  f.add("padded_experts", t.padded_experts,
        "tokens of experts in narrow formats are copied to multiples of a block");
  f.add("bucket", t.bucket, "parameters of a bucket of gradients or weights; 0: a layer")
      .range(0, 1e12);
  f.add("bucket_of_rank", t.bucket_of_rank,
        "parameters of a bucket for each data-parallel rank, at least")
      .range(0, 1e12);
}

void declare(Fields& f, StackMemory& m) {
  f.add("fused", m.fused, "norms, gates and activations save their inputs once");
  f.add("activated_gates", m.activated_gates, "gated MLPs save the activated gate");
  f.add("expanded_kv", m.expanded_kv, "key-value heads are repeated before attention");
  f.add("fp32_adapters", m.fp32_adapters, "adapters are kept in fp32");
  f.add("selective_products", m.selective_products,
        "selective recomputation keeps every other product");
  f.add("gradient_buffer", m.gradient_buffer, "gradients have buffers as long as the job runs");
  f.add("stage_outputs", m.stage_outputs, "pipeline stages keep what they sent");
  f.add("routed_outputs", m.routed_outputs, "outputs of routed experts are kept");
  f.add("narrow_gradients", m.narrow_gradients, "16-bit gradients exist next to fp32 sums");
  f.add("narrow_gradients_freed", m.narrow_gradients_freed,
        "16-bit gradients are freed after the backward pass of a micro-batch");
  f.add("gradient_buckets", m.gradient_buckets,
        "without ZeRO, buckets of gradients exist beside the gradients");
  f.add("step_copy", m.step_copy, "the optimizer step copies what it updates");
  f.add("gathered_copies", m.gathered_copies, "copies of all weights while shards are gathered")
      .range(0, 4);
  f.add("fp32_parameters", m.fp32_parameters, "master weights are the only parameters");
  f.add("logits_extra", m.logits_extra, "bytes of a logit in addition to its own").range(0, 32);
  f.add("fused_logits", m.fused_logits, "bytes of a logit with a fused loss").range(0, 32);
  f.add("bucket", m.bucket, "elements of each of two communication buffers").range(0, 1e11);
  f.add("grids", m.grids, "sets of process groups in Megatron's manner").range(0, 4);
  f.add("workspace", m.workspace, "workspace of matrix products");
}

void declare(Fields& f, StackRecipe& r) {
  f.add("gradients", r.gradients, "format of gradients");
  f.add("fp16_gradients", r.fp16_gradients, "format of gradients in jobs of fp16");
  f.add("master_weights", r.master_weights, "the optimizer updates an fp32 copy of the weights");
  f.add("moments", r.moments, "format of the optimizer's moments");
  f.add("dropout", r.dropout, "dropout masks are written and kept");
  f.add("compiled", r.compiled, "torch.compile, or a stack without eager kernels");
  f.add("fused_cross_entropy", r.fused_cross_entropy, "loss without a copy of the logits");
  f.add("tp_overlap", r.tp_overlap, "tensor-parallel communication overlaps with products");
  f.add("current_scaling", r.current_scaling, "fp8 operands are scaled by their own largest value");
  f.add("dp_overlap", r.dp_overlap, "data-parallel communication overlaps with passes");
  f.add_enum("recompute", r.recompute, {"none", "selective", "full"},
             "activations that are recomputed");
  f.add("lora_rank", r.lora_rank, "rank of adapters").range(1, 65536);
  f.add("lora_targets", r.lora_targets, "adapted projections");
  f.add("zero", r.zero, "ZeRO stage").range(0, 3);
  f.add("recomputes_layers", r.recomputes_layers, "selective recomputation repeats whole layers");
  f.add("no_recompute_unsharded", r.no_recompute_unsharded, "nothing is recomputed without ZeRO");
  f.add("loss_fuses_all", r.loss_fuses_all, "a fused loss comes with fused norms and gates");
}

StackFramework read_framework(const Node& node) {
  StackFramework w;
  Fields f;
  f.add("name", w.name, "part of the framework's name in a measured table").required();
  f.add("gradients", w.gradients, "as in recipe");
  f.add("tp_overlap", w.tp_overlap, "as in recipe");
  f.add("compiled", w.compiled, "as in recipe");
  f.add("current_scaling", w.current_scaling, "as in recipe");
  f.add("lora_rank", w.lora_rank, "as in recipe").range(1, 65536);
  f.add("attention", w.attention, "library of attention, where its times are known");
  f.read(node);
  return w;
}

StackAttention read_attention(const Node& node) {
  StackAttention a;
  std::string since;
  Fields f;
  f.add("backend", a.backend, "library of attention").required();
  f.add("architectures", a.architectures, "GPU architectures; empty: all");
  f.add("torch", since, "first release of PyTorch; empty: all");
  f.read(node);
  if (!since.empty()) a.since = read_torch_version(since);
  return a;
}

// A field of a stack's file that is read by a function of its own.
void add_part(Fields& f, const char* name, Field::Type type, std::function<void(const Node&)> read,
              const char* doc) {
  f.custom(name, type, std::move(read), [] { return nlohmann::ordered_json(); }, doc);
}

TrainingStackProfile read_stack(const Bundle::File& file, std::string name) {
  TrainingStackProfile s;
  s.name = std::move(name);
  const Node document = parse_yaml(file.content, file.name);
  Fields f;
  f.add("doc", s.doc, "one line about the stack").required();
  f.add("sources", s.sources, "where the facts come from").required();
  f.group(
      "defaults",
      [&](Fields& g) {
        g.add("zero", s.zero, "ZeRO stage with several data-parallel ranks").range(0, 3);
        g.add("sequence_parallel", s.sequence_parallel,
              "sequence parallelism with tensor parallelism");
        g.add("balanced_split", s.balanced_split,
              "layers are divided among stages by parameters, with the LM head");
      },
      "settings if a user does not state them");
  f.group("traits", [&](Fields& g) { declare(g, s.traits); }, "kernels and transfers");
  f.group("memory", [&](Fields& g) { declare(g, s.memory); }, "what the stack keeps in memory");
  f.group(
      "recipe", [&](Fields& g) { declare(g, s.recipe); },
      "settings of measured rows that do not state them");
  // The two parts below are changes of a part above, which is read first.
  const Node* since = nullptr;
  const Node* before = nullptr;
  add_part(
      f, "traits_since", Field::Type::kGroup, [&](const Node& n) { since = &n; },
      "traits from a year on");
  f.group(
      "torch",
      [&](Fields& g) {
        g.custom(
            "single_norms", Field::Type::kText,
            [&](const Node& n) { s.single_norms_since = read_torch_version(n.text()); },
            [] { return nlohmann::ordered_json(); },
            "first release of PyTorch whose RMS norms are one kernel");
      },
      "what releases of PyTorch bring");
  add_part(
      f, "attention", Field::Type::kList,
      [&](const Node& n) {
        if (!n.is_list()) n.fail("expected a list of libraries of attention");
        for (const Node& item : n.items()) s.attention.push_back(read_attention(item));
      },
      "libraries of attention; the last that holds counts");
  add_part(
      f, "before_2023", Field::Type::kGroup, [&](const Node& n) { before = &n; },
      "settings of measured rows of 2022 and before");
  add_part(
      f, "frameworks", Field::Type::kList,
      [&](const Node& n) {
        if (!n.is_list()) n.fail("expected a list of names of the stack in measured tables");
        for (const Node& item : n.items()) s.frameworks.push_back(read_framework(item));
      },
      "names of the stack in measured tables");
  f.read(document);
  s.traits_since = s.traits;
  if (since) {
    double year = 0;
    Fields changed;
    changed.add("year", year, "first release, in years").range(2000, 2100).required();
    declare(changed, s.traits_since);
    changed.read(*since);
    s.since = year;
  }
  s.recipe_before_2023 = s.recipe;
  if (before) {
    Fields changed;
    changed.add("stack", s.stack_before_2023, "stack that the rows belong to");
    declare(changed, s.recipe_before_2023);
    changed.read(*before);
  }
  return s;
}

// The name of the stack in the file.
std::string name_of(const std::string& path) {
  const std::string file = path.substr(kFolder.size() + 1);
  return file.substr(0, file.size() - kYaml.size());
}

}  // namespace

std::vector<TrainingStackProfile> load_training_stacks(const Bundle& bundle) {
  std::vector<TrainingStackProfile> stacks;
  for (const std::string& path : bundle.list(kFolder, kYaml))
    stacks.push_back(read_stack(*bundle.find(path), name_of(path)));
  std::sort(stacks.begin(), stacks.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return stacks;
}

std::vector<std::string> training_stack_names() {
  std::vector<std::string> names;
  for (const std::string& path : Bundle().list(kFolder, kYaml)) names.push_back(name_of(path));
  std::sort(names.begin(), names.end());
  return names;
}

const std::vector<TrainingStackProfile>& training_stacks() {
  static const std::vector<TrainingStackProfile> stacks = load_training_stacks(Bundle());
  return stacks;
}

const TrainingStackProfile& training_stack(std::string_view name) {
  return kind_named(training_stacks(), "training stack", name);
}

void check_stack_file(const Bundle& bundle, std::string_view name) {
  const std::string path = fmt::format("{}/{}{}", kFolder, name, kYaml);
  const auto own = Bundle().find(path), found = bundle.find(path);
  if (own && found && own->content != found->content)
    throw InputError(
        fmt::format("{}: the program has a training stack '{}' of its own, which a folder of facts "
                    "cannot replace; change catalog/{} and build",
                    found->name, name, path));
}

void set_stack_defaults(TrainingJob& job, const StackMemory& stack) {
  if (job.recompute == Recompute::kSelective && job.recompute_modules.empty() &&
      stack.selective_products)
    job.recompute_modules = {RecomputeModule::kProducts};
  if (job.tuning != Tuning::kFull && !job.adapter_format && stack.fp32_adapters)
    job.adapter_format = Dtype::kFp32;
}

std::optional<TorchVersion> torch_of(const StackRelease& release) {
  if (release.torch || !release.date) return release.torch;
  return torch_at(*release.date);
}

StackTraits stack_traits(const TrainingStackProfile& stack, bool compiled,
                         const StackRelease& release) {
  StackTraits traits =
      stack.since && release.date.value_or(0) >= *stack.since ? stack.traits_since : stack.traits;
  traits.fused |= compiled;
  const std::optional<TorchVersion> torch = torch_of(release);
  traits.single_norms |= stack.single_norms_since && torch && *torch >= *stack.single_norms_since;
  return traits;
}

std::string attention_of(const TrainingStackProfile& stack, const StackRelease& release,
                         const Gpu& gpu) {
  const std::string architecture = gpu.architecture.kernels;
  const TorchVersion torch = torch_of(release).value_or(TorchVersion());
  std::string backend;
  for (const StackAttention& a : stack.attention) {
    const bool here = a.architectures.empty() ||
                      std::find(a.architectures.begin(), a.architectures.end(), architecture) !=
                          a.architectures.end();
    if (here && torch >= a.since) backend = a.backend;
  }
  return backend;
}

}  // namespace orrery
