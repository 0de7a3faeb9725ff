#include "orrery/edge/graph/onnx_model.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/base/node.h"
#include "orrery/edge/graph/onnx_op.h"

namespace orrery {
namespace {

constexpr std::int64_t kFirstOpset = 7, kLastOpset = 21;
constexpr std::size_t kMostLiveValues = 4'000'000;  // numbers of small constants

using OnnxValues = std::unordered_map<std::string_view, OnnxValue>;

// The indices of nodes in an order in which each stands behind those that it reads. Counts the uses
// of the `known` values.
class ExecutionOrder {
 public:
  ExecutionOrder(const OnnxModel& model, OnnxValues& known, const std::string& name)
      : model_(model), known_(known), name_(name), waits_(model.nodes.size(), 0) {}

  std::vector<std::size_t> find() {
    std::unordered_map<std::string_view, std::size_t> writers = find_writers();
    std::vector<std::vector<std::size_t>> readers(model_.nodes.size());
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      const OnnxNode node = parse_onnx_node(model_.nodes[n], name_);
      for (const std::string_view i : node.inputs) {
        if (i.empty()) continue;
        if (const auto known = known_.find(i); known != known_.end()) {
          ++known->second.uses;
          continue;
        }
        const auto found = writers.find(i);
        if (found == writers.end()) {
          throw InputError(fmt::format("node '{}' ({}) reads '{}', which nothing writes",
                                       shown_name(node.name), shown_name(node.type),
                                       shown_name(i)));
        }
        readers[found->second].push_back(n);
        ++waits_[n];
      }
    }
    writers = {};
    return sorted(readers);
  }

 private:
  std::unordered_map<std::string_view, std::size_t> find_writers() const {
    std::unordered_map<std::string_view, std::size_t> writers;
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      for (const std::string_view o : parse_onnx_node(model_.nodes[n], name_).outputs) {
        if (o.empty()) continue;
        if (known_.contains(o) || !writers.emplace(o, n).second) {
          throw InputError(fmt::format("'{}' is written twice", shown_name(o)));
        }
      }
    }
    return writers;
  }

  std::vector<std::size_t> sorted(const std::vector<std::vector<std::size_t>>& readers) {
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t n = 0; n < waits_.size(); ++n) {
      if (waits_[n] == 0) ready.push(n);
    }
    std::vector<std::size_t> order;
    order.reserve(waits_.size());
    while (!ready.empty()) {
      const std::size_t n = ready.top();
      ready.pop();
      order.push_back(n);
      for (const std::size_t r : readers[n]) {
        if (--waits_[r] == 0) ready.push(r);
      }
    }
    if (order.size() == waits_.size()) return order;
    const auto stuck = static_cast<std::size_t>(
        std::find_if(waits_.begin(), waits_.end(), [](std::size_t w) { return w > 0; }) -
        waits_.begin());
    const OnnxNode node = parse_onnx_node(model_.nodes[stuck], name_);
    throw InputError(fmt::format("its nodes form a cycle, which node '{}' ({}) is in or behind",
                                 shown_name(node.name), shown_name(node.type)));
  }

  const OnnxModel& model_;
  OnnxValues& known_;
  const std::string& name_;
  std::vector<std::size_t> waits_;
};

bool is_weight_type(int type) {
  return type == kOnnxFloat || type == kOnnxFloat16 || type == kOnnxBfloat16 ||
         type == kOnnxDouble || type == kOnnxInt8 || type == kOnnxUint8;
}

class GraphMaker {
 public:
  // Takes the model apart: a tensor is released once nothing more reads it.
  GraphMaker(OnnxModel& model, const std::string& name, const OnnxOptions& options)
      : model_(model), name_(name), options_(options) {}

  EdgeGraph make() {
    if (model_.opset < kFirstOpset || model_.opset > kLastOpset) {
      throw InputError(
          fmt::format("opset {}; {} to {} are read", model_.opset, kFirstOpset, kLastOpset));
    }
    for (OnnxTensor& t : model_.initializers) add_initializer(t);
    model_.initializers = {};
    for (const OnnxValueInfo& i : model_.inputs) {
      if (!values_.contains(i.name)) add_input(i);
    }
    for (const OnnxValueInfo& v : model_.values) infos_.emplace(v.name, &v);
    for (const OnnxValueInfo& v : model_.outputs) infos_.emplace(v.name, &v);
    const std::vector<std::size_t> order = ExecutionOrder(model_, values_, name_).find();
    for (const OnnxValueInfo& o : model_.outputs) {
      if (const auto known = values_.find(o.name); known != values_.end()) ++known->second.uses;
    }
    graph_.nodes.reserve(order.size());
    graph_.tensors.reserve(order.size() + model_.inputs.size());
    for (const std::size_t n : order) {
      const OnnxNode node = parse_onnx_node(model_.nodes[n], name_);
      add_node(node);
      for (const std::string_view i : node.inputs) use(i);
    }
    for (const OnnxValueInfo& o : model_.outputs) add_output(o);
    return std::move(graph_);
  }

