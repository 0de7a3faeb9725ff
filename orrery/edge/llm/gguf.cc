#include "orrery/edge/llm/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "orrery/base/error.h"
#include "orrery/base/kinds.h"
#include "orrery/model/architecture/parameters.h"

namespace orrery {
namespace {

constexpr std::array kTypes = {
    GgufType{"F32", 1, 4},        GgufType{"F16", 1, 2},      GgufType{"BF16", 1, 2},
    GgufType{"Q8_0", 32, 34},     GgufType{"Q5_0", 32, 22},   GgufType{"Q5_1", 32, 24},
    GgufType{"Q4_0", 32, 18},     GgufType{"Q4_1", 32, 20},   GgufType{"MXFP4", 32, 17},
    GgufType{"IQ4_NL", 32, 18},   GgufType{"Q2_K", 256, 84},  GgufType{"Q3_K", 256, 110},
    GgufType{"Q4_K", 256, 144},   GgufType{"Q5_K", 256, 176}, GgufType{"Q6_K", 256, 210},
    GgufType{"IQ4_XS", 256, 136},
};

using Layers = GgufFiner::Layers;

constexpr GgufFiner all(std::string_view type) { return {.layers = Layers::kAll, .type = type}; }
constexpr GgufFiner spread(std::string_view type, std::string_view otherwise = {}) {
  return {.layers = Layers::kSpread, .type = type, .otherwise = otherwise};
}
constexpr GgufFiner first(int layers, std::string_view type, std::string_view otherwise = {}) {
  return {.layers = Layers::kFirst, .first = layers, .type = type, .otherwise = otherwise};
}
constexpr GgufFiner eighth(std::string_view type) {
  return {.layers = Layers::kFirst, .part = 1.0 / 8, .type = type};
}

constexpr std::array kFormats = {
    GgufFormat{.name = "F16", .type = "F16", .kernels = "f16"},
    GgufFormat{.name = "BF16", .type = "BF16", .kernels = "f16"},
    GgufFormat{.name = "Q8_0", .type = "Q8_0", .kernels = "q8"},
    GgufFormat{.name = "Q6_K", .type = "Q6_K"},
    GgufFormat{.name = "Q5_K_M",
               .type = "Q5_K",
               .value = spread("Q6_K"),
               .down = spread("Q6_K"),
               .output = "Q6_K"},
    GgufFormat{.name = "Q5_K_S", .type = "Q5_K", .output = "Q6_K"},
    GgufFormat{.name = "Q4_K_M",
               .type = "Q4_K",
               .value = spread("Q6_K"),
               .down = spread("Q6_K"),
               .output = "Q6_K"},
    GgufFormat{.name = "Q4_K_S",
               .type = "Q4_K",
               .value = first(4, "Q5_K"),
               .down = eighth("Q5_K"),
               .output = "Q6_K"},
    GgufFormat{.name = "Q3_K_M",
               .type = "Q3_K",
               .value = first(2, "Q5_K", "Q4_K"),
               .down = all("Q4_K"),
               .attention_output = "Q4_K",
               .output = "Q6_K"},
    GgufFormat{.name = "Q2_K",
               .type = "Q2_K",
               .value = all("Q4_K"),
               .down = all("Q3_K"),
               .attention_output = "Q3_K",
               .output = "Q6_K"},
    GgufFormat{.name = "Q5_0", .type = "Q5_0", .output = "Q6_K", .kernels = "q4"},
    GgufFormat{.name = "Q5_1", .type = "Q5_1", .output = "Q6_K", .kernels = "q4"},
    GgufFormat{.name = "Q4_0", .type = "Q4_0", .output = "Q6_K", .kernels = "q4"},
    GgufFormat{.name = "Q4_1", .type = "Q4_1", .output = "Q6_K", .kernels = "q4"},
    GgufFormat{.name = "IQ4_NL", .type = "IQ4_NL", .output = "Q6_K", .kernels = "iq"},
    GgufFormat{.name = "IQ4_XS",
               .type = "IQ4_XS",
               .value = all("Q5_K"),
               .down = eighth("Q5_K"),
               .output = "Q6_K",
               .kernels = "iq"},
    GgufFormat{.name = "MXFP4", .type = "Q8_0", .experts = "MXFP4", .kernels = "mxfp4"},
};

// The type of rows that are no whole blocks of 256.
const GgufType& fitting(std::string_view type, std::int64_t row) {
  const GgufType& t = gguf_type(type);
  if (row % t.weights == 0) return t;
  if (t.name == "Q6_K") return gguf_type("Q8_0");
  if (t.name == "Q5_K") return gguf_type("Q5_1");
  if (t.name == "Q4_K") return gguf_type("Q5_0");
  return gguf_type(row % 32 == 0 ? "IQ4_NL" : "F16");
}

std::string_view finer(const GgufFiner& rule, std::string_view usual, int layer, int layers) {
  bool here = false;
  switch (rule.layers) {
    case Layers::kNone:
      return usual;
    case Layers::kAll:
      here = true;
      break;
    case Layers::kFirst:
      here = layer < std::max(rule.first, int(rule.part * layers));
      break;
    case Layers::kSpread: {
      const int end = layers / 8;
      here = layer < end || layer >= 7 * layers / 8 || (layer - end) % 3 == 2;
      break;
    }
  }
  if (here) return rule.type;
  return rule.otherwise.empty() ? usual : rule.otherwise;
}

// Gathers matrices of one role, type and active part.
class Gatherer {
 public:
  void add(GgufMatrices::Role role, const GgufType& type, double elements, double active = 1) {
    if (elements <= 0) return;
    for (GgufMatrices& m : all_) {
      if (m.role == role && m.type == &type && m.active == active) {
        m.elements += elements;
        return;
      }
    }
    all_.push_back({role, &type, elements, active});
  }
  std::vector<GgufMatrices> take() { return std::move(all_); }

