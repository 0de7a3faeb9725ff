// The rules by which a quantisation chooses the format of each matrix of a model. The readers of
// its spellings (quantization.h) fill them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/model/checkpoint/name_pattern.h"
#include "orrery/model/checkpoint/stored_format.h"

namespace orrery {

// A pattern over the names of modules. The prefixes by which the classes that hold the text model
// differ ("model.", "language_model.", "backbone.", ...) are left out of it.
struct ModulePattern {
  // InputError at the node.
  ModulePattern(const Node& node, std::string_view text);
  NamePattern pattern;
  // The text before the first wildcard of a pattern that begins with "layers."; empty for others.
  std::string head;
  bool tells_layers_apart = false;  // it may match in one layer and not in another
};

// The first rule that matches a matrix counts, in this order: named, skipped, experts, linear.
// Embeddings, the LM head, routers and other small projections are plain unless they are named.
struct QuantizationRules {
  std::string method;
  std::optional<StoredFormat> linear;   // all linear layers but those below
  std::optional<StoredFormat> experts;  // the projections of routed experts
  // Modules with a format of their own, which may be the LM head or a router; the first that
  // matches counts.
  std::vector<ModulePattern> named;
  std::vector<StoredFormat> named_formats;  // one for each
  std::vector<ModulePattern> skipped;
  std::vector<std::string> skipped_texts;  // as written
  bool lm_head = false;                    // `linear` includes the LM head
  std::optional<KvFormat> kv_cache;
};

}  // namespace orrery
