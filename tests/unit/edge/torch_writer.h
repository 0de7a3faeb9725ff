// Writes networks layer by layer as PyTorch exports them to ONNX, and counts their multiply-adds.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/edge/onnx_writer.h"
#include "tests/unit/edge/torch_networks.h"

namespace orrery {

// A value with its channels and its side.
struct Blob {
  std::string name;
  std::int64_t c = 0, side = 0;
};

class Torch {
 public:
  Torch() { out_.input("image", {-1, 3, 224, 224}); }
  Blob image() const { return {"image", 3, 224}; }

  struct Conv {
    std::int64_t c = 0, k = 1, stride = 1, pad = 0, groups = 1;
    bool bias = false;
  };
  Blob conv(const Blob& x, const Conv& p) {
    const std::string w = fresh("w");
    out_.weight(w, {p.c, x.c / p.groups, p.k, p.k});
    std::vector<std::string> inputs = {x.name, w};
    if (p.bias) {
      inputs.push_back(fresh("b"));
      out_.weight(inputs.back(), {p.c});
    }
    const std::int64_t side = (x.side + 2 * p.pad - p.k) / p.stride + 1;
    macs_ += p.c * (x.c / p.groups) * p.k * p.k * side * side;
    return add("Conv", inputs, {p.c, side},
               {OnnxField::integers("kernel_shape", {p.k, p.k}),
                OnnxField::integers("strides", {p.stride, p.stride}),
                OnnxField::integers("pads", {p.pad, p.pad, p.pad, p.pad}),
                OnnxField::integers("dilations", {1, 1}), OnnxField::integer("group", p.groups)});
  }
  Blob norm(const Blob& x) {
    std::vector<std::string> inputs = {x.name};
    for (int i = 0; i < 4; ++i) {
      inputs.push_back(fresh("n"));
      out_.weight(inputs.back(), {x.c});
    }
    return add("BatchNormalization", inputs, x);
  }
  Blob act(const std::string& type, const Blob& x) {
    if (type == "Relu6") {
      const std::string low = constant(), high = constant();
      return add("Clip", {x.name, low, high}, x);
    }
    if (type == "Silu") return mul(x, act("Sigmoid", x));
    return type.empty() ? x : add(type, {x.name}, x);
  }
  Blob conv_norm(const Blob& x, const Conv& p, const std::string& activation = "Relu") {
    return act(activation, norm(conv(x, p)));
  }
  Blob pool(const Blob& x, std::int64_t k, std::int64_t stride, std::int64_t pad, bool ceil = false,
            const std::string& type = "MaxPool") {
    const std::int64_t room = x.side + 2 * pad - k;
    const std::int64_t side = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
    return add(type, {x.name}, {x.c, side},
               {OnnxField::integers("kernel_shape", {k, k}),
                OnnxField::integers("strides", {stride, stride}),
                OnnxField::integers("pads", {pad, pad, pad, pad}),
                OnnxField::integer("ceil_mode", ceil ? 1 : 0)});
  }
  Blob global_pool(const Blob& x) { return add("GlobalAveragePool", {x.name}, {x.c, 1}); }
  Blob sum(const Blob& a, const Blob& b) { return add("Add", {a.name, b.name}, a); }
  Blob mul(const Blob& a, const Blob& b) { return add("Mul", {a.name, b.name}, a); }
  Blob concat(const std::vector<Blob>& xs) {
    std::vector<std::string> names;
    Blob out{"", 0, xs[0].side};
    for (const Blob& x : xs) {
      names.push_back(x.name);
      out.c += x.c;
    }
    return add("Concat", names, out, {OnnxField::integer("axis", 1)});
  }
  // A vector of all elements, and a fully connected layer on it.
  Blob flatten(const Blob& x) {
    return add("Flatten", {x.name}, {x.c * x.side * x.side, 1}, {OnnxField::integer("axis", 1)});
  }
  Blob linear(const Blob& x, std::int64_t n) {
    const std::string w = fresh("w"), b = fresh("b");
    out_.weight(w, {n, x.c});
    out_.weight(b, {n});
    macs_ += n * x.c;
    return add("Gemm", {x.name, w, b}, {n, 1}, {OnnxField::integer("transB", 1)});
  }
  // Squeeze and excitation with convolutions of one pixel.
  Blob gate(const Blob& x, std::int64_t width, const std::string& inner, const std::string& outer) {
    const Blob s = act(inner, conv(global_pool(x), {width, 1, 1, 0, 1, true}));
    return mul(x, act(outer, conv(s, {x.c, 1, 1, 0, 1, true})));
  }
  // Channels in two halves, by the sizes that an export computes.
  std::pair<Blob, Blob> halves(const Blob& x) {
    const Blob a{fresh("v"), x.c / 2, x.side}, b{fresh("v"), x.c / 2, x.side};
    out_.node("Split", {x.name}, {a.name, b.name}, {OnnxField::integer("axis", 1)});
    return {a, b};
  }
  // x.view(n, 2, c / 2, h, w).transpose(1, 2).view(n, c, h, w) with the batch read from the shape.
  Blob shuffle(const Blob& x) {
    const std::string shape = node("Shape", {x.name});
    const std::string zero = index(0);
    const std::string batch = node("Gather", {shape, zero}, {OnnxField::integer("axis", 0)});
    const std::string axes = fresh("l");
    out_.list(axes, {0});
    const std::string first = node("Unsqueeze", {batch, axes});
    const auto sizes = [&](const OnnxSizes& rest) {
      const std::string list = fresh("l");
      out_.list(list, rest);
      return node("Concat", {first, list}, {OnnxField::integer("axis", 0)});
    };
    std::string y = node("Reshape", {x.name, sizes({2, x.c / 2, x.side, x.side})});
    y = node("Transpose", {y}, {OnnxField::integers("perm", {0, 2, 1, 3, 4})});
    return {node("Reshape", {y, sizes({-1, x.side, x.side})}), x.c, x.side};
  }

