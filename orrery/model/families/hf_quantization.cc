// The format of each matrix of a model by the rules of its quantisation.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "orrery/model/architecture/stored_matrices.h"
#include "orrery/model/checkpoint/quantization.h"
#include "orrery/model/checkpoint/quantization_rules.h"
#include "orrery/model/families/hf_fields.h"

namespace orrery {
namespace {

bool starts_alike(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  return a.substr(0, n) == b.substr(0, n);
}

// A regular expression is written for the whole name, prefixes included.
bool matches(const ModulePattern& p, const std::string& name) {
  if (p.pattern.matches(name)) return true;
  if (!p.pattern.is_regex() || p.pattern.text().starts_with(".*")) return false;
  for (const char* prefix : {"model.", "language_model.model.", "model.language_model."}) {
    if (p.pattern.matches(prefix + name)) return true;
  }
  return false;
}

// The patterns that can match in one layer.
using Patterns = std::vector<std::size_t>;

struct LayerPatterns {
  Patterns named, skipped;
  bool own = false;  // some tell this layer from others
};

// One matrix's format and size, before it is added up.
struct Stored {
  WeightPart part;
  StoredFormat format;
  std::int64_t elements;
  Bytes bytes;
};

class Resolver {
 public:
  Resolver(const QuantizationRules& rules, const Architecture& model)
      : rules_(rules), model_(model) {}

  std::vector<StoredPart> resolve() {
    add_tables();
    add_stack(model_.encoder);
    add_stack(model_.layers);
    if (model_.mtp) add_mtp(*model_.mtp);
    std::stable_sort(parts_.begin(), parts_.end(), [](const StoredPart& a, const StoredPart& b) {
      return a.part != b.part ? a.part < b.part : a.bytes > b.bytes;
    });
    return std::move(parts_);
  }

 private:
  LayerPatterns patterns_of(const std::vector<std::string>& places) const {
    LayerPatterns out;
    const auto collect = [&](const std::vector<ModulePattern>& all, Patterns& some) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool here = std::any_of(places.begin(), places.end(), [&](const std::string& p) {
          return starts_alike(all[i].head, p);
        });
        if (!here) continue;
        some.push_back(i);
        if (all[i].tells_layers_apart) out.own = true;
      }
    };
    collect(rules_.named, out.named);
    collect(rules_.skipped, out.skipped);
    return out;
  }

  // The rules that match a matrix under one of its names. -1: none.
  struct Matching {
    std::ptrdiff_t named = -1, skipped = -1;
  };

  Matching matching(const StoredMatrix& m, const std::vector<std::string>& places,
                    const LayerPatterns& patterns) const {
    const auto first = [&](const std::vector<ModulePattern>& all, const Patterns& some) {
      for (const std::size_t i : some) {
        for (const std::string& place : places) {
          for (const std::string& name : m.names) {
            if (matches(all[i], place + name)) return static_cast<std::ptrdiff_t>(i);
          }
        }
      }
      return std::ptrdiff_t{-1};
    };
    return {first(rules_.named, patterns.named), first(rules_.skipped, patterns.skipped)};
  }

  // In layers that no pattern tells apart from others the names alone decide.
  StoredFormat format_of(const StoredMatrix& m, const std::vector<std::string>& places,
                         const LayerPatterns& patterns) {
    Matching found;
    if (patterns.own || places.size() > 1) {
      found = matching(m, places, patterns);
    } else {
      auto [at, is_new] = by_names_.try_emplace(m.names);
      if (is_new) at->second = matching(m, places, patterns);
      found = at->second;
    }
    if (found.named >= 0) return rules_.named_formats[static_cast<std::size_t>(found.named)];
    if (m.kept_plain || found.skipped >= 0) return {};
    if (rules_.experts && m.part == WeightPart::kRoutedExperts) return *rules_.experts;
    return rules_.linear.value_or(StoredFormat{});
  }

  Stored stored(const StoredMatrix& m, const std::vector<std::string>& places,
                const LayerPatterns& patterns) {
    const StoredFormat f = format_of(m, places, patterns);
    const double copies = static_cast<double>(m.copies);
    const Bytes bytes = f.format == WeightFormat::kPlain
                            ? static_cast<double>(m.elements()) * bytes_per_element(model_.dtype)
                            : copies * stored_bytes(f, m.rows, m.columns);
    return {m.part, f, m.elements(), bytes};
  }

  void add(const Stored& s, bool in_layer) {
    auto at = std::find_if(parts_.begin(), parts_.end(), [&](const StoredPart& p) {
      return p.part == s.part && p.format == s.format;
    });
    if (at == parts_.end()) at = parts_.insert(parts_.end(), {s.part, s.format, 0, Bytes(), 0});
    at->elements += s.elements;
    at->bytes += s.bytes;
    // Matrices of one layer come one after another.
    if (in_layer && std::exchange(last_layer_[{s.part, at - parts_.begin()}], layer_) != layer_) {
      ++at->layers;
    }
  }

