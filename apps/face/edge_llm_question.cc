#include "apps/face/edge_llm_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery::face {
namespace {

using Json = nlohmann::ordered_json;

Bytes bytes_of(const std::string& text, const char* flag) {
  if (text.empty()) return {};
  const auto value = parse_quantity(Dimension::kBytes, text);
  if (!value || *value <= 0)
    throw InputError(fmt::format("{}: expected a size such as 16GiB, got '{}'", flag, text));
  return Bytes(*value);
}

LlmQuestion question_of(const EdgeLlmQuestion& o) {
  LlmQuestion q;
  q.backend = o.backend, q.prompt = o.prompt, q.generate = o.generate, q.depth = o.depth;
  q.ubatch = o.ubatch, q.devices = o.count, q.memory = bytes_of(o.memory, "--memory");
  q.flash_attention = o.flash_attention;
  if (!o.draft.empty()) q.draft_tokens = o.draft_tokens, q.acceptance = o.acceptance;
  return q;
}

LlmFile file_of(const std::string& model, const std::string& format, const EdgeLlmQuestion& o,
                const Bundle& bundle) {
  const LlmFile file(load_model(model, bundle), gguf_format(format));
  const Bytes size = bytes_of(o.file_size, "--file-size");
  return size > Bytes(0) ? file.of_size(size) : file;
}

// A table with the columns model, format, and prefill_tok_s, decode_tok_s or both; prompt, generate
// and depth where they differ from the question's.
std::vector<LlmMeasured> read_measured(const EdgeLlmQuestion& o, std::deque<LlmFile>& files,
                                       const Bundle& bundle) {
  std::vector<LlmMeasured> all;
  if (o.measured.empty()) return all;
  CsvReader csv{std::filesystem::path(o.measured)};
  const int model = csv.column("model"), format = csv.column("format");
  const auto of = [&](const char* name, double otherwise) {
    const auto column = csv.find(name);
    return column ? csv.optional_number(*column).value_or(otherwise) : otherwise;
  };
  while (csv.next()) {
    files.push_back(
        file_of(std::string(csv.text(model)), std::string(csv.text(format)), {}, bundle));
    LlmMeasured m{&files.back(), question_of(o), TokensPerSecond(of("prefill_tok_s", 0)),
                  TokensPerSecond(of("decode_tok_s", 0))};
    m.question.prompt = of("prompt", o.prompt), m.question.generate = of("generate", o.generate);
    m.question.depth = of("depth", o.depth);
    if (std::max(m.prefill, m.decode) <= TokensPerSecond(0))
      csv.fail(model, "expected a positive prefill_tok_s or decode_tok_s");
    all.push_back(m);
  }
  return all;
}

double gib(Bytes b) { return b.value() / gibibytes(1).value(); }

// The finest format whose file fits in place of the asked one, the longest context that fits, or
// how many devices it takes.
std::string what_fits(const EdgeLlmLine& line, const LlmChip& chip, const LlmQuestion& q,
                      const Bundle& bundle) {
  if (line.answer.longest_context)
    return fmt::format("a context of {:.0f} tokens would fit", *line.answer.longest_context);
  const Architecture model = load_model(line.model, bundle);
  const LlmMemory memory{q.memory, q.devices, q.depth + q.prompt + q.generate, q.ubatch};
  std::optional<LlmFile> best;
  for (const GgufFormat& f : gguf_formats()) {
    const LlmFile file(model, f);
    if (memory_fit(file, chip, memory).fits() && (!best || file.size() > best->size())) best = file;
  }
  if (best) return fmt::format("{} would fit ({:.1f} GiB)", best->format().name, gib(best->size()));
  return fmt::format("{} such devices would have the memory",
                     int(line.answer.fit.needed() / (line.answer.fit.limit / q.devices)) + 1);
}

std::string refusal(const EdgeLlmLine& line, const std::string& instead) {
  const LlmFit& f = line.answer.fit;
  return fmt::format(
      "{} in {} does not fit on {}: {:.1f} GiB (weights {:.1f}, cache {:.1f}, buffers {:.1f}) of "
      "{:.1f} GiB; {}",
      line.model, line.format, line.device, gib(f.needed()), gib(f.weights), gib(f.cache),
      gib(f.buffers), gib(f.limit), instead);
}

Json json_of(const EdgeLlmLine& line, bool explain) {
  const LlmAnswer& a = line.answer;
  const auto rate = [](const Estimate<TokensPerSecond>& e) {
    return Json{{"value", e.value.value()},
                {"low90", e.quantile(0.05).value()},
                {"high90", e.quantile(0.95).value()},
                {"tier", to_text(e.origin)}};
  };
  Json j = {{"model", line.model},
            {"format", line.format},
            {"device", line.device},
            {"fits", a.fit.fits()},
            {"memory_gib", gib(a.fit.needed())},
            {"memory_limit_gib", gib(a.fit.limit)},
            {"prefill_tok_s", rate(a.prefill)},
            {"decode_tok_s", rate(a.decode)},
            {"ttft_ms", a.prompt_time.value.value() * 1e3},
            {"notes", a.notes}};
  if (a.longest_context) j["longest_context"] = *a.longest_context;
  if (a.token_energy_limit) j["joules_per_token_at_most"] = a.token_energy_limit->value();
  if (!explain) return j;
  for (std::size_t t = 0; t < kLlmTerms; ++t) {
    const std::string name(to_text(static_cast<LlmTerm>(t)));
    j["prompt_ms"][name] = a.prompt_terms[t] / milliseconds(1);
    j["token_ms"][name] = a.token_terms[t] / milliseconds(1);
  }
  return j;
}

}  // namespace

