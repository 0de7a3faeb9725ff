// The work of an LLM for prompt and answer, as llama.cpp computes it: bytes of weights, bytes of
// the cache, multiply-adds, kernels started. Nothing here knows about time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/edge/llm/gguf.h"
#include "orrery/model/architecture/architecture.h"

namespace orrery {

// Rows of a product that a block of threads multiplies at least where experts share a pass. An
// assumption, which the fitted cost of LlmTerm::kPadding scales.
inline constexpr double kExpertTile = 32;

// The tokens of a pass from which on its products may read weights that were unpacked to 16 bits:
// llama.cpp multiplies by packed weights below it, by cuBLAS from there on where a GPU has fp16
// matrix units (MMQ_DP4A_MAX_BATCH_SIZE of ggml-cuda/mmq.cuh in its builds of 2024 and 2025).
inline constexpr double kPackedTokens = 64;

// A model in the file of a format.
class LlmFile {
 public:
  // InputError: no decoder.
  LlmFile(const Architecture& model, const GgufFormat& format);
  // The same for a file of that size, such as one of a publisher's own mixture: all bytes are
  // scaled. InputError: a size below a quarter or above four times the format's.
  LlmFile of_size(Bytes file) const;

  const std::string& model() const { return model_; }
  const GgufFormat& format() const { return *format_; }
  Bytes size() const { return size_; }
  // The part of it that is looked up, not multiplied, and stays in the host's memory.
  Bytes tables() const { return tables_; }
  int layers() const { return layers_; }
  int max_context() const { return max_context_; }
  bool mixture() const { return !experts_.empty(); }

  // The weights that a pass over `tokens` tokens reads: all that are multiplied, of the routed
  // experts those that some token is expected to choose, choices being independent and even.
  Bytes read(double tokens) const;
  // The multiply-adds of a token with weights, counted as two; those of the LM head.
  Flops body_flops() const { return body_flops_; }
  Flops head_flops() const { return head_flops_; }

  // The multiply-adds of rows without a token in a pass over `tokens` tokens: each expert that some
  // token chooses multiplies whole tiles of kExpertTile rows, on average half a tile too many.
  Flops padding(double tokens) const;

  // The bytes that a pass over `tokens` tokens writes and reads where it unpacks the matrices of
  // its layers, of the routed experts those of read(), to 16 bits before it multiplies by them.
  // 0 below kPackedTokens, and for files of 16 or 32 bits.
  Bytes unpacked(double tokens) const;

  // The work of the tokens (`depth`, `depth` + `tokens`], each of which sees those before it and
  // itself, a window at most:
  Flops attention_flops(double depth, double tokens) const;
  // The width of a head, weighted by its part of attention at long contexts.
  double head_width() const;
  // The queries that share a head of keys, as kernels of attention pack them: the largest of 1, 2,
  // 4 and 8 that divides their number, as its binary logarithm (0 to 3), weighted likewise.
  double packed_heads() const;
  // The cache that one token after `depth` others reads: keys and values in 16 bits, and the state
  // of linear attention.
  Bytes cache_read(double depth) const;
  // The cache of a context. Layers with a window keep it and a pass of `ubatch` tokens.
  Bytes cache(double tokens, double ubatch) const;

  // Kernels that a pass starts.
  double kernels() const { return kernels_; }
  // The compute buffers of a token: a row of logits, and one of activations, in fp32.
  Bytes buffered_row() const { return buffered_row_; }
  double hidden() const { return hidden_; }  // elements of a token between layers
  // The bytes of activations that the kernels of a pass read and write for a token, in fp32.
  Bytes activations() const { return activations_; }
  // The bytes that travel between devices for a token.
  Bytes hidden_row() const { return hidden_row_; }

 private:
  struct Attention {
    Bytes cached;        // of a token
    double flops = 0;    // of a query with one key
    int window = 0;      // 0: the whole context
    double width = 128;  // of a head
    double packed = 0;   // packed_heads()
    double layers = 0;
  };
  // The mean of a member over the layers by their FLOPs of attention at long contexts; `usual`:
  // without attention.
  double mean_by_flops(double Attention::* of, double usual) const;
  struct Experts {
    Bytes bytes;
    Flops each;         // of a row that passes through all of them
    double active = 1;  // part of them that a token passes through
    double packed = 0;  // elements of them in fewer than 16 bits
  };
  std::string model_;
  const GgufFormat* format_ = nullptr;
  Bytes size_, tables_, always_;
  std::vector<Experts> experts_;
  std::vector<Attention> attention_;
  Flops body_flops_, head_flops_;
  double always_packed_ = 0;  // elements of other layers in fewer than 16 bits
  Bytes state_;
  double kernels_ = 0, hidden_ = 0;
  int layers_ = 0, max_context_ = 0;
  Bytes buffered_row_, hidden_row_, activations_;
};

}  // namespace orrery