 private:
  // A value that no node writes is forgotten behind its last use.
  void use(std::string_view name) {
    const auto found = values_.find(name);
    if (found == values_.end() || found->second.uses == 0 || --found->second.uses > 0) return;
    if (found->second.values) live_values_ -= found->second.values->size();
    values_.erase(found);
  }

  void add_value(std::string_view name, OnnxValue value) {
    if (name.empty()) return;
    live_values_ += value.values ? value.values->size() : 0;
    if (live_values_ > kMostLiveValues) {
      throw InputError(fmt::format("more than {} numbers in constants of shapes", kMostLiveValues));
    }
    values_[name] = std::move(value);
  }

  int new_origin(std::int64_t elements) {
    uncounted_.push_back(elements);
    return static_cast<int>(uncounted_.size()) - 1;
  }

  int add_tensor(std::string_view name, const OnnxValue& value) {
    graph_.tensors.push_back({std::string(name), value.shape, value.dynamic});
    return static_cast<int>(graph_.tensors.size()) - 1;
  }

  void add_initializer(OnnxTensor& t) {
    OnnxValue value;
    value.shape = std::move(t.dims);
    value.type = t.type;
    value.constant = true;
    value.values = std::move(t.values);
    value.origin = new_origin(value.elements());
    if (values_.contains(t.name)) {
      throw InputError(fmt::format("two initializers '{}'", shown_name(t.name)));
    }
    add_value(t.name, std::move(value));
  }

  std::int64_t size_of(const OnnxValueInfo& input, std::size_t axis) const {
    const OnnxDimension& d = (*input.shape)[axis];
    if (d.size) return *d.size;
    const std::string symbol =
        d.symbol.empty() ? fmt::format("{}[{}]", input.name, axis) : std::string(d.symbol);
    const auto given = options_.dimensions.find(symbol);
    const bool is_given = given != options_.dimensions.end();
    if (!is_given && axis != 0) {
      throw InputError(
          fmt::format("input '{}': the model leaves its dimension '{}' open; give a value",
                      shown_name(input.name), shown_name(symbol)));
    }
    const std::int64_t size = is_given ? given->second : options_.batch;
    if (size < 1) throw InputError(fmt::format("a dimension '{}' of {}", shown_name(symbol), size));
    return size;
  }

  void add_input(const OnnxValueInfo& input) {
    if (!input.shape) {
      throw InputError(fmt::format("input '{}' has no shape", shown_name(input.name)));
    }
    OnnxValue value;
    for (std::size_t axis = 0; axis < input.shape->size(); ++axis) {
      value.shape.push_back(size_of(input, axis));
    }
    check_dims(value.shape);
    value.type = input.type;
    value.tensor = add_tensor(input.name, value);
    graph_.inputs.push_back(value.tensor);
    add_value(input.name, std::move(value));
  }

  // The shape that the model states for a value, if all of it is a number.
  std::optional<EdgeDims> stated(std::string_view name) const {
    const auto info = infos_.find(name);
    if (info == infos_.end() || !info->second->shape) return std::nullopt;
    EdgeDims shape;
    for (const OnnxDimension& d : *info->second->shape) {
      if (!d.size) return std::nullopt;
      shape.push_back(*d.size);
    }
    check_dims(shape);
    return shape;
  }

  void add_node(const OnnxNode& n) {
    try {
      make_node(n);
    } catch (const InputError& e) {
      throw InputError(
          fmt::format("node '{}' ({}): {}", shown_name(n.name), shown_name(n.type), e.what()));
    }
  }

  void make_node(const OnnxNode& n) {
    EdgeNode node;
    node.name = n.name.empty() && !n.outputs.empty() ? n.outputs[0] : n.name;
    node.type = n.type;
    OnnxOp op{n, model_.opset, {}, node, std::vector<OnnxValue>(n.outputs.size())};
    bool dynamic = false, constant = true;
    for (const std::string_view i : n.inputs) {
      op.inputs.push_back(i.empty() ? nullptr : &values_.at(i));
      if (op.inputs.back() == nullptr) continue;
      dynamic |= op.inputs.back()->dynamic;
      constant &= op.inputs.back()->constant;
    }
    const bool standard = n.domain.empty() || n.domain == "ai.onnx" || n.domain == "com.microsoft";
    const OnnxKind* kind = standard ? onnx_kind(n.type) : nullptr;
    if (kind != nullptr) {
      node.op = kind->op;
      node.activation = kind->activation;
    }
    if (kind != nullptr && !dynamic) {
      kind->apply(op);
      op.outputs.resize(n.outputs.size());
    } else {
      for (std::size_t i = 0; i < n.outputs.size(); ++i) {
        const auto shape = stated(n.outputs[i]);
        op.outputs[i].dynamic = !shape;
        if (shape) op.outputs[i].shape = *shape;
      }
      constant &= kind != nullptr;
    }
    // The shape of a value is constant, whatever the value is.
    if (constant || (!op.outputs.empty() && op.outputs[0].constant)) {
      add_constants(op);
    } else {
      add_work(op);
    }
  }

