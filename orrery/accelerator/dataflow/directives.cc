#include "orrery/accelerator/dataflow/directives.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr const char* kNames[] = {"C", "G", "K", "M", "N", "R", "S", "X", "Y", "X'", "Y'"};
static_assert(std::size(kNames) == kLayerDims);

// Words, numbers and single characters of a text, with blanks and comments left out.
class Tokens {
 public:
  Tokens(std::string_view text, std::string place, bool lines)
      : text_(text), place_(std::move(place)), lines_(lines) {
    next();
  }
  std::string_view peek() const { return token_; }
  bool at_end() const { return token_.empty(); }
  std::string_view take() {
    const std::string_view t = token_;
    if (t.empty()) fail("the text ends too early");
    next();
    return t;
  }
  bool take_if(std::string_view expected) {
    if (token_ != expected) return false;
    next();
    return true;
  }
  void expect(std::string_view expected) {
    if (!take_if(expected)) {
      fail(fmt::format("expected '{}', not '{}'", expected, at_end() ? "the end" : token_));
    }
  }
  [[noreturn]] void fail(const std::string& message) const {
    const std::string where = lines_ ? fmt::format("{}:{}", place_, line_) : place_;
    throw InputError(fmt::format("{}: {}", where, shortened(message, 400)));
  }

 private:
  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '\'';
  }
  void next() {
    while (at_ < text_.size()) {
      if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        if (text_[at_++] == '\n') ++line_;
      } else {
        break;
      }
    }
    std::size_t n = 0;
    while (at_ + n < text_.size() && in_word(text_[at_ + n])) ++n;
    if (n == 0 && at_ < text_.size()) n = 1;
    token_ = text_.substr(at_, n);
    at_ += n;
  }
  std::string_view text_, token_;
  std::string place_;
  bool lines_;
  std::size_t at_ = 0;
  int line_ = 1;
};

LayerDim take_dim(Tokens& tokens) {
  const std::string_view name = tokens.take();
  for (std::size_t d = 0; d < kLayerDims; ++d) {
    if (name == kNames[d]) return static_cast<LayerDim>(d);
  }
  tokens.fail(
      fmt::format("unknown dimension '{}', expected one of {}", name, fmt::join(kNames, ", ")));
}

struct Names {
  const DirectiveConstants& constants;
  const DimSizes* sizes;  // of Sz(D); null where it is not known
};

std::int64_t take_term(Tokens& tokens, const Names& names) {
  const std::string_view word = tokens.take();
  if (word == "Sz" && names.sizes != nullptr) {
    tokens.expect("(");
    const LayerDim dim = take_dim(tokens);
    tokens.expect(")");
    if ((*names.sizes)[dim] == 0) {
      tokens.fail(fmt::format("Sz({}): the layer has no dimension {}", name_of(dim), name_of(dim)));
    }
    return (*names.sizes)[dim];
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc() && end == word.data() + word.size()) return value;
  const auto constant = names.constants.find(word);
  if (constant != names.constants.end()) return constant->second;
  std::vector<std::string> known;
  for (const auto& [name, unused] : names.constants) known.push_back(name);
  tokens.fail(fmt::format("'{}' is no number and no constant{}", word, did_you_mean(word, known)));
}

std::int64_t take_size(Tokens& tokens, const Names& names) {
  std::int64_t value = take_term(tokens, names);
  while (true) {
    if (tokens.take_if("+")) {
      value += take_term(tokens, names);
    } else if (tokens.take_if("-")) {
      value -= take_term(tokens, names);
    } else {
      break;
    }
  }
  if (value < 1 || value > (std::int64_t{1} << 31)) {
    tokens.fail(fmt::format("a size of {}, expected at least 1 and at most 2^31", value));
  }
  return value;
}

void take_dimensions(Tokens& tokens, const Names& names, DimSizes& sizes) {
  while (!tokens.at_end() && tokens.peek() != "}") {
    const LayerDim dim = take_dim(tokens);
    tokens.take_if(":");
    sizes[dim] = take_size(tokens, names);
    if (!tokens.take_if(",")) tokens.take_if(";");
  }
}