  void add_layer(const std::vector<Stored>& layer) {
    ++layer_;
    for (const Stored& s : layer) add(s, true);
  }

  std::vector<Stored> resolved(const LayerSpec& spec, const std::vector<std::string>& places,
                               const LayerPatterns& patterns) {
    std::vector<Stored> out;
    for (const StoredMatrix& m : stored_matrices(spec, model_.hidden)) {
      out.push_back(stored(m, places, patterns));
    }
    return out;
  }

  // Layers that no pattern tells apart from others are resolved once.
  void add_stack(const LayerStack& stack) {
    std::map<int, std::vector<Stored>> alike;
    int index = 0;
    for (const LayerRun& run : stack.runs()) {
      const LayerSpec& spec = stack.specs()[static_cast<std::size_t>(run.spec)];
      for (int i = 0; i < run.count; ++i, ++index) {
        const std::vector<std::string> places = {fmt::format("layers.{}.", index)};
        const LayerPatterns patterns = patterns_of(places);
        if (patterns.own) {
          add_layer(resolved(spec, places, patterns));
          continue;
        }
        auto [at, is_new] = alike.try_emplace(run.spec);
        if (is_new) at->second = resolved(spec, places, patterns);
        add_layer(at->second);
      }
    }
  }

  // Modules of multi-token prediction follow the layers (DeepSeek) or stand apart (Qwen).
  void add_mtp(const Mtp& mtp) {
    for (int i = 0; i < mtp.layers; ++i) {
      const std::vector<std::string> places = {fmt::format("layers.{}.", model_.layers.size() + i),
                                               fmt::format("mtp.layers.{}.", i),
                                               fmt::format("mtp.{}.", i)};
      const LayerPatterns patterns = patterns_of(places);
      std::vector<Stored> layer = resolved(mtp.layer, places, patterns);
      StoredMatrix join;
      join.names = {"eh_proj", "fc"};
      join.rows = model_.hidden;
      join.columns = std::int64_t{2} * model_.hidden;
      join.kept_plain = true;
      layer.push_back(stored(join, places, patterns));
      for (Stored& s : layer) s.part = WeightPart::kMtp;
      add_layer(layer);
    }
  }

  void add_tables() {
    const std::vector<std::string> places = {""};
    StoredMatrix table;
    table.part = WeightPart::kEmbedding;
    table.names = {"embed_tokens", "embed", "wte", "word_embeddings", "embeddings"};
    table.rows = model_.vocab;
    table.columns = model_.hidden;
    table.kept_plain = true;
    // Patterns that begin with "layers." name no table.
    add(stored(table, places, patterns_of({"!"})), false);
    if (!model_.lm_head || model_.tied_embeddings) return;
    table.part = WeightPart::kLmHead;
    table.names = {"lm_head", "head", "output_layer", "embed_out"};
    table.kept_plain = !rules_.lm_head;
    add(stored(table, places, patterns_of({"!"})), false);
  }

  const QuantizationRules& rules_;
  const Architecture& model_;
  std::vector<StoredPart> parts_;
  std::map<std::vector<std::string>, Matching> by_names_;
  std::map<std::pair<WeightPart, std::ptrdiff_t>, int> last_layer_;
  int layer_ = 0;
};

// The formats of all matrices of the model.
CheckpointQuantization apply_rules(const QuantizationRules& rules, const Architecture& model) {
  CheckpointQuantization q;
  q.method = rules.method;
  q.skipped = rules.skipped_texts;
  q.kv_cache = rules.kv_cache;
  q.parts = Resolver(rules, model).resolve();
  const StoredPart* most = nullptr;
  for (const StoredPart& p : q.parts) {
    if (p.format.format == WeightFormat::kPlain) continue;
    if (most == nullptr || p.elements > most->elements) most = &p;
  }
  if (most != nullptr) static_cast<StoredFormat&>(q) = most->format;
  return q;
}

}  // namespace

CheckpointQuantization read_quantization(const HfConfig& c, const Architecture& model) {
  const Node* map = c.find({"quantization_config", "compression_config"});
  if (map == nullptr) return {};
  QuantizationRules rules = read_quantization_rules(*map);
  // DeepSeek-V4: routed experts in mxfp4, the rest as quantization_config says.
  if (const Node* dtype = c.find({"expert_dtype"})) {
    if (dtype->as_string() == "fp4") {
      rules.experts = StoredFormat{.format = WeightFormat::kMxfp4, .group = 32, .scale_bytes = 1};
    } else if (dtype->text() != "fp8") {
      dtype->fail(fmt::format("expected fp4 or fp8, got '{}'", dtype->text()));
    }
  }
  return apply_rules(rules, model);
}

}  // namespace orrery
