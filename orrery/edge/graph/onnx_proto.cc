#include "orrery/edge/graph/onnx_proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "orrery/flow/chakra/wire_format.h"

namespace orrery {
namespace {

// Bytes of an element; 0 for types of other widths.
std::size_t width_of(int type) {
  switch (type) {
    case kOnnxUint8:
    case kOnnxInt8:
    case kOnnxBool:
      return 1;
    case kOnnxUint16:
    case kOnnxInt16:
    case kOnnxFloat16:
    case kOnnxBfloat16:
      return 2;
    case kOnnxFloat:
    case kOnnxInt32:
    case kOnnxUint32:
      return 4;
    case kOnnxDouble:
    case kOnnxInt64:
    case kOnnxUint64:
      return 8;
    default:
      return 0;
  }
}

template <class T>
void append_raw(std::string_view raw, std::vector<double>& values) {
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, raw.data() + at, sizeof(T));  // REQUIRES a little-endian machine
    values.push_back(static_cast<double>(value));
  }
}

// Nothing for types whose values no shape needs.
std::optional<std::vector<double>> values_of_raw(std::string_view raw, int type) {
  std::vector<double> values;
  switch (type) {
    case kOnnxFloat:
      append_raw<float>(raw, values);
      break;
    case kOnnxUint8:
    case kOnnxBool:
      append_raw<std::uint8_t>(raw, values);
      break;
    case kOnnxInt8:
      append_raw<std::int8_t>(raw, values);
      break;
    case kOnnxInt32:
      append_raw<std::int32_t>(raw, values);
      break;
    case kOnnxInt64:
      append_raw<std::int64_t>(raw, values);
      break;
    case kOnnxDouble:
      append_raw<double>(raw, values);
      break;
    default:
      return std::nullopt;
  }
  return values;
}

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  OnnxModel model(std::string_view bytes) {
    OnnxModel model;
    bool graph = false;
    WireReader in(bytes, name_);
    while (in.next()) {
      switch (in.number()) {
        case 7:
          if (graph) in.fail("a second graph");
          graph = true;
          read_graph(in.nested(), model);
          break;
        case 8:
          read_opset(in.nested(), model);
          break;
        default:
          in.skip();
      }
    }
    if (!graph) in.fail("there is no graph: this is no ONNX model");
    return model;
  }

  OnnxNode read_node(const OnnxNodeBytes& of) {
    return node(WireReader(of.bytes, name_, of.offset));
  }

 private:
  // The place of the message that the reader is at.
  static OnnxNodeBytes place_of(WireReader& in) {
    OnnxNodeBytes place;
    place.bytes = in.view();
    place.offset = in.offset() - place.bytes.size();
    return place;
  }

  void item(const WireReader& in) {
    if (++items_ > kMostOnnxItems) {
      in.fail(fmt::format("more than {} nodes, names and tensors", kMostOnnxItems));
    }
  }
  void kept(const WireReader& in, std::size_t count) {
    values_ += count;
    if (values_ > kMostOnnxValuesInAll) {
      in.fail(fmt::format("more than {} numbers in lists", kMostOnnxValuesInAll));
    }
  }

  static void read_opset(WireReader in, OnnxModel& model) {
    std::string_view domain;
    std::int64_t version = 0;
    while (in.next()) {
      if (in.number() == 1) {
        domain = in.view();
      } else if (in.number() == 2) {
        version = static_cast<std::int64_t>(in.integer());
      } else {
        in.skip();
      }
    }
    if (domain.empty() || domain == "ai.onnx") model.opset = version;
  }

  // Lists of nodes and tensors grow once, to what the graph has of them.
  static void reserve_graph(WireReader in, OnnxModel& model) {
    std::size_t nodes = 0, initializers = 0, values = 0;
    for (; in.next(); in.skip()) {
      nodes += in.number() == 1, initializers += in.number() == 5, values += in.number() == 13;
    }
    model.nodes.reserve(std::min(nodes, kMostOnnxItems));
    model.initializers.reserve(std::min(initializers, kMostOnnxItems));
    model.values.reserve(std::min(values, kMostOnnxItems));
  }

  void read_graph(WireReader in, OnnxModel& model) {
    reserve_graph(in, model);
    while (in.next()) {
      switch (in.number()) {
        case 1:
          item(in);
          model.nodes.push_back(place_of(in));
          read_node(model.nodes.back());
          break;
        case 5:
          item(in);
          model.initializers.push_back(tensor(in.nested()));
          break;
        case 11:
          item(in);
          model.inputs.push_back(value_info(in.nested()));
          break;
        case 12:
          item(in);
          model.outputs.push_back(value_info(in.nested()));
          break;
        case 13:
          item(in);
          model.values.push_back(value_info(in.nested()));
          break;
        default:
          in.skip();
      }
    }
  }

  OnnxNode node(WireReader in) {
    OnnxNode n;
    while (in.next()) {
      switch (in.number()) {
        case 1:
          item(in);
          n.inputs.push_back(in.view());
          break;
        case 2:
          item(in);
          n.outputs.push_back(in.view());
          break;
        case 3:
          n.name = in.view();
          break;
        case 4:
          n.type = in.view();
          break;
        case 5:
          item(in);
          n.attributes.push_back(attribute(in.nested()));
          break;
        case 7:
          n.domain = in.view();
          break;
        default:
          in.skip();
      }
    }
    return n;
  }

  // One value of a list of floats, or a packed list of them.
  void read_floats(WireReader& in, std::vector<double>& values) {
    if (in.wire() == Wire::kFixed32) {
      values.push_back(in.fixed<float>());
      return kept(in, 1);
    }
    const std::string_view raw = in.view();
    kept(in, raw.size() / sizeof(float));
    append_raw<float>(raw, values);
  }
  void read_integers(WireReader& in, std::vector<double>& values) {
    in.integers([&](std::uint64_t v) {
      kept(in, 1);
      values.push_back(static_cast<double>(static_cast<std::int64_t>(v)));
    });
  }

  OnnxAttribute attribute(WireReader in) {
    OnnxAttribute a;
    while (in.next()) {
      switch (in.number()) {
        case 1:
          a.name = in.view();
          break;
        case 2:
          if (in.wire() != Wire::kFixed32) in.fail("a float of another wire type");
          a.f = in.fixed<float>();
          break;
        case 3:
          a.i = static_cast<std::int64_t>(in.integer());
          break;
        case 4:
          a.s = in.view();
          break;
        case 5:
          a.tensor = tensor(in.nested());
          break;
        case 7:
          read_floats(in, a.numbers);
          break;
        case 8:
          read_integers(in, a.numbers);
          break;
        default:
          in.skip();
      }
    }
    return a;
  }

  // A list of a tensor's data: read while it is small, else passed over.
  template <class Read>
  void small_list(WireReader& in, std::vector<double>& values, bool& large, Read read) {
    if (large || values.size() > kMostOnnxValues) {
      large = true;
      return in.skip();
    }
    WireReader ahead = in;  // where a large list is passed over
    if (in.wire() == Wire::kBytes && ahead.view().size() > kMostOnnxValues * sizeof(double)) {
      large = true;
      return in.skip();
    }
    read(in, values);
  }

  OnnxTensor tensor(WireReader in) {
    OnnxTensor t;
    std::vector<double> listed;
    bool large = false, external = false;
    std::string_view raw;
    while (in.next()) {
      switch (in.number()) {
        case 1:
          in.integers([&](std::uint64_t v) {
            if (t.dims.size() == kMostDimensions) {
              in.fail(fmt::format("a tensor of more than {} dimensions", kMostDimensions));
            }
            t.dims.push_back(static_cast<std::int64_t>(v));
          });
          break;
        case 2:
          t.type = static_cast<int>(in.integer() & 0xFF);
          break;
        case 4:
          small_list(in, listed, large,
                     [this](WireReader& r, std::vector<double>& v) { read_floats(r, v); });
          break;
        case 5:
        case 7:
          small_list(in, listed, large,
                     [this](WireReader& r, std::vector<double>& v) { read_integers(r, v); });
          break;
        case 8:
          t.name = in.view();
          break;
        case 9:
          raw = in.view();
          break;
        case 14:
          external = in.integer() == 1;
          break;
        default:
          in.skip();
      }
    }
    keep_values(in, t, external ? std::string_view() : raw, large ? nullptr : &listed);
    return t;
  }

  void keep_values(const WireReader& in, OnnxTensor& t, std::string_view raw,
                   std::vector<double>* listed) {
    std::size_t elements = 0;
    try {
      elements = static_cast<std::size_t>(checked_product(t.dims));
    } catch (const InputError& e) {
      in.fail(fmt::format("tensor '{}': {}", shown_name(t.name), e.what()));
    }
    const std::size_t width = width_of(t.type);
    if (!raw.empty() && width != 0 && raw.size() != elements * width) {
      in.fail(fmt::format("tensor '{}' of {} elements has {} bytes", shown_name(t.name), elements,
                          raw.size()));
    }
    const bool floats = t.type == kOnnxFloat || t.type == kOnnxDouble;
    if (elements > (floats ? kMostOnnxFloats : kMostOnnxValues)) return;
    if (!raw.empty()) {
      t.values = values_of_raw(raw, t.type);
      kept(in, elements);
    } else if (listed != nullptr && listed->size() == elements) {
      t.values = std::move(*listed);
    }
  }

  OnnxValueInfo value_info(WireReader in) {
    OnnxValueInfo info;
    while (in.next()) {
      if (in.number() == 1) {
        info.name = in.view();
      } else if (in.number() == 2) {
        for (WireReader type = in.nested(); type.next();) {
          if (type.number() == 1) {
            read_tensor_type(type.nested(), info);
          } else {
            type.skip();
          }
        }
      } else {
        in.skip();
      }
    }
    return info;
  }

  void read_tensor_type(WireReader in, OnnxValueInfo& info) {
    while (in.next()) {
      if (in.number() == 1) {
        info.type = static_cast<int>(in.integer() & 0xFF);
      } else if (in.number() == 2) {
        info.shape.emplace();
        for (WireReader shape = in.nested(); shape.next();) {
          if (shape.number() != 1) {
            shape.skip();
            continue;
          }
          if (info.shape->size() == kMostDimensions) {
            shape.fail(fmt::format("a value of more than {} dimensions", kMostDimensions));
          }
          info.shape->push_back(dimension(shape.nested()));
        }
      } else {
        in.skip();
      }
    }
  }

  static OnnxDimension dimension(WireReader in) {
    OnnxDimension d;
    while (in.next()) {
      if (in.number() == 1) {
        // Exporters write 0 or -1 for sizes that they do not know.
        const auto size = static_cast<std::int64_t>(in.integer());
        if (size > 0) d.size = size;
      } else if (in.number() == 2) {
        d.symbol = in.view();
      } else {
        in.skip();
      }
    }
    return d;
  }

  const std::string& name_;
  std::size_t items_ = 0, values_ = 0;
};

}  // namespace

const OnnxAttribute* OnnxNode::find(std::string_view attribute) const {
  for (const OnnxAttribute& a : attributes) {
    if (a.name == attribute) return &a;
  }
  return nullptr;
}

OnnxNode parse_onnx_node(const OnnxNodeBytes& node, const std::string& name) {
  return Parser(name).read_node(node);
}

OnnxModel parse_onnx(std::string_view bytes, const std::string& name) {
  return Parser(name).model(bytes);
}

}  // namespace orrery