  // ---- transformers: values are [N, tokens, width]
  std::string node(const std::string& type, const std::vector<std::string>& inputs,
                   const std::vector<OnnxField>& fields = {}) {
    const std::string name = fresh("v");
    out_.node(type, inputs, {name}, fields);
    return name;
  }
  std::string weight(const OnnxSizes& dims) {
    const std::string name = fresh("w");
    out_.weight(name, dims);
    return name;
  }
  std::string list(const OnnxSizes& values) {
    const std::string name = fresh("l");
    out_.list(name, values);
    return name;
  }
  // A Constant node of one float, whose value no shape needs.
  std::string constant() {
    const std::string name = fresh("k");
    out_.node("Constant", {}, {name},
              {OnnxField::tensor("value", OnnxWriter::tensor("", {}, 1, std::string(4, '\0')))});
    return name;
  }
  std::string index(std::int64_t value) {
    const std::string name = fresh("k");
    out_.node("Constant", {}, {name},
              {OnnxField::tensor("value", OnnxWriter::integers("", {value}, true))});
    return name;
  }
  std::string layer_norm(const std::string& x, std::int64_t width) {
    return node("LayerNormalization", {x, weight({width}), weight({width})},
                {OnnxField::integer("axis", -1)});
  }
  std::string projection(const std::string& x, std::int64_t tokens, std::int64_t in,
                         std::int64_t out) {
    macs_ += tokens * in * out;
    return node("Add", {weight({out}), node("MatMul", {x, weight({in, out})})});
  }
  void count(std::int64_t macs) { macs_ += macs; }

  TorchNetwork finish(std::string name, const std::string& output, std::int64_t parameters,
                      double gflops) {
    out_.output(output);
    return {std::move(name), out_.bytes(), macs_, parameters, gflops};
  }

 private:
  std::string fresh(const char* prefix) { return prefix + std::to_string(names_++); }
  Blob add(const std::string& type, const std::vector<std::string>& inputs, const Blob& like,
           const std::vector<OnnxField>& fields = {}) {
    return {node(type, inputs, fields), like.c, like.side};
  }
  struct Size {
    std::int64_t c, side;
  };
  Blob add(const std::string& type, const std::vector<std::string>& inputs, Size size,
           const std::vector<OnnxField>& fields = {}) {
    return {node(type, inputs, fields), size.c, size.side};
  }

  OnnxWriter out_;
  int names_ = 0;
  std::int64_t macs_ = 0;
};

}  // namespace orrery