  void add_constants(OnnxOp& op) {
    int origin = -1;
    for (const OnnxValue* i : op.inputs) {
      if (i != nullptr && i->origin >= 0 && is_weight_type(i->type) && origin < 0) {
        origin = i->origin;
      }
    }
    for (std::size_t o = 0; o < op.source.outputs.size(); ++o) {
      OnnxValue& value = op.outputs[o];
      value.constant = true;
      value.origin = origin >= 0 ? origin : new_origin(value.elements());
      add_value(op.source.outputs[o], std::move(value));
    }
  }

  // Elements that a node has learned, each tensor counted where it is first used.
  std::int64_t learned_by(const OnnxOp& op) {
    std::int64_t sum = 0;
    for (const std::size_t i : op.learned) {
      if (!op.has(i)) continue;
      const OnnxValue& v = op.input(i);
      const bool number = v.elements() <= 1 && v.shape.empty();
      if (!v.constant || number || !is_weight_type(v.type)) continue;
      sum += std::exchange(uncounted_[index(v.origin)], 0);
    }
    return sum;
  }

  void add_work(OnnxOp& op) {
    op.node.parameters = learned_by(op);
    for (const OnnxValue* i : op.inputs) {
      if (i != nullptr && i->tensor >= 0) op.node.inputs.push_back(i->tensor);
    }
    for (std::size_t o = 0; o < op.source.outputs.size(); ++o) {
      const std::string_view name = op.source.outputs[o];
      if (name.empty()) continue;
      OnnxValue& value = op.outputs[o];
      value.tensor = add_tensor(name, value);
      op.node.outputs.push_back(value.tensor);
      add_value(name, std::move(value));
    }
    graph_.nodes.push_back(std::move(op.node));
  }

  void add_output(const OnnxValueInfo& output) {
    const auto found = values_.find(output.name);
    if (found == values_.end()) {
      throw InputError(
          fmt::format("its result '{}' is written by nothing", shown_name(output.name)));
    }
    const int tensor = found->second.tensor;
    if (tensor >= 0) graph_.outputs.push_back(tensor);
  }

  OnnxModel& model_;
  const std::string& name_;
  const OnnxOptions& options_;
  EdgeGraph graph_;
  OnnxValues values_;
  std::unordered_map<std::string_view, const OnnxValueInfo*> infos_;
  std::vector<std::int64_t> uncounted_;  // by origin: elements that no node has counted
  std::size_t live_values_ = 0;
};

// A file in memory, whose pages are read when they are used.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    require_file(path);
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
      throw InputError(fmt::format("{}: cannot be read", path.string()));
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (data_ == MAP_FAILED) {
      data_ = nullptr;
      close(descriptor_);
      throw InputError(fmt::format("{}: cannot be read", path.string()));
    }
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) munmap(data_, size_);
    close(descriptor_);
  }
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  int descriptor_ = -1;
  std::size_t size_ = 0;
  void* data_ = nullptr;
};

// An archive of a few bytes can hold more than the memory does.
void refuse_archive(std::string_view bytes, const std::filesystem::path& path) {
  constexpr std::pair<std::string_view, std::string_view> kBegins[] = {{"PK\x03\x04", "zip"},
                                                                       {"\x1f\x8b", "gzip"}};
  for (const auto& [begin, name] : kBegins) {
    if (bytes.starts_with(begin))
      throw InputError(fmt::format("{}: a {} archive; unpack it and give the .onnx file inside",
                                   path.string(), name));
  }
}

}  // namespace

EdgeGraph read_onnx(std::string_view bytes, const std::string& name, const OnnxOptions& options) {
  OnnxModel model = parse_onnx(bytes, name);
  EdgeGraph graph;
  try {
    graph = GraphMaker(model, name, options).make();
  } catch (const InputError& e) {
    throw InputError(fmt::format("{}: {}", name, e.what()));
  }
  graph.name = name;
  check_totals(graph, name);
  return graph;
}

EdgeGraph read_onnx_file(const std::filesystem::path& path, const OnnxOptions& options) {
  const MappedFile file(path);
  refuse_archive(file.bytes(), path);
  EdgeGraph graph = read_onnx(file.bytes(), path.string(), options);
  graph.name = path.stem().string();
  return graph;
}

}  // namespace orrery
