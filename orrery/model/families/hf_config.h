// Reads a Hugging Face config.json into an Architecture.
//
// The family is found by `architectures[0]`, or by `model_type` where that is absent; each family
// has its own reader, listed in one table (hf_config.cc). Multimodal configs are read for their
// text model (`text_config`, `llm_config`, `language_config` or `thinker_config`, at any depth); a
// wrapper whose class is unknown is read as its text model.
//
// Unknown keys are tolerated, here and nowhere else in Orrery: these files are written for another
// program and carry dozens of keys (dropout, token ids, initialisers) that have no bearing on shape
// or time.
//
// A key that the shape depends on is required. Where the released configs of a family leave one out
// because the class in the transformers library has a default, the reader of that family uses that
// default and says so.
//
// InputError, with file, line and key, for: an architecture without a reader (the nearest is
// named), a missing key, a value of the wrong kind, and values that contradict each other: heads
// not dividing hidden_size without head_dim, kv heads not dividing heads, more experts per token
// than experts, a layer list of another length than the layers. Limits, beyond which a size is
// refused: hidden 2^18, intermediate 2^20, vocabulary 2^24, layers 1024, heads 4096, head_dim
// 16384, experts 4096, context 2^30. With these no product of sizes overflows 64 bits.
//
// How to add a family: docs/adding-a-model.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "orrery/base/node.h"
#include "orrery/model/architecture/architecture.h"

namespace orrery {

// `id` becomes Architecture::id. `config` is the document's root.
Architecture read_hf_config(const Node& config, std::string id);

// Every architecture class that can be read, sorted ("BloomForCausalLM", ...).
std::span<const std::string> supported_architectures();

}  // namespace orrery
