#include "orrery/edge/graph/ncnn_param.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/edge/graph/ncnn_layer.h"

namespace orrery {
namespace {

constexpr std::string_view kMagic = "7767517";
constexpr int kArrayKey = -23300;  // keys of arrays are this minus the key
constexpr int kMostKey = 99;

// The words of one line.
std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;
       at = line.find_first_not_of(kBlank, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

template <class Number>
Number parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw InputError(fmt::format("expected a number, found '{}'", shown_name(text)));
  }
  return value;
}

std::vector<double> parse_values(std::string_view text) {
  std::vector<double> values;
  while (true) {
    const std::size_t comma = text.find(',');
    values.push_back(parse_number<double>(text.substr(0, comma)));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

void parse_pair(std::string_view word, NcnnParams& params) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    throw InputError(fmt::format("expected key=value, found '{}'", shown_name(word)));
  }
  int key = parse_number<int>(word.substr(0, equals));
  const std::string_view text = word.substr(equals + 1);
  std::vector<double> values;
  if (key <= kArrayKey) {
    key = kArrayKey - key;
    values = parse_values(text);
    if (values.front() != static_cast<double>(values.size() - 1)) {
      throw InputError(fmt::format("an array says that it has {} values and has {}", values.front(),
                                   values.size() - 1));
    }
    values.erase(values.begin());
  } else if (!text.empty() &&
             (text.front() == '"' || std::isalpha(static_cast<unsigned char>(text.front())) != 0)) {
    values = {};  // a name, which no shape needs
  } else {
    values = parse_values(text);
  }
  if (key < 0 || key > kMostKey) throw InputError(fmt::format("a key of {}", key));
  params.set(key, std::move(values));
}

// int8_scale_term: weights of bytes.
bool is_of_bytes(std::string_view type, const NcnnParams& params) {
  constexpr int kScaleTerm = 8;
  return (type.starts_with("Convolution") || type == "InnerProduct") &&
         params.integer(kScaleTerm, 0) != 0;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name, std::optional<NcnnShape> input)
      : text_(text), name_(name), input_(input) {
    graph_.name = name;
    graph_.lowered_for = "ncnn";
  }

