#include "orrery/hardware/gpu_architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog_file.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kArchitectures = "architectures", kFileEnding = ".yaml";

void declare_identity(Fields& f, GpuArchitecture& a) {
  f.add("id", a.id, "short lower-case name").required();
  f.add("name", a.name, "the maker's name");
  f.add("vendor", a.vendor, "maker").required();
  f.add("sources", a.sources, "sources of the figures").required();
  f.add("unsure", a.unsure, "keys of doubtful values");
}

void declare_kernels(Fields& f, GpuArchitecture& a) {
  f.add("kernels", a.kernels, "generation for which libraries write kernels; empty: the id");
  f.add("generation", a.generation, "number of the generation, which rises with time")
      .range(0, 1000);
  f.custom(
      "replaced_kernels", Field::Type::kList,
      [&a](const Node& list) {
        a.replaced_kernels.clear();
        for (const Node& item : list.items()) {
          ReplacedKernels r;
          Fields of;
          of.add("family", r.family, "family of kernels").required();
          of.add("classes", r.classes, "beginning of the names of the classes; empty: all");
          of.add("what", r.what, "old and new kernels").required();
          of.read(item);
          a.replaced_kernels.push_back(std::move(r));
        }
      },
      [] { return nlohmann::ordered_json::array(); }, "kernels that libraries wrote anew");
  f.add("fallback_kernels", a.fallback_kernels, "set of engines' fall-back rules");
  f.add("slow_fp8_cache", a.slow_fp8_cache,
        "masked multi-head attention is slow with an fp8 cache");
  f.add("whole_block_scaled_tiles", a.whole_block_scaled_tiles,
        "block-scaled products have tiles of one shape");
  f.add("any_fp8_layout", a.any_fp8_layout, "fp8 products take operands in any layout");
  f.add("exponentials", a.exponentials, "exponentials per clock and compute unit; 0: not known")
      .range(0, 1e4);
  f.add("attention_backward", a.attention_backward,
        "time of attention's backward pass over that of 2.5 forward passes")
      .range(0.1, 10);
  f.add("attention_backward_short", a.attention_backward_short,
        "what calls of 1,024 tokens have in addition")
      .range(0, 10);
}

void declare_power(Fields& f, GpuArchitecture& a) {
  f.add("fp32_picojoules", a.fp32_picojoules, "energy of a FLOP of fp32 products, in picojoules")
      .range(0.01, 1000);
  f.add("fp32_at_power_limit", a.fp32_at_power_limit,
        "the energy was measured at the power limit of cards");
  f.add("wide_unit_share", a.wide_unit_share,
        "share of its peak that a unit of 128 fp32 lanes reaches")
      .range(0.05, 1);
  f.add("burst", a.burst, "how much longer a short product takes in a step than in a sweep")
      .range(0, 5);
  f.add("full_power", a.full_power, "power of the board with all of its peaks").range(1, 1e5);
  f.add("full_bf16", a.full_bf16, "bf16 peak of that board").range(1e9, 1e18);
}

void declare_software(Fields& f, GpuArchitecture& a) {
  f.add("engine_class", a.engine_class, "class for which engine profiles have files");
  f.add("older_host", a.older_host, "hosts are older than those that engines were measured on");
  f.add("small_gpu_defaults", a.small_gpu_defaults,
        "engines take their defaults of small GPUs whatever the memory is");
  f.add("splits_mixed_batches", a.splits_mixed_batches,
        "attention of mixed steps splits the keys of a sequence");
  f.add_enum("nccl", a.nccl, {"volta", "ampere", "hopper", "blackwell"},
             "generation of NCCL's tables");
}

// The keys that variants may state, too.
void declare_facts(Fields& f, GpuArchitecture& a) {
  f.add("sm_versions", a.sm_versions, "CUDA compute capabilities times ten").range(1, 999);
  declare_kernels(f, a);
  declare_power(f, a);
  declare_software(f, a);
}

