// Writes ONNX models for tests: the bytes of a ModelProto, field by field (onnx.proto3).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/flow/chakra/wire_format.h"

namespace orrery {

using OnnxSizes = std::vector<std::int64_t>;

// One attribute of a node.
struct OnnxField {
  std::string bytes;

  static OnnxField integer(std::string_view name, std::int64_t value) {
    WireWriter out;
    out.text(1, name);
    out.integer(3, static_cast<std::uint64_t>(value));
    return {out.bytes()};
  }
  static OnnxField integers(std::string_view name, const OnnxSizes& values) {
    WireWriter out, packed;
    out.text(1, name);
    for (const std::int64_t v : values) packed.varint(static_cast<std::uint64_t>(v));
    out.text(8, packed.bytes());
    return {out.bytes()};
  }
  static OnnxField text(std::string_view name, std::string_view value) {
    WireWriter out;
    out.text(1, name);
    out.text(4, value);
    return {out.bytes()};
  }
  static OnnxField tensor(std::string_view name, const std::string& tensor) {
    WireWriter out;
    out.text(1, name);
    out.text(5, tensor);
    return {out.bytes()};
  }
};

class OnnxWriter {
 public:
  // A TensorProto; without data as with external data that is not there.
  static std::string tensor(std::string_view name, const OnnxSizes& dims, int type,
                            std::string_view raw = "") {
    WireWriter out;
    for (const std::int64_t d : dims) out.integer(1, static_cast<std::uint64_t>(d));
    out.integer(2, static_cast<std::uint64_t>(type));
    out.text(8, name);
    if (!raw.empty()) {
      out.text(9, raw);
    } else {
      WireWriter entry;
      entry.text(1, "location");
      entry.text(2, "weights.bin");
      out.text(13, entry.bytes());
      out.integer(14, 1);
    }
    return out.bytes();
  }
  static std::string integers(std::string_view name, const OnnxSizes& values, bool scalar = false) {
    std::string raw(values.size() * sizeof(std::int64_t), '\0');
    if (!raw.empty()) std::memcpy(raw.data(), values.data(), raw.size());
    return tensor(name, scalar ? OnnxSizes{} : OnnxSizes{static_cast<std::int64_t>(values.size())},
                  7, raw);
  }

  // A float input; dimensions that are negative get a symbol: -1 "N", -2 "S".
  void input(std::string_view name, const OnnxSizes& dims, int type = 1) {
    graph_.text(11, value(name, dims, type));
  }
  // A result whose shape the model does not state.
  void output(std::string_view name) {
    WireWriter out;
    out.text(1, name);
    graph_.text(12, out.bytes());
  }
  void stated(std::string_view name, const OnnxSizes& dims) {
    graph_.text(13, value(name, dims, 1));
  }
  void weight(std::string_view name, const OnnxSizes& dims, std::string_view raw = "") {
    graph_.text(5, tensor(name, dims, 1, raw));
  }
  void initializer(std::string_view tensor) { graph_.text(5, tensor); }
  void list(std::string_view name, const OnnxSizes& values) {
    graph_.text(5, integers(name, values));
  }
  void node(std::string_view type, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs, const std::vector<OnnxField>& fields = {},
            std::string_view domain = "") {
    WireWriter out;
    for (const std::string& i : inputs) out.text(1, i);
    for (const std::string& o : outputs) out.text(2, o);
    out.text(3, outputs.empty() ? "" : outputs[0]);
    out.text(4, type);
    for (const OnnxField& f : fields) out.text(5, f.bytes);
    if (!domain.empty()) out.text(7, domain);
    graph_.text(1, out.bytes());
  }

  std::string bytes(std::int64_t opset = 17) const {
    WireWriter model, version;
    version.text(1, "");
    version.integer(2, static_cast<std::uint64_t>(opset));
    model.integer(1, 8);
    model.text(2, "test");
    model.text(8, version.bytes());
    model.text(7, graph_.bytes());
    return model.bytes();
  }

 private:
  static std::string value(std::string_view name, const OnnxSizes& dims, int type) {
    WireWriter shape, tensor, any, out;
    for (const std::int64_t d : dims) {
      WireWriter dim;
      if (d >= 0) {
        dim.integer(1, static_cast<std::uint64_t>(d));
      } else {
        dim.text(2, d == -1 ? "N" : "S");
      }
      shape.text(1, dim.bytes());
    }
    tensor.integer(1, static_cast<std::uint64_t>(type));
    tensor.text(2, shape.bytes());
    any.text(1, tensor.bytes());
    out.text(1, name);
    out.text(2, any.bytes());
    return out.bytes();
  }

  WireWriter graph_;
};

}  // namespace orrery
