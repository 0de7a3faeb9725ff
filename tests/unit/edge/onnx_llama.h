// ONNX files with the matrices of a Llama and without their data.
#pragma once

#include <fmt/format.h>

#include <string>

#include "tests/unit/edge/onnx_writer.h"

namespace orrery {

struct LlamaSizes {
  int layers, hidden, inner, keys, vocab;
};

// The matrices of a Llama, layer by layer, as an exporter writes them.
inline std::string llama_onnx(const LlamaSizes& s) {
  OnnxWriter out;
  out.input("tokens", {1, 8}, 7);
  out.weight("table", {s.vocab, s.hidden});
  out.node("Gather", {"table", "tokens"}, {"x0"});
  int products = 0;
  const auto product = [&](const std::string& from, int rows, int columns) {
    const std::string weight = fmt::format("w{}", products), to = fmt::format("p{}", products);
    ++products;
    out.weight(weight, {rows, columns});
    out.node("MatMul", {from, weight}, {to});
    return to;
  };
  std::string x = "x0";
  for (int i = 0; i < s.layers; ++i) {
    const std::string query = product(x, s.hidden, s.hidden);
    for (int k = 0; k < 2; ++k) out.output(product(x, s.hidden, s.keys));
    const std::string y = product(query, s.hidden, s.hidden);
    const std::string gate = product(y, s.hidden, s.inner), up = product(y, s.hidden, s.inner);
    const std::string both = fmt::format("m{}", i);
    out.node("Mul", {gate, up}, {both});
    x = product(both, s.inner, s.hidden);
  }
  out.output(product(x, s.hidden, s.vocab));
  return out.bytes();
}

// Sizes of the models' config.json.
inline constexpr LlamaSizes kLlama3 = {32, 4096, 14336, 1024, 128256};
inline constexpr LlamaSizes kLlama32 = {16, 2048, 8192, 512, 128256};  // its head is its table

}  // namespace orrery