// The architecture of a file, then its variants.
std::vector<GpuArchitecture> read_variants(const Node& document) {
  GpuArchitecture base;
  std::vector<const Node*> nodes;
  Fields fields;
  declare(fields, base);
  fields.custom(
      "variants", Field::Type::kList,
      [&nodes](const Node& list) {
        for (const Node& item : list.items()) nodes.push_back(&item);
      },
      [] { return nlohmann::ordered_json::array(); }, "chips that differ, by sm_versions");
  read_catalog_file(document, fields, base.id, base.sources, base.unsure);
  if (base.kernels.empty()) base.kernels = base.id;
  std::vector<GpuArchitecture> all = {base};
  for (const Node* node : nodes) {
    GpuArchitecture variant = base;
    variant.sm_versions.clear();
    Fields of;
    declare_facts(of, variant);
    of.read(*node);
    if (variant.sm_versions.empty()) node->fail("a variant needs sm_versions");
    all.push_back(std::move(variant));
  }
  return all;
}

// The one with the compute capability, or with the nearest one (of two, the lower). The first
// without a compute capability.
const GpuArchitecture& nearest(const std::vector<GpuArchitecture>& all, int sm_version) {
  const GpuArchitecture* best = &all.front();
  if (sm_version == 0) return *best;
  std::int64_t least = INT64_MAX;
  for (const GpuArchitecture& a : all) {
    for (const std::int64_t sm : a.sm_versions) {
      const std::int64_t distance = 2 * std::abs(sm - sm_version) + (sm > sm_version ? 1 : 0);
      if (distance >= least) continue;
      least = distance;
      best = &a;
    }
  }
  return *best;
}

std::string architecture_path(std::string_view id) {
  return fmt::format("{}/{}{}", kArchitectures, id, kFileEnding);
}

// The document of an architecture; nothing if there is no file.
std::optional<Node> architecture_document(const std::string& id, const Bundle& bundle,
                                          const std::vector<fs::path>& beside) {
  const bool plain = !id.empty() && std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-';
  });
  if (!plain) return std::nullopt;
  for (const fs::path& folder : beside) {
    std::error_code error;
    const fs::path file = folder / (id + std::string(kFileEnding));
    if (fs::is_regular_file(file, error)) return read_document(file);
  }
  if (const auto file = bundle.find(architecture_path(id)))
    return parse_yaml(file->content, file->name);
  return std::nullopt;
}

// The facts of an architecture without a file.
GpuArchitecture stand_in(const ArchitectureName& wanted, const Bundle& bundle) {
  std::vector<GpuArchitecture> all;
  if (wanted.sm_version > 0) {
    for (const std::string& id : architecture_ids(bundle)) {
      for (GpuArchitecture& a : read_variants(*architecture_document(id, bundle, {}))) {
        if (a.vendor == wanted.vendor && !a.sm_versions.empty()) all.push_back(std::move(a));
      }
    }
  }
  GpuArchitecture a;
  if (!all.empty()) a = nearest(all, wanted.sm_version);
  a.taken_from = a.kernels;
  a.id = a.kernels = wanted.id;
  a.name.clear();
  a.vendor = wanted.vendor;
  a.sources.clear(), a.unsure.clear();
  a.known = false;
  return a;
}

}  // namespace

void declare(Fields& f, GpuArchitecture& a) {
  declare_identity(f, a);
  declare_facts(f, a);
}

GpuArchitecture find_architecture(const ArchitectureName& wanted, const Bundle& bundle,
                                  const std::vector<fs::path>& beside) {
  const std::string id = canonical_name(wanted.id);
  const auto document = architecture_document(id, bundle, beside);
  if (!document) return stand_in(wanted, bundle);
  const std::vector<GpuArchitecture> all = read_variants(*document);
  if (all.front().id != id)
    document->at("id").fail(fmt::format("expected '{}', the name of the file", id));
  if (all.front().vendor != wanted.vendor) return stand_in(wanted, bundle);
  return nearest(all, wanted.sm_version);
}

std::vector<std::string> architecture_ids(const Bundle& bundle) {
  std::vector<std::string> ids = bundle.list(kArchitectures, kFileEnding);
  for (std::string& path : ids)
    path = path.substr(kArchitectures.size() + 1,
                       path.size() - kArchitectures.size() - 1 - kFileEnding.size());
  return ids;
}

void note_unknown(const GpuArchitecture& a, std::vector<std::string>& notes) {
  if (a.known) return;
  notes.push_back(fmt::format(
      "wider intervals: the architecture {} has no file (catalog/architectures); {}", a.id,
      a.taken_from.empty() ? "nothing is known of it but the data sheet"
                           : fmt::format("its facts are those of {}", a.taken_from)));
}

}  // namespace orrery
