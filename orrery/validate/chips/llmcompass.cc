#include "orrery/validate/chips/llmcompass.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "orrery/accelerator/chip/chip_area.h"
#include "orrery/accelerator/chip/chip_links.h"
#include "orrery/accelerator/chip/chip_products.h"
#include "orrery/accelerator/chip/chip_rows.h"
#include "orrery/accelerator/chip/core_chip.h"
#include "orrery/base/error.h"
#include "orrery/validate/rows/llmcompass_rows.h"

namespace orrery {
namespace {

constexpr const char* kTable = "llmcompass_measured";

double element_bytes(const LlmCompassRow& row) { return row.dtype == "fp32" ? 4 : 2; }

double product(const CoreChip& chip, ChipProduct p, double element) {
  p.a = p.b = p.c = element;
  p.arithmetic = Dtype::kFp16;
  p.warm = true;
  return (product_time(chip, p).time + chip.launch.gemm).value();
}

double reduction(const CoreChip& chip, ChipRows::Kind kind, double rows, double width,
                 double element) {
  ChipRows r;
  r.kind = kind;
  r.rows = static_cast<std::int64_t>(rows), r.width = static_cast<std::int64_t>(width);
  r.read = r.written = element;
  r.operations = kGeluOperations, r.exponentials = 1;
  r.warm = true;
  const Seconds launch = kind == ChipRows::Kind::kSoftmax ? chip.launch.softmax
                         : kind == ChipRows::Kind::kNorm  ? chip.launch.norm
                                                          : chip.launch.gelu;
  return (rows_time(chip, r).time + launch).value();
}

ChipProduct sized(double m, double n, double k, double batch = 1) {
  ChipProduct p;
  p.m = static_cast<std::int64_t>(m), p.n = static_cast<std::int64_t>(n);
  p.k = static_cast<std::int64_t>(k), p.batch = static_cast<std::int64_t>(batch);
  return p;
}

// A part of a GPT-3 layer under tensor parallelism; nothing: a part that is not known. Prefill
// takes all tokens of the prompt; decode takes one token of each sequence, behind its context.
std::optional<double> layer_part(const CoreChip& chip, const LlmCompassRow& row,
                                 const std::string& part) {
  using Kind = ChipRows::Kind;
  const bool prefill = row.item.find("prefill") != std::string::npos;
  const double batch = word_of(row, "batch"), hidden = word_of(row, "d"), tp = word_of(row, "tp"),
               all_heads = word_of(row, "heads");
  const double queries = prefill ? word_of(row, "prompt") : 1;
  const double keys = prefill ? queries : word_of(row, "context") + 1;
  const double tokens = batch * queries, heads = batch * all_heads / tp, head = hidden / all_heads,
               e = element_bytes(row);
  constexpr double kFfn = 4;  // the inner width of the FFN over the hidden size
  if (part == "Q_K_V") return 3 * product(chip, sized(tokens, hidden / tp, hidden), e);
  if (part == "Q_mul_K") return product(chip, sized(queries, keys, head, heads), e);
  if (part == "A_mul_V") return product(chip, sized(queries, head, keys, heads), e);
  if (part == "Wo_proj") return product(chip, sized(tokens, hidden, hidden / tp), e);
  if (part == "W1_proj") return product(chip, sized(tokens, kFfn * hidden / tp, hidden), e);
  if (part == "W2_proj") return product(chip, sized(tokens, hidden, kFfn * hidden / tp), e);
  if (part == "Softmax") return reduction(chip, Kind::kSoftmax, heads * queries, keys, e);
  if (part == "GeLU") return reduction(chip, Kind::kPointwise, tokens, kFfn * hidden / tp, e);
  if (part.starts_with("LayerNorm")) return reduction(chip, Kind::kNorm, tokens, hidden, e);
  if (part.starts_with("AllReduce"))
    return all_reduce_time(chip, static_cast<int>(tp), Bytes(tokens * hidden * e)).value();
  return {};
}

std::optional<double> operator_time(const CoreChip& chip, const LlmCompassRow& row) {
  using Kind = ChipRows::Kind;
  const std::vector<double> s = sizes_of(row);
  const double e = element_bytes(row);
  if (row.item == "allreduce") return all_reduce_time(chip, row.devices, Bytes(s[0])).value();
  if (row.item == "matmul" && s.size() == 3) return product(chip, sized(s[0], s[2], s[1]), e);
  if (row.item == "gelu") return reduction(chip, Kind::kPointwise, 1, s[0], e);
  if (s.size() != 2) return {};
  if (row.item == "softmax") return reduction(chip, Kind::kSoftmax, s[0], s[1], e);
  if (row.item == "layernorm") return reduction(chip, Kind::kNorm, s[0], s[1], e);
  return {};
}

std::optional<double> area(const CoreChip& chip, const std::string& part) {
  const ChipArea a = area_of(chip);
  if (part == "cores") return a.cores;
  if (part == "global_buffer") return a.l2;
  if (part == "memory_control") return a.memory_control;
  if (part == "memory_phy") return a.memory_phy;
  if (part == "off_chip_interconnect_phy") return a.link_phy;
  if (part == "off_chip_interconnect_control") return a.link_control;
  return {};
}

struct Sum {
  double measured = 0, predicted = 0, llmcompass = 0;
  bool peer = true;
};

ValidationRow row_of(const std::string& metric, const std::string& item, const LlmCompassRow& from,
                     double measured, double predicted) {
  ValidationRow r;
  r.by = {{"table", kTable}, {"metric", metric}, {"operator", item}, {"device", from.device}};
  r.row = from.row;
  r.what = fmt::format("{} {} on {} x{}", item, from.shape, from.device, from.devices);
  r.measured = measured;
  r.predicted = r.low50 = r.high50 = r.low90 = r.high90 = predicted;
  r.origin = Origin::kAnalytical;
  return r;
}

}  // namespace

void judge_llmcompass(const std::filesystem::path& file, const Bundle& bundle,
                      ValidationReport& report) {
  std::map<std::string, std::optional<CoreChip>> chips;
  std::map<std::pair<std::string, std::string>, std::pair<Sum, LlmCompassRow>> layers;
  for (const LlmCompassRow& row : read_llmcompass(file)) {
    const auto refuse = [&](const std::string& why) { report.refused.push_back({row.row, why}); };
    const std::string id = row.device == "A100" ? "a100-like" : "mi210-like";
    if (row.device != "A100" && row.device != "MI210") {
      refuse(fmt::format("no chip of the catalog describes {}", row.device));
      continue;
    }
    std::optional<CoreChip>& chip = chips[id];
    if (!chip) chip = find_core_chip(id, bundle);
    if (!chip) throw InputError(fmt::format("catalog/accelerators/{}.yaml: cannot be read", id));
    const std::size_t colon = row.item.find(':');
    const std::string item = row.item.substr(0, colon);
    const bool is_layer = row.kind == "layer" && colon != std::string::npos;
    const std::optional<double> predicted = row.kind == "area" ? area(*chip, row.item)
                                            : is_layer
                                                ? layer_part(*chip, row, row.item.substr(colon + 1))
                                                : operator_time(*chip, row);
    if (!predicted) {
      refuse(fmt::format("{} is not modelled", row.item));
      continue;
    }
    if (row.measured <= 0) {
      refuse("a measured 0 has no relative error");
      continue;
    }
    ValidationRow r =
        row_of(row.kind == "area" ? "area_mm2" : "latency_s", item, row, row.measured, *predicted);
    if (row.llmcompass) r.peers["LLMCompass"] = *row.llmcompass;
    if (row.llmcompass_roofline) r.peers["roofline"] = *row.llmcompass_roofline;
    report.rows.push_back(std::move(r));
    if (!is_layer) continue;
    auto& [sum, first] = layers[{item, row.device}];
    if (sum.measured == 0) first = row;
    sum.measured += row.measured, sum.predicted += *predicted;
    sum.peer &= row.llmcompass.has_value();
    sum.llmcompass += row.llmcompass.value_or(0);
  }
  for (const auto& [key, value] : layers) {
    const auto& [sum, first] = value;
    ValidationRow r = row_of("sum_of_parts_s", key.first, first, sum.measured, sum.predicted);
    if (sum.peer) r.peers["LLMCompass"] = sum.llmcompass;
    report.rows.push_back(std::move(r));
  }
}

}  // namespace orrery
