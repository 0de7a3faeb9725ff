// The bundled models: catalog/models/<id>.json, each a Hugging Face config with the keys that
// matter; catalog/models/index.json with their aliases and published sizes; and
// catalog/models/variants.json with the quantised checkpoints of the same shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/model/architecture/architecture.h"

namespace orrery {

// One line of the index: facts about a model that are not in its config.
struct ModelEntry {
  std::string id;
  std::vector<std::string> aliases;  // Hugging Face ids and other spellings
  std::optional<std::int64_t> published_total;
  std::optional<std::int64_t> published_active;
  // The published total leaves out the towers of vision and audio.
  bool total_without_towers = false;
  // The published active count leaves out the input embedding, and the LM head.
  bool active_without_embedding = false;
  bool active_without_lm_head = false;
  std::string source;  // of the published counts
  std::string note;
};

// A quantised checkpoint of a model. Its config is that of the model `of`, with a
// quantization_config of its own in place of the model's, and with the keys of `config`, where it
// has one, in place of the model's keys (null: without them).
struct ModelVariant {
  std::string id;  // the id of the model, a '-' and the name of the format: "qwen3-8b-fp8"
  std::string of;
  std::vector<std::string> aliases;
  std::string note;
};

// The entries of the index, sorted by id. An overlay's models/index.json replaces the bundled one;
// a model without an entry is found by its id only.
std::vector<ModelEntry> model_index(const Bundle& bundle = Bundle());

// The quantised variants, sorted by id. An overlay's models/variants.json replaces the bundled one.
// InputError if a variant is of a model that has no file, or its id does not begin with that of the
// model.
std::vector<ModelVariant> model_variants(const Bundle& bundle = Bundle());

// Ids of all models that have a config of their own: those of the index and further <id>.json of an
// overlay's models/ folder, sorted. Variants are not among them.
std::vector<std::string> model_ids(const Bundle& bundle = Bundle());

// The model called `name`: a bundled id or alias of a model or a variant (case and '_' against '-'
// do not matter), or the path of a config.json, of the hf_quant_config.json beside it, or of the
// directory that holds it. A name of the catalog wins over a file of that name; write ./name for
// the file. A name that begins with '{' is the text of a config.json itself. Only the file asked
// for is parsed, and the lists of variants and models if the name is no id. InputError names the
// nearest model; a file above 16 MiB is refused unread.
Architecture load_model(std::string_view name, const Bundle& bundle = Bundle());

}  // namespace orrery
