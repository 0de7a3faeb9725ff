#include "orrery/kernel/tables/sweep_rows.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/base/random.h"

namespace orrery {
namespace {

Dtype dtype_of(const CsvReader& row, int column) {
  const std::string_view name = row.text(column);
  if (name == "bfloat16" || name == "bf16") return Dtype::kBf16;
  if (name == "float16") return Dtype::kFp16;
  if (name == "float32" || name == "fp32") return Dtype::kFp32;
  row.fail(column, fmt::format("expected bfloat16, float16 or float32, got '{}'", name));
}

std::int64_t positive(const CsvReader& row, std::string_view name) {
  const int column = row.column(name);
  const std::int64_t n = row.integer(column);
  if (n < 1) row.fail(column, fmt::format("expected a whole number above 0, got {}", n));
  return n;
}

}  // namespace

std::optional<Op> sweep_op(const CsvReader& row, std::string_view table) {
  const int name = row.column("op");
  const std::string_view op = row.text(name);
  if (table == "optimizer") {
    const Dtype state = dtype_of(row, row.column("state"));
    if (op != "adam_fused") row.fail(name, fmt::format("expected adam_fused, got '{}'", op));
    return adam_step(positive(row, "parameters"), state, state, {}, state);
  }
  const Dtype dtype = dtype_of(row, row.column("dtype"));
  const std::int64_t rows = positive(row, "rows"), width = positive(row, "width");
  if (op == "embedding") return Embedding{rows, width, dtype};
  Elementwise e;
  e.rows = rows, e.width = width;
  double reads = 1;
  using Kind = Elementwise::Kind;
  if (op == "rms_norm") return std::nullopt;
  if (op == "add") {
    e.kind = Kind::kAdd, reads = 2;
  } else if (op == "silu_mul") {
    e.kind = Kind::kActivation, reads = 2;
  } else if (op == "layer_norm") {
    e.kind = Kind::kNorm;
  } else if (op == "softmax") {
    e.kind = Kind::kSoftmax;
  } else if (op == "rotary") {
    e.kind = Kind::kRotary;
  } else if (op == "copy") {
    e.kind = Kind::kCopy;
  } else {
    row.fail(name, fmt::format("no elementwise operation '{}'", op));
  }
  e.written = real(rows) * real(width) * bytes_per_element(dtype);
  e.read = e.written * reads;
  return table == "elementwise_backward" ? gradient(e) : e;
}

std::uint64_t sweep_shape(const CsvReader& row, std::string_view table) {
  if (table == "optimizer") {
    return hash_text(
        fmt::format("{} {}", row.text(row.column("state")), row.text(row.column("parameters"))));
  }
  return hash_text(
      fmt::format("{} {}", row.text(row.column("rows")), row.text(row.column("width"))));
}

bool check_sweep(const std::filesystem::path& dir, std::vector<std::string>& refused) {
  const std::filesystem::path path = dir / "device.json";
  if (!std::filesystem::exists(path)) return false;
  const Node facts = read_document(path);
  if (const Node* rehearsal = facts.find("rehearsal"); rehearsal && rehearsal->as_bool())
    throw InputError(
        fmt::format("{}: a rehearsal of the sweep: its times mean nothing", path.string()));
  const Node& state = facts.at("state");
  if (!state.at("sound").as_bool()) {
    for (const Node& problem : state.at("problems").items())
      refused.push_back(fmt::format("nothing, but {}: {}", path.string(), problem.as_string()));
  }
  return true;
}

}  // namespace orrery
