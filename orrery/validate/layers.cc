#include "orrery/validate/layers.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/kernel_model.h"
#include "orrery/model/catalog.h"
#include "orrery/scenario/deployment.h"
#include "orrery/step/step_model.h"
#include "orrery/workload/program.h"

namespace orrery {
namespace {

constexpr double kMicro = 1e-6;

// The tables' names of layers, and the op of a program that is the same work; `fits`: some of the
// rows fit the elementwise surface.
struct LayerName {
  std::string_view layer, op;
  bool fits = false;
};
constexpr std::array<LayerName, 22> kLayers = {{
    {"qkv_proj", "qkv_proj"},
    {"o_proj", "o_proj"},
    {"gate_up_proj", "gate_up_proj"},
    {"down_proj", "down_proj"},
    {"lm_head", "lm_head"},
    {"embedding", "embedding"},
    {"sampler", "sample"},
    {"layernorm", "add_norm", true},
    {"final_layernorm", "final_norm", true},
    {"qk_norm", "qk_norm", true},
    {"rotary_emb", "rope", true},
    {"act_fn", "activation", true},
    {"attn_pre_proj", "qkv_proj"},
    {"attn_post_proj", "o_proj"},
    {"mlp_up_proj", "gate_up_proj"},
    {"mlp_up_proj", "up_proj"},
    {"mlp_down_proj", "down_proj"},
    {"mlp_act", "activation"},
    {"attn_rope", "rope"},
    {"input_layernorm", "final_norm"},
    {"post_attention_layernorm", "final_norm"},
    {"emb", "embedding"},
}};

// Columns that both tables have.
struct Row {
  std::string source, gpu, model, dtype;
  int tp = 1;
  double time_us = 0;
};

class RowReader {
 public:
  explicit RowReader(CsvReader& csv)
      : csv_(csv),
        source_(csv.column("source")),
        gpu_(csv.column("gpu")),
        model_(csv.column("model")),
        dtype_(csv.column("dtype")),
        tp_(csv.column("tp")),
        time_(csv.column("time_us")) {}
  Row read() const {
    auto text = [this](int column) { return std::string(csv_.text(column)); };
    return {text(source_),
            text(gpu_),
            text(model_),
            text(dtype_),
            static_cast<int>(csv_.integer(tp_)),
            csv_.number(time_)};
  }

 private:
  CsvReader& csv_;
  int source_, gpu_, model_, dtype_, tp_, time_;
};

// What a row is about, kept between rows: tables are sorted by it.
class Subject {
 public:
  explicit Subject(const Bundle& bundle) : catalog_(bundle), bundle_(bundle) {}

  // Throws what the loaders and check_plan throw.
  void set(const Row& row) {
    const std::string key = fmt::format("{}|{}|{}|{}", row.gpu, row.model, row.dtype, row.tp);
    if (key == key_) return;
    key_.clear();
    gpu_ = catalog_.gpu(row.gpu);
    model_ = load_model(row.model, bundle_);
    plan_.tp = row.tp;
    check_plan(model_, plan_);
    Scenario scenario;
    scenario.model = model_.id;
    scenario.hardware.gpu = gpu_->id;
    const Deployment d = make_deployment(scenario, model_, *gpu_, load_engine("vllm", bundle_));
    engine_ = d.engine;
    precision_.activations = precision_.attention = precision_.kv_cache =
        row.dtype == "fp16" ? Dtype::kFp16 : Dtype::kBf16;
    precision_.weights = precision_.lm_head = plain_format(precision_.activations);
    kernels_ = make_kernel_model(*gpu_, d.classes, bundle_);
    key_ = key;
  }

  const Gpu& gpu() const { return *gpu_; }
  const EngineProfile& engine() const { return engine_; }
  // The op `name` in a step of one group of sequences; nothing where the step has none.
  std::optional<Op> op(std::string_view name, const SequenceGroup& group) const {
    for (const ProgramOp& p : forward_program(model_, plan_, precision_, {{group}}).ops) {
      if (p.name == name) return p.op;
    }
    return std::nullopt;
  }
  Estimate<Seconds> time(const Op& op) const { return kernels_->predict(op).time; }

