#include "orrery/validate/energy/kernel_power_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/validate/energy/call_reader.h"

namespace orrery {
namespace {

constexpr const char* kFile = "kernel_power.csv.gz";

// The table of kernel times that holds calls of an op of this table, and its columns.
struct TimeTable {
  std::string_view op, table;
  std::vector<std::string_view> columns;
};

const std::vector<TimeTable>& time_tables() {
  static const std::vector<std::string_view>
      kAttention = {"attn_dtype", "kv_dtype", "batch", "heads", "kv_heads", "head_dim", "window"},
      kLatent = {"table",   "model", "phase", "mla_dtype", "kv_dtype",  "heads",
                 "tp_size", "batch", "isl",   "past",      "gemm_type", "compress_ratio"},
      kLinear = {"table",   "phase", "model",   "d_model",  "d_conv", "k_heads", "k_dim",
                 "v_heads", "v_dim", "d_state", "n_groups", "batch",  "seq"},
      kBmm = {"op", "dtype", "tokens", "heads"}, kQuantise = {"op", "dtype", "m", "k"};
  const auto with = [](std::vector<std::string_view> columns,
                       std::initializer_list<std::string_view> more) {
    columns.insert(columns.end(), more);
    return columns;
  };
  static const std::vector<TimeTable> kTables = {
      {"gemm", "gemm", {"dtype", "m", "n", "k"}},
      {"context_attention", "attention_prefill", with(kAttention, {"isl", "past"})},
      {"generation_attention", "attention_decode", with(kAttention, {"kv_len"})},
      {"encoder_attention", "attention_encoder", {"batch", "heads", "head_dim", "isl"}},
      {"moe",
       "moe",
       {"dtype", "hidden", "inter", "topk", "experts", "tp", "ep", "distribution", "tokens"}},
      {"mla_context", "mla_kernel", kLatent},
      {"mla_generation", "mla_kernel", kLatent},
      {"mla_context_module", "mla_module", kLatent},
      {"mla_generation_module", "mla_module", kLatent},
      {"mla_gen_pre", "mla_bmm", kBmm},
      {"mla_gen_post", "mla_bmm", kBmm},
      {"dsa_context_module", "sparse_attention_module", kLatent},
      {"dsa_generation_module", "sparse_attention_module", kLatent},
      {"gdn", "linear_attention", kLinear},
      {"mamba2", "linear_attention", kLinear},
      {"scale_matrix", "quantize", kQuantise},
  };
  return kTables;
}

// The names that the tables of kernel times have for keys of `shape`.
std::string_view renamed(std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kNames = {
      {{"batch_size", "batch"},    {"num_heads", "heads"},  {"num_key_value_heads", "kv_heads"},
       {"window_size", "window"},  {"step", "past"},        {"num_tokens", "tokens"},
       {"hidden_size", "hidden"},  {"inter_size", "inter"}, {"num_experts", "experts"},
       {"moe_tp_size", "tp"},      {"moe_ep_size", "ep"},   {"seq_len", "seq"},
       {"num_k_heads", "k_heads"}, {"head_k_dim", "k_dim"}, {"num_v_heads", "v_heads"},
       {"head_v_dim", "v_dim"},    {"model_name", "model"}, {"nheads", "v_heads"},
       {"chunk_size", "chunk"},    {"num_layers", "layers"}}};
  for (const auto& [theirs, ours] : kNames) {
    if (theirs == key) return ours;
  }
  return key;
}

using Cells = std::map<std::string, std::string, std::less<>>;

Cells cells_of(std::string_view shape) {
  Cells cells;
  while (!shape.empty()) {
    const std::size_t end = std::min(shape.find(';'), shape.size());
    const std::string_view pair = shape.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos)
      cells[std::string(renamed(pair.substr(0, equals)))] = pair.substr(equals + 1);
    shape.remove_prefix(std::min(end + 1, shape.size()));
  }
  return cells;
}

// Adds the cells that the tables of kernel times have and `shape` has not.
void complete(std::string_view op, std::string_view dtype, Cells& cells) {
  const std::size_t slash = dtype.find('/');
  cells.emplace("dtype", dtype);
  cells.emplace("attn_dtype", dtype.substr(0, slash));
  cells.emplace("mla_dtype", dtype.substr(0, slash));
  cells.emplace("kv_dtype", slash == std::string_view::npos ? dtype : dtype.substr(slash + 1));
  cells.emplace("op", op);
  cells.emplace("table", op == "mla_context"      ? "context_mla"
                         : op == "mla_generation" ? "generation_mla"
                                                  : op);
  cells.emplace("phase", op.find("generation") != std::string_view::npos ? "decode" : "prefill");
  if (op == "mamba2") cells["v_dim"] = cells["head_dim"];
  if (op == "generation_attention")
    cells["kv_len"] = std::to_string(std::stoll(cells["isl"]) + std::stoll(cells["past"]));
  // All models of the module tables have one shape, and the table of times reads this one.
  if (op.starts_with("mla_") && op.ends_with("_module")) cells["model"] = "deepseek-ai/DeepSeek-V3";
}

constexpr std::string_view kCommon = "system,framework,version,kernel_source";
constexpr std::string_view kReading = "latency_us,power_w,limit_w,line";

// The rows of kernel_power as texts of tables of kernel times.
TimeTexts as_time_tables(const std::filesystem::path& file,
                         std::map<std::string, std::size_t>& refused) {
  TimeTexts texts;
  CsvReader csv(file);
  const int system = csv.column("system"), framework = csv.column("framework"),
            version = csv.column("version"), op = csv.column("op"),
            source = csv.column("kernel_source"), dtype = csv.column("dtype"),
            shape = csv.column("shape"), latency = csv.column("latency_ms"),
            power = csv.column("power_w"), limit = csv.column("power_limit_w");
  while (csv.next()) {
    const std::string_view name = csv.text(op);
    const auto& all = time_tables();
    const auto table =
        std::find_if(all.begin(), all.end(), [&](const TimeTable& t) { return t.op == name; });
    if (table == all.end()) {
      ++refused[fmt::format("no kernel family has calls of {}", name)];
      continue;
    }
    Cells cells = cells_of(csv.text(shape));
    complete(name, csv.text(dtype), cells);
    std::string& text = texts[{std::string(table->table), ""}];
    if (text.empty())
      text = fmt::format("{},{},{}\n", kCommon, fmt::join(table->columns, ","), kReading);
    // The name of the kernel decides nothing here, except that it tells convolutions from the
    // recurrences of their mixer.
    const std::string_view kernel =
        csv.text(source).starts_with("causal_conv1d") ? csv.text(source) : "";
    text += fmt::format("{},{},{},{}", csv.text(system), csv.text(framework), csv.text(version),
                        kernel);
    for (const std::string_view column : table->columns) {
      const auto cell = cells.find(column);
      text += fmt::format(",{}", cell == cells.end() ? "" : cell->second);
    }
    text += fmt::format(",{},{},{},{}\n", csv.number(latency) * 1e3, csv.text(power),
                        csv.text(limit), csv.line());
  }
  return texts;
}

}  // namespace

std::vector<KernelPowerRow> read_kernel_power(const std::filesystem::path& dir,
                                              const Catalog& catalog, ValidationReport& report) {
  std::vector<KernelPowerRow> rows;
  if (!has_table(dir / kFile, report)) return rows;
  std::map<std::string, std::size_t> refused;
  const auto texts = as_time_tables(dir / kFile, refused);
  const std::size_t unread = CallReader(catalog).read(texts, "kernel_power.csv", false, rows);
  if (unread > 0)
    refused["the fits of kernel times leave the call out as unsound (orrery/kernel/tables)"] =
        unread;
  for (const auto& [why, count] : refused) report.refused.push_back({kFile, why, count});
  return rows;
}

}  // namespace orrery
