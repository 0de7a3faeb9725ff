#include "orrery/validate/rows/training_models.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace {

class Row {
 public:
  explicit Row(const CsvReader& csv) : csv_(csv) {}
  std::string text(const char* name) const { return std::string(csv_.text(csv_.column(name))); }
  int whole(const char* name) const {
    return static_cast<int>(csv_.optional_number(csv_.column(name)).value_or(0));
  }

 private:
  const CsvReader& csv_;
};

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> names) {
  for (const std::string_view n : names)
    if (text == n) return true;
  return false;
}

// Families that descend from GPT-2 have layer norms, biases everywhere and GELU.
bool like_gpt(std::string_view family) {
  return is_one_of(family, {"megatron-gpt", "gpt2", "gpt3", "opt", "bert", "bloom"});
}

Mixer mixer_of(const Row& row, std::string_view family) {
  if (row.text("attention") == "mla") {
    LatentAttention a;
    a.heads = row.whole("heads");
    a.q_lora_rank = row.whole("q_lora");
    a.kv_lora_rank = row.whole("kv_lora");
    a.qk_nope_dim = row.whole("qk_nope_dim");
    a.qk_rope_dim = row.whole("qk_rope_dim");
    a.value_dim = row.whole("v_dim");
    return a;
  }
  SoftmaxAttention a;
  a.heads = row.whole("heads");
  a.kv_heads = row.whole("kv_heads");
  a.head_dim = a.value_dim = row.whole("head_dim");
  const bool gpt_oss = family == "gpt-oss";
  a.q_bias = a.k_bias = a.v_bias = like_gpt(family) || gpt_oss || family == "qwen2.5" ||
                                   family == "internlm" || family == "neox" || family == "glm";
  a.o_bias = a.q_bias && family != "qwen2.5";
  a.sinks = gpt_oss;
  a.rope = !like_gpt(family) && family != "mpt";
  if (family == "qwen3" || family == "qwen3moe") a.qk_norm = QkNorm::kPerHead;
  return a;
}

DenseMlp dense_mlp(const Row& row, std::string_view family, int intermediate) {
  DenseMlp mlp;
  mlp.intermediate = intermediate;
  mlp.gated = row.whole("gated") != 0;
  mlp.bias = like_gpt(family) || family == "neox";
  mlp.activation = family == "nemotron" ? Activation::kRelu2
                   : family == "opt"    ? Activation::kRelu
                   : mlp.gated          ? Activation::kSilu
                                        : Activation::kGelu;
  return mlp;
}

MoeMlp experts_of(const Row& row, std::string_view family) {
  MoeMlp mlp;
  mlp.experts = row.whole("n_experts");
  mlp.top_k = row.whole("top_k");
  mlp.intermediate = row.whole("moe_ffn");
  mlp.gated = row.whole("gated") != 0;
  mlp.bias = family == "gpt-oss";
  mlp.shared_intermediate = row.whole("n_shared_experts") * row.whole("shared_ffn");
  mlp.router_bias = family == "deepseek3" || family == "gpt-oss";
  mlp.norm_topk = family == "deepseek3" || family == "qwen3moe";
  return mlp;
}

Architecture architecture_of(const Row& row) {
  Architecture m;
  m.id = row.text("model");
  m.family = row.text("family");
  m.kind = m.family == "bert" ? Kind::kEncoder : Kind::kDecoder;
  m.hidden = row.whole("hidden");
  m.vocab = row.whole("vocab");
  m.tied_embeddings = row.whole("tied_embeddings") != 0;
  m.norm = like_gpt(m.family) || m.family == "neox" || m.family == "nemotron" ||
                   m.family == "phi" || m.family == "falcon" || m.family == "glm"
               ? Norm::kLayer
           : m.family == "mpt" ? Norm::kLayerNoBias
                               : Norm::kRms;
  m.max_context = 1 << 20;
  if (row.whole("learned_positions") != 0) {
    m.position = Position::kLearned;
    m.position_rows = m.family == "bert" ? 512 : 2048;
  }
  if (m.family == "bloom" || m.family == "mpt") {
    m.position = Position::kAlibi;
    m.position_rows = 0;
  }
  m.embedding_norm = m.family == "bloom";

  LayerSpec layer;
  layer.mixer = mixer_of(row, m.family);
  layer.parallel = m.family == "neox" || m.family == "falcon" || m.family == "phi";
  if (m.family == "gemma2") layer.norms = 4;
  const int layers = row.whole("layers"), dense = row.whole("dense_layers");
  layer.mlp = dense_mlp(row, m.family, row.whole("ffn"));
  m.layers.append(layer, row.whole("n_experts") == 0 ? layers : dense);
  if (row.whole("n_experts") == 0) return m;
  layer.mlp = experts_of(row, m.family);
  if (m.family == "gpt-oss") {  // every second layer attends to 128 tokens
    LayerSpec windowed = layer;
    std::get<SoftmaxAttention>(windowed.mixer).window = 128;
    for (int i = 0; i < layers; ++i) m.layers.append(i % 2 == 0 ? windowed : layer);
    return m;
  }
  m.layers.append(layer, layers - dense);
  return m;
}

// Models whose dimensions the table does not have, with their names in the catalog.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOfCatalog = {{
    {"nemotron-3-nano", "nemotron-3-nano-30b-a3b"},
    {"llama-4-maverick", "llama-4-maverick"},
    {"gemma-3-12b", "gemma-3-12b"},
}};

}  // namespace

TrainingModels::TrainingModels(const std::filesystem::path& dir, const Bundle& bundle) {
  CsvReader csv(dir / "models.csv");
  const Row row(csv);
  while (csv.next()) {
    const std::string name = row.text("model");
    if (is_one_of(row.text("family"), {"t5", "switch"})) {
      missing_[name] = "encoder-decoder";
    } else if (row.whole("layers") == 0 || row.whole("hidden") == 0) {
      missing_[name] = "the model's dimensions are not in the tables";
      for (const auto& [ours, theirs] : kOfCatalog)
        if (name == ours) models_.emplace(name, load_model(theirs, bundle));
    } else {
      models_.emplace(name, architecture_of(row));
    }
  }
}

const Architecture& TrainingModels::at(const std::string& name) const {
  const auto found = models_.find(name);
  if (found != models_.end()) return found->second;
  const auto why = missing_.find(name);
  throw NoData(why == missing_.end() ? fmt::format("models.csv does not have '{}'", name)
                                     : why->second);
}

}  // namespace orrery