 private:
  std::vector<GgufMatrices> all_;
};

// Elements of the matrices of a layer whose types the format names, without biases.
struct NamedParts {
  double value = 0, output = 0, down = 0;
  std::int64_t output_row = 256, down_row = 256, experts_row = 256;

  void matrix(const LayerMatrix& m) {
    const double elements = double(m.copies * m.outputs.total()) * double(m.inputs.total());
    if (m.role == "v") value = elements;
    if (m.role == "o") output = elements, output_row = m.inputs.total();
    // Shared experts have the usual type.
    if (m.role == "down" && m.part != WeightPart::kSharedExperts)
      down = elements, down_row = m.inputs.total(), experts_row = m.outputs.total();
  }
  void vector(const LayerVector&) {}
};

NamedParts parts_of(const LayerSpec& layer, std::int64_t hidden) {
  NamedParts parts;
  // The rules name matrices of attention with heads of keys and values.
  if (kept_state(layer.mixer).entry.grouped > 0) declare(layer.mixer, hidden, parts);
  declare(layer.mlp, hidden, parts);
  return parts;
}

constexpr auto kLayer = GgufMatrices::Role::kLayer;

void add_mlp(const Architecture& model, const GgufFormat& f, int layer, Gatherer& into) {
  const LayerSpec& spec = model.layers.at(layer);
  const LayerParameters p = count_parameters(spec, model.hidden, model.norm);
  const NamedParts parts = parts_of(spec, model.hidden);
  const auto down_type = finer(f.down, f.type, layer, model.layers.size());
  if (p.experts == 0) {
    into.add(kLayer, fitting(f.type, model.hidden), double(p.mlp) - parts.down);
    into.add(kLayer, fitting(down_type, parts.down_row), parts.down);
    return;
  }
  const double active = double(p.top_k) / p.experts;
  const auto type = [&](std::string_view usual, std::int64_t row) -> const GgufType& {
    return fitting(f.experts.empty() ? usual : f.experts, row);
  };
  into.add(GgufMatrices::Role::kExperts, type(f.type, parts.experts_row),
           double(p.experts * p.expert) - parts.down, active);
  into.add(GgufMatrices::Role::kExperts, type(down_type, parts.down_row), parts.down, active);
  into.add(kLayer, fitting(f.type, model.hidden), double(p.shared_experts + p.latent));
  into.add(kLayer, gguf_type("F32"), double(p.router));
}

}  // namespace

std::span<const GgufType> gguf_types() { return kTypes; }

const GgufType& gguf_type(std::string_view name) {
  return *std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.name == name; });
}

std::span<const GgufFormat> gguf_formats() { return kFormats; }

const GgufFormat& gguf_format(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = c == '-' ? '_' : char(std::toupper(static_cast<unsigned char>(c)));
  std::vector<std::string> names;
  for (const GgufFormat& f : kFormats) {
    if (f.name == upper) return f;
    names.emplace_back(f.name);
  }
  throw InputError(fmt::format("unknown format '{}'{}", name, did_you_mean(upper, names)));
}

std::vector<GgufMatrices> gguf_matrices(const Architecture& model, const GgufFormat& f) {
  if (model.kind != Kind::kDecoder)
    throw InputError(fmt::format("{}: only decoders are known in llama.cpp's format", model.id));
  Gatherer into;
  const double table = double(model.hidden) * model.vocab;
  const GgufType& output = fitting(f.output.empty() ? f.type : f.output, model.hidden);
  if (!model.tied_embeddings)
    into.add(GgufMatrices::Role::kEmbedding, fitting(f.type, model.hidden), table);
  if (model.lm_head || model.tied_embeddings) into.add(GgufMatrices::Role::kOutput, output, table);
  const ParameterCounts counts = count_parameters(model);
  into.add(GgufMatrices::Role::kEmbedding, fitting(f.type, model.hidden),
           double(counts.per_layer_inputs));
  for (int i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& spec = model.layers.at(i);
    const LayerParameters p = count_parameters(spec, model.hidden, model.norm);
    const NamedParts parts = parts_of(spec, model.hidden);
    into.add(kLayer, fitting(finer(f.value, f.type, i, model.layers.size()), model.hidden),
             parts.value);
    into.add(kLayer,
             fitting(f.attention_output.empty() ? f.type : f.attention_output, parts.output_row),
             parts.output);
    into.add(kLayer, fitting(f.type, model.hidden),
             double(p.mixer + p.residual + p.per_layer_input) - parts.value - parts.output);
    into.add(kLayer, gguf_type("F32"), double(p.norms));
    add_mlp(model, f, i, into);
  }
  return into.take();
}

Bytes gguf_bytes(std::span<const GgufMatrices> matrices) {
  Bytes sum;
  for (const GgufMatrices& m : matrices) sum += Bytes(m.bytes());
  return sum;
}

}  // namespace orrery