bool is_edge_llm(const std::string& name, const Bundle& bundle) {
  const std::filesystem::path path(name);
  if (path.extension() == ".onnx" || path.extension() == ".param") return false;
  const auto networks = edge_model_names(bundle);
  if (std::find(networks.begin(), networks.end(), name) != networks.end()) return false;
  try {
    load_model(name, bundle);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

std::vector<EdgeLlmLine> answer(const EdgeLlmQuestion& o, const Bundle& bundle) {
  const LlmChips chips(bundle);
  const LlmLaws laws = read_llm_laws(bundle);
  const LlmQuestion question = question_of(o);
  std::deque<LlmFile> files;
  const std::vector<LlmMeasured> measured = read_measured(o, files, bundle);
  std::vector<std::string> devices = o.devices;
  if (devices == std::vector<std::string>{"all"}) {
    devices.clear();
    for (const LlmChip& c : chips.all()) devices.push_back(c.id);
  }
  std::vector<EdgeLlmLine> lines;
  std::vector<std::string> refusals;
  for (const std::string& model : o.models) {
    for (const std::string& format : o.formats) {
      const LlmFile file = file_of(model, format, o, bundle);
      std::optional<LlmFile> draft;
      if (!o.draft.empty()) draft = file_of(o.draft, format, {}, bundle);
      for (const std::string& id : devices) {
        const LlmChip& chip = chips.chip(id);
        LlmPredictor predictor(laws, chip);
        predictor.calibrate(measured);
        lines.push_back({file.model(), std::string(file.format().name), id,
                         predictor.answer(file, question, draft ? &*draft : nullptr)});
        if (!lines.back().answer.fit.fits())
          refusals.push_back(
              refusal(lines.back(), what_fits(lines.back(), chip, question, bundle)));
      }
    }
  }
  if (refusals.size() == lines.size()) throw Infeasible(refusals.front());
  return lines;
}

std::string json_text(const std::vector<EdgeLlmLine>& lines, bool explain) {
  Json all = Json::array();
  for (const EdgeLlmLine& l : lines) all.push_back(json_of(l, explain));
  return Json{{"answers", all}}.dump(1) + "\n";
}

}  // namespace orrery::face
