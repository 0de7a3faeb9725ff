// The weights of an LLM in a file of llama.cpp (GGUF): how many bytes each matrix takes.
//
// A type of block stores a run of weights of one row with their scales. A format that people name
// ("Q4_K_M") is a mixture: most matrices have one type, and the ones that hurt most when rounded
// (the values' projection, the last matrix of an MLP, the output) have a finer one, in all layers
// or in some. The rules are those of llama.cpp's quantiser (llama_tensor_get_type in
// src/llama-quant.cpp; block sizes: ggml/src/ggml-common.h). A row that is no multiple of a block
// of 256 has the next finer type of 32. Norms, biases and routers stay in fp32.
//
// Publishers mix their own ("UD-Q4_K_XL"). The size of such a file is given, not computed
// (LlmFile::of_size).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/model/architecture/architecture.h"

namespace orrery {

// A type of block: `bytes` for `weights` weights.
struct GgufType {
  std::string_view name;  // "Q6_K"
  int weights = 1;
  double bytes = 4;
  double bytes_each() const { return bytes / weights; }
};
std::span<const GgufType> gguf_types();
// REQUIRES a type of gguf_types().
const GgufType& gguf_type(std::string_view name);

// The layers whose finer matrices have the type `type`.
struct GgufFiner {
  enum class Layers { kNone, kAll, kFirst, kSpread };
  // kFirst: the first `first` layers, or the first `part` of them. kSpread: the first and the last
  // eighth, and every third between them (use_more_bits).
  Layers layers = Layers::kNone;
  int first = 0;
  double part = 0;
  std::string_view type = {};
  std::string_view otherwise = {};  // in the other layers; empty: the type of the mixture
};

struct GgufFormat {
  std::string_view name;                   // "Q4_K_M"
  std::string_view type;                   // of most matrices
  GgufFiner value = {};                    // attn_v
  GgufFiner down = {};                     // ffn_down
  std::string_view attention_output = {};  // empty: `type`
  std::string_view output = {};            // of the LM head, tied or not; empty: `type`
  std::string_view experts = {};           // of routed experts; empty: as dense MLPs
  // Whose kernels multiply it: formats of one class cost alike. "f16", "q8", "q4", "k", "iq".
  std::string_view kernels = "k";
};
std::span<const GgufFormat> gguf_formats();
// By name, in any case, with '-' as '_'. InputError with the nearest name where there is none.
const GgufFormat& gguf_format(std::string_view name);

// Equal matrices of a file.
struct GgufMatrices {
  enum class Role { kEmbedding, kLayer, kExperts, kOutput };
  Role role = Role::kLayer;
  const GgufType* type = nullptr;
  double elements = 0;
  // The part of kExperts that a token passes through.
  double active = 1;
  double bytes() const { return elements * type->bytes_each(); }
};

// All matrices of the text model in the format. Towers and multi-token prediction are not in it. A
// tied embedding is one kOutput matrix. InputError: an encoder or an encoder-decoder.
std::vector<GgufMatrices> gguf_matrices(const Architecture& model, const GgufFormat& format);

// The file's weights in bytes.
Bytes gguf_bytes(std::span<const GgufMatrices> matrices);

}  // namespace orrery