LayerKind take_kind(Tokens& tokens) {
  const std::string_view word = tokens.take();
  if (word == "CONV") return LayerKind::kConvolution;
  if (word == "DSCONV") return LayerKind::kDepthwise;
  if (word == "NGCONV") return LayerKind::kGrouped;
  if (word == "GEMM") return LayerKind::kProduct;
  tokens.fail(fmt::format("unknown type '{}', expected CONV, DSCONV, NGCONV or GEMM", word));
}

Directive take_directive(Tokens& tokens, const Names& names) {
  const std::string word(tokens.take());
  Directive d;
  if (word == "SpatialMap") {
    d.kind = Directive::Kind::kSpatialMap;
  } else if (word == "Cluster") {
    d.kind = Directive::Kind::kCluster;
  } else if (word != "TemporalMap") {
    const std::string known[] = {"SpatialMap", "TemporalMap", "Cluster"};
    tokens.fail(fmt::format("unknown directive '{}'{}, expected SpatialMap, TemporalMap or Cluster",
                            word, did_you_mean(word, known)));
  }
  tokens.expect("(");
  d.size = take_size(tokens, names);
  tokens.expect(",");
  if (d.kind == Directive::Kind::kCluster) {
    if (!tokens.take_if("P") && !tokens.take_if("L")) tokens.fail("expected P or L");
    tokens.expect(")");
    return d;
  }
  d.offset = take_size(tokens, names);
  tokens.expect(")");
  d.dim = take_dim(tokens);
  return d;
}

DimSizes unit_strides() {
  DimSizes strides;
  for (std::size_t d = 0; d < kLayerDims; ++d) strides[static_cast<LayerDim>(d)] = 1;
  return strides;
}

DirectiveLayer take_layer(Tokens& tokens, const DirectiveConstants& constants) {
  DirectiveLayer layer;
  layer.name = shortened(tokens.take());
  layer.strides = unit_strides();
  tokens.expect("{");
  while (!tokens.take_if("}")) {
    const std::string_view key = tokens.take();
    if (key == "Type") {
      tokens.expect(":");
      layer.kind = take_kind(tokens);
      continue;
    }
    tokens.expect("{");
    if (key == "Stride") {
      take_dimensions(tokens, {constants, nullptr}, layer.strides);
    } else if (key == "Dimensions") {
      take_dimensions(tokens, {constants, nullptr}, layer.sizes);
    } else if (key == "Dataflow") {
      while (tokens.peek() != "}") {
        layer.dataflow.push_back(take_directive(tokens, {constants, &layer.sizes}));
        tokens.take_if(";");
      }
    } else {
      tokens.fail(
          fmt::format("unknown part '{}', expected Type, Stride, Dimensions or Dataflow", key));
    }
    tokens.expect("}");
  }
  return layer;
}

}  // namespace

const char* name_of(LayerDim dim) { return kNames[index(dim)]; }

LayerKind read_layer_kind(std::string_view text, const std::string& place) {
  Tokens tokens(text, place, false);
  return take_kind(tokens);
}

void read_dimensions(std::string_view text, const DirectiveConstants& constants,
                     const std::string& place, DimSizes& sizes) {
  Tokens tokens(text, place, false);
  take_dimensions(tokens, {constants, nullptr}, sizes);
  if (!tokens.at_end()) tokens.fail(fmt::format("unexpected '{}'", tokens.peek()));
}

Directive read_directive(std::string_view text, const DirectiveConstants& constants,
                         const DimSizes& sizes, const std::string& place) {
  Tokens tokens(text, place, false);
  const Directive d = take_directive(tokens, {constants, &sizes});
  if (!tokens.at_end()) tokens.fail(fmt::format("unexpected '{}'", tokens.peek()));
  return d;
}

std::vector<DirectiveLayer> read_directive_layers(std::string_view text, const std::string& file) {
  Tokens tokens(text, file, true);
  DirectiveConstants constants;
  std::vector<DirectiveLayer> layers;
  while (!tokens.at_end()) {
    if (tokens.take_if("Constant")) {
      const std::string name(tokens.take());
      constants[name] = take_size(tokens, {constants, nullptr});
      tokens.expect(";");
      continue;
    }
    tokens.expect("Network");
    tokens.take();
    tokens.expect("{");
    while (!tokens.take_if("}")) {
      tokens.expect("Layer");
      layers.push_back(take_layer(tokens, constants));
    }
  }
  return layers;
}

}  // namespace orrery
