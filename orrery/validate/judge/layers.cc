#include "orrery/validate/judge/layers.h"

#include <fmt/format.h>

#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/step/step_model.h"
#include "orrery/validate/rows/layer_rows.h"

namespace orrery {
namespace {

constexpr double kMicro = 1e-6;

// The figure and the row of the report.
struct LayerFigure {
  const char* table;
  std::string metric;
  bool fitted;
  std::string reference, what;
};

void add(ValidationReport& report, const LayerRow& row, const LayerSubject& subject,
         LayerFigure figure, const Estimate<Seconds>& e) {
  const auto us = [&e](double p) { return e.quantile(p).value() / kMicro; };
  report.rows.push_back({{{"table", figure.table},
                          {"metric", figure.metric},
                          {"system", subject.gpu().id},
                          {"engine", row.source},
                          {"fitted", figure.fitted ? "yes" : "no"}},
                         figure.reference,
                         row.time_us,
                         e.value.value() / kMicro,
                         us(0.25),
                         us(0.75),
                         us(0.05),
                         us(0.95),
                         e.origin,
                         figure.what,
                         row.source});
}

std::string place_of(const LayerRow& row, const LayerSubject& subject) {
  return fmt::format("{} {} on {}, tp {}", row.model, row.dtype, subject.gpu().id, row.tp);
}

void read_layers(CsvReader& csv, LayerSubject& subject, ValidationReport& report) {
  const LayerRowReader common(csv);
  const int layer = csv.column("layer"), unit = csv.column("unit"), count = csv.column("count");
  while (csv.next()) {
    const LayerRow row = common.read();
    const std::string name(csv.text(layer)), reference = fmt::format("layers:{}", csv.line());
    const SequenceGroup group = layer_group(csv.text(unit), csv.integer(count));
    try {
      subject.set(row);
      std::optional<Op> op;
      bool fitted = false;
      for (const LayerName& known : layer_names()) {
        if (known.layer != name || op) continue;
        op = subject.op(known.op, group);
        fitted = known.fits && row.source == "LLMServingSim";
      }
      if (!op) throw NoData(fmt::format("no op of a step is a layer '{}'", name));
      add(report, row, subject,
          {"layers", name, fitted, reference,
           fmt::format("{} of {}, {} {}", name, place_of(row, subject), csv.integer(count),
                       csv.text(unit))},
          subject.time(*op));
    } catch (const std::runtime_error& e) {
      report.refused.push_back({reference, e.what()});
    }
  }
}

void read_attention(CsvReader& csv, LayerSubject& subject, ValidationReport& report) {
  const LayerRowReader common(csv);
  const int chunk = csv.column("prefill_chunk"), past = csv.column("kv_prefill"),
            decodes = csv.column("n_decode"), keys = csv.column("kv_decode");
  while (csv.next()) {
    const LayerRow row = common.read();
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
      const char* metric = mixed ? "mixed" : prefill.new_tokens > 0 ? "prefill" : "decode";
      add(report, row, subject,
          {"attention_mixed", metric, mixed, reference,
           fmt::format("{}: prefill {} + {}, decode {} at {}", place_of(row, subject),
                       prefill.new_tokens, prefill.past, decode.sequences, decode.past)},
          sum.total());
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
  // The prediction does not use the measured layers themselves (layer_times.h).
  const Bundle without = bundle.replacing("layers", {});
  LayerSubject subject(without);
  const std::vector<std::string> tables = {"layers", "attention_mixed"};
  bool found = false;
  for (const std::string& name : tables) {
    const std::filesystem::path path = dir / (name + ".csv.gz");
    if ((!table.empty() && table != name) || !has_table(path, report)) continue;
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