 private:
  const Catalog catalog_;
  const Bundle& bundle_;
  std::string key_;
  std::optional<Gpu> gpu_;
  Architecture model_;
  ParallelPlan plan_;
  Precision precision_;
  EngineProfile engine_;
  std::unique_ptr<KernelModel> kernels_;
};

void add(ValidationReport& report, const Row& row, const Subject& subject, std::string_view table,
         const std::string& metric, bool fitted, const std::string& reference,
         const Estimate<Seconds>& e) {
  const auto us = [&e](double p) { return e.quantile(p).value() / kMicro; };
  report.rows.push_back({{{"table", std::string(table)},
                          {"metric", metric},
                          {"system", subject.gpu().id},
                          {"engine", row.source},
                          {"fitted", fitted ? "yes" : "no"}},
                         reference,
                         row.time_us,
                         e.value.value() / kMicro,
                         us(0.25),
                         us(0.75),
                         us(0.05),
                         us(0.95),
                         e.origin});
}

void read_layers(CsvReader& csv, Subject& subject, ValidationReport& report) {
  const RowReader common(csv);
  const int layer = csv.column("layer"), unit = csv.column("unit"), count = csv.column("count");
  while (csv.next()) {
    const Row row = common.read();
    const std::string name(csv.text(layer)), reference = fmt::format("layers:{}", csv.line());
    SequenceGroup group;
    if (csv.text(unit) == "sequences") {
      group.sequences = csv.integer(count);
      group.past = 1;
    } else {
      group.new_tokens = csv.integer(count);
    }
    try {
      subject.set(row);
      std::optional<Op> op;
      bool fitted = false;
      for (const LayerName& known : kLayers) {
        if (known.layer != name || op) continue;
        op = subject.op(known.op, group);
        fitted = known.fits && row.source == "LLMServingSim";
      }
      if (!op) throw NoData(fmt::format("no op of a step is a layer '{}'", name));
      add(report, row, subject, "layers", name, fitted, reference, subject.time(*op));
    } catch (const std::runtime_error& e) {
      report.refused.push_back({reference, e.what()});
    }
  }
}

void read_attention(CsvReader& csv, Subject& subject, ValidationReport& report) {
  const RowReader common(csv);
  const int chunk = csv.column("prefill_chunk"), past = csv.column("kv_prefill"),
            decodes = csv.column("n_decode"), keys = csv.column("kv_decode");
  while (csv.next()) {
    const Row row = common.read();
    const std::string reference = fmt::format("attention_mixed:{}", csv.line());
    const SequenceGroup prefill{1, csv.integer(chunk), csv.number(past)},
        decode{csv.integer(decodes), 1, csv.number(keys)};
    try {
      subject.set(row);
      const bool mixed = prefill.new_tokens > 0 && decode.sequences > 0;
      EstimateSum<Seconds> sum;
      for (const SequenceGroup& group : {prefill, decode}) {
        if (group.sequences == 0 || group.new_tokens == 0) continue;
        const auto op = subject.op(group.decoding() ? "attn_decode" : "attn_prefill", group);
        if (!op) throw NoData("no softmax attention in the model");
        const auto* one_token = std::get_if<DecodeAttention>(&*op);
        const double factor =
            mixed && one_token ? mixed_decode_factor(subject.engine().kernels, *one_token) : 1;
        sum.add(Family::kAttention, subject.time(*op).scaled(factor));
      }
      add(report, row, subject, "attention_mixed",
          mixed                    ? "mixed"
          : prefill.new_tokens > 0 ? "prefill"
                                   : "decode",
          mixed, reference, sum.total());
    } catch (const std::runtime_error& e) {
      report.refused.push_back({reference, e.what()});
    }
  }
}

}  // namespace

ValidationReport validate_layers(const std::filesystem::path& dir, const std::string& table,
                                 const Bundle& bundle) {
  ValidationReport report;
  report.area = "layers";
  Subject subject(bundle);
  const std::vector<std::string> tables = {"layers", "attention_mixed"};
  bool found = false;
  for (const std::string& name : tables) {
    const std::filesystem::path path = dir / (name + ".csv.gz");
    if ((!table.empty() && table != name) || !std::filesystem::exists(path)) continue;
    found = true;
    CsvReader csv(path);
    name == "layers" ? read_layers(csv, subject, report) : read_attention(csv, subject, report);
  }
  if (!found) {
    throw InputError(fmt::format("{}: none of the tables layers, attention_mixed{}", dir.string(),
                                 table.empty() ? "" : did_you_mean(table, tables)));
  }
  return report;
}

}  // namespace orrery
