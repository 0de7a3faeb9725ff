// Does docs/models.md agree with the catalog? ORRERY_REWRITE=1 writes its table again.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"
#include "tests/unit/model/testing.h"

namespace orrery {
namespace models_page_test {

constexpr const char* kHead =
    R"(# Bundled models

Every model is a Hugging Face `config.json` with the keys that describe its shape, in
`catalog/models/`. Names, published sizes and their sources are in `catalog/models/index.json`.
Select a model by id, by Hugging Face id or by another alias (case, `_` and `-` do not matter), or
by the path of a `config.json`. [adding-a-model.md](adding-a-model.md) describes how to add one.

Counts are in billions and follow from the dimensions. *Active* counts the parameters that one token
uses, including the input embedding. *Published* is the published count, and *off* the difference of
Orrery's count from it. Where the publisher leaves the input embedding or the LM head out of the
active count, or towers out of the total, so does the difference. A test keeps the differences of
totals below 0.5 % and those of active counts below 2 %, or below half of the last digit that is
published, and names those that are larger. No figure includes multi-token prediction layers. Towers
of vision and audio are counted where the source does not say "text part".
"Hugging Face safetensors total" was checked against public copies of the hub's metadata, unless it
says "not checked".

*Variants* are quantised checkpoints of the same shape, listed in `catalog/models/variants.json`:
`qwen3-8b` with the variant `fp8` is the model `qwen3-8b-fp8`.

The table is written by the test `unit_model` (run it with `ORRERY_REWRITE=1` after a change of the
catalog).

)";

// Attention of the layers in a word or two.
std::string attention_of(const Architecture& m) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::string part) {
    if (std::find(parts.begin(), parts.end(), part) == parts.end())
      parts.push_back(std::move(part));
  };
  for (const LayerSpec& layer : m.layers.specs()) {
    if (const auto* a = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      add(a->kv_heads == a->heads ? "MHA" : a->kv_heads == 1 ? "MQA" : "GQA");
      if (a->blocks) add(fmt::format("{} of its blocks", a->blocks->top_blocks));
      if (a->window > 0) {
        add(fmt::format("{} {}", a->window_kind == WindowKind::kSliding ? "window" : "chunk",
                        a->window));
      }
    } else if (const auto* latent = std::get_if<LatentAttention>(&layer.mixer)) {
      add(latent->sparse_top_k > 0 ? "MLA, sparse" : "MLA");
    } else if (const auto* entries = std::get_if<CompressedAttention>(&layer.mixer)) {
      add(fmt::format("window {}", entries->window));
      if (entries->compress > 0) add(fmt::format("entries of {}", entries->compress));
    } else if (std::holds_alternative<KimiDelta>(layer.mixer)) {
      add("Kimi delta");
    } else if (std::holds_alternative<GatedDeltaNet>(layer.mixer)) {
      add("Gated DeltaNet");
    } else if (std::holds_alternative<Mamba2>(layer.mixer)) {
      add("Mamba-2");
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string billions(std::int64_t count) {
  return fmt::format("{:.3f}", static_cast<double>(count) / 1e9);
}

std::string off(std::int64_t counted, std::int64_t published) {
  if (counted == published) return "0";
  return fmt::format("{:+.3f} %", 100.0 * static_cast<double>(counted - published) /
                                      static_cast<double>(published));
}

std::string variants_of(const std::string& id, const std::vector<ModelVariant>& variants) {
  std::vector<std::string> formats;
  for (const ModelVariant& v : variants)
    if (v.of == id) formats.push_back(v.id.substr(id.size() + 1));
  return fmt::format("{}", fmt::join(formats, ", "));
}

std::string row(const ModelEntry& e, const std::vector<ModelVariant>& variants) {
  const Architecture m = load_model(e.id);
  const ParameterCounts n = count_parameters(m);
  const std::int64_t published = e.published_total.value_or(0);
  std::string layers = fmt::format("{}", m.layers.size());
  if (!m.encoder.empty()) layers = fmt::format("{} + {}", m.encoder.size(), layers);
  std::string active = "|  |";  // of a published active count: the count and our difference
  if (e.published_active) {
    active = fmt::format("| {} | {}", billions(*e.published_active),
                         off(counted_active(e, n), *e.published_active));
  }
  return fmt::format("| {} | {} | {} | {} | {} {} | {} | {} | {} | {} |\n", e.id,
                     billions(n.total()), billions(published), off(counted_total(e, n), published),
                     n.active() == n.total() ? "" : billions(n.active()), active, layers,
                     attention_of(m), variants_of(e.id, variants), e.source);
}

std::string page() {
  const std::vector<ModelVariant> variants = model_variants();
  std::string out = kHead;
  out +=
      "| id | total | published | off | active | published | off | layers | attention | variants | "
      "source of the published figures |\n";
  out += "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ModelEntry& e : model_index()) out += row(e, variants);
  out += "\n## Remarks\n\n";
  for (const ModelEntry& e : model_index()) {
    if (!e.note.empty()) out += fmt::format("- {}: {}\n", e.id, e.note);
  }
  for (const ModelVariant& v : variants) {
    if (!v.note.empty()) out += fmt::format("- {}: {}\n", v.id, v.note);
  }
  return out;
}

TEST(ModelsPage, SaysWhatTheCatalogSays) {
  const std::filesystem::path file = std::filesystem::path(ORRERY_SOURCE_DIR) / "docs/models.md";
  const std::string wanted = page();
  if (std::getenv("ORRERY_REWRITE") != nullptr) std::ofstream(file) << wanted;
  EXPECT_TRUE(read_text_file(file) == wanted)
      << file << " is out of date; run unit_model with ORRERY_REWRITE=1 to write it anew";
}

}  // namespace models_page_test
}  // namespace orrery