  EdgeGraph read() {
    try {
      read_header();
      for (std::vector<std::string_view> words = next_line(); !words.empty(); words = next_line()) {
        read_layer(words);
      }
      if (layers_ != 0) {
        throw InputError(fmt::format("{} more layers than lines are announced", layers_));
      }
    } catch (const InputError& e) {
      throw InputError(fmt::format("{}:{}: {}", name_, line_, e.what()));
    }
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (!read_.contains(static_cast<int>(i))) graph_.outputs.push_back(static_cast<int>(i));
    }
    check_totals(graph_, name_);
    return std::move(graph_);
  }

 private:
  // The words of the next line that is not empty; none at the end.
  std::vector<std::string_view> next_line() {
    while (!text_.empty()) {
      const std::size_t end = text_.find('\n');
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++line_;
      std::vector<std::string_view> words = words_of(line);
      if (!words.empty()) return words;
    }
    return {};
  }

  void read_header() {
    const auto magic = next_line();
    if (magic.size() != 1 || magic[0] != kMagic) {
      throw InputError(fmt::format("expected ncnn's magic number {}", kMagic));
    }
    const auto counts = next_line();
    if (counts.size() != 2) throw InputError("expected the numbers of layers and of blobs");
    layers_ = parse_number<std::int64_t>(counts[0]);
    if (layers_ < 1 || parse_number<std::int64_t>(counts[1]) < 1) {
      throw InputError("the numbers of layers and of blobs must be positive");
    }
  }

  void read_layer(const std::vector<std::string_view>& words) {
    if (--layers_ < 0) throw InputError("more lines than layers are announced");
    if (words.size() < 4) throw InputError("expected type, name and numbers of blobs");
    EdgeNode node;
    node.type = words[0];
    node.name = words[1];
    try {
      const auto inputs = parse_number<std::size_t>(words[2]);
      const auto outputs = parse_number<std::size_t>(words[3]);
      if (inputs > words.size() || outputs > words.size() || 4 + inputs + outputs > words.size()) {
        throw InputError(fmt::format("{} inputs and {} outputs on a line of {} words", inputs,
                                     outputs, words.size()));
      }
      const auto blobs = words.begin() + 4;
      for (std::size_t i = 0; i < inputs; ++i) node.inputs.push_back(blob_read(blobs[i]));
      NcnnParams params;
      for (std::size_t i = 4 + inputs + outputs; i < words.size(); ++i) {
        parse_pair(words[i], params);
      }
      const std::vector<std::string_view> written(blobs + inputs, blobs + inputs + outputs);
      make(std::move(node), params, written);
    } catch (const InputError& e) {
      throw InputError(
          fmt::format("layer '{}' ({}): {}", shown_name(words[1]), shown_name(words[0]), e.what()));
    }
  }

  int blob_read(std::string_view blob) {
    const auto found = blobs_.find(std::string(blob));
    if (found == blobs_.end()) {
      throw InputError(fmt::format("blob '{}' is read before a layer writes it", shown_name(blob)));
    }
    read_.insert(found->second);
    return found->second;
  }

  int blob_written(std::string_view blob, EdgeDims shape, bool dynamic) {
    const int index = static_cast<int>(graph_.tensors.size());
    if (!blobs_.emplace(blob, index).second) {
      throw InputError(fmt::format("blob '{}' is written twice", shown_name(blob)));
    }
    check_dims(shape);
    graph_.tensors.push_back({std::string(blob), std::move(shape), dynamic});
    return index;
  }

  // The shape that Input and MemoryData declare; empty where they declare none.
  static EdgeDims declared(const NcnnParams& params) {
    EdgeDims shape;
    for (const int key : {0, 1, 2}) {
      const std::int64_t size = params.integer(key, 0);
      if (size < 0) throw InputError(fmt::format("a dimension of {}", size));
      if (size > 0) shape.insert(shape.begin(), size);
    }
    if (!shape.empty()) shape.insert(shape.begin(), 1);
    return shape;
  }

  void make(EdgeNode node, const NcnnParams& params, const std::vector<std::string_view>& written) {
    if (node.type == "Input" || node.type == "MemoryData") {
      return make_source(node, params, written);
    }
    std::vector<EdgeDims> inputs;
    bool dynamic = false;
    for (const int i : node.inputs) {
      const EdgeTensor& t = graph_.tensors[static_cast<std::size_t>(i)];
      inputs.push_back(t.shape);
      dynamic |= t.dynamic;
    }
    if (is_of_bytes(node.type, params)) graph_.bytes = true;
    NcnnLayer layer{params, std::move(inputs), written.size(), node};
    const NcnnKind* kind = ncnn_kind(node.type);
    if (kind != nullptr) {
      node.op = kind->op;
      node.activation = kind->activation;
    }
    if (kind == nullptr || dynamic) {
      layer.dynamic = true;
    } else {
      kind->apply(layer);
    }
    layer.outputs.resize(
        written.size(), layer.outputs.empty() || layer.dynamic ? EdgeDims{} : layer.outputs.back());
    for (std::size_t i = 0; i < written.size(); ++i) {
      node.outputs.push_back(blob_written(written[i], std::move(layer.outputs[i]), layer.dynamic));
    }
    graph_.nodes.push_back(std::move(node));
  }

  void make_source(const EdgeNode& node, const NcnnParams& params,
                   const std::vector<std::string_view>& written) {
    EdgeDims shape = declared(params);
    if (shape.empty() && node.type == "Input" && input_) {
      NcnnParams given;
      given.set(0, {static_cast<double>(input_->w)});
      given.set(1, {static_cast<double>(input_->h)});
      given.set(2, {static_cast<double>(input_->c)});
      shape = declared(given);
    }
    if (shape.empty()) {
      throw InputError("it declares no shape; give the width, height and channels of the input");
    }
    for (const std::string_view blob : written) {
      const int index = blob_written(blob, shape, false);
      if (node.type == "Input") graph_.inputs.push_back(index);
    }
  }

  std::string_view text_;
  const std::string& name_;
  std::optional<NcnnShape> input_;
  EdgeGraph graph_;
  std::unordered_map<std::string, int> blobs_;
  std::unordered_set<int> read_;
  std::int64_t layers_ = 0;  // still announced
  int line_ = 0;
};

}  // namespace

EdgeGraph read_ncnn_param(std::string_view text, const std::string& name,
                          std::optional<NcnnShape> input) {
  return Reader(text, name, input).read();
}

}  // namespace orrery
