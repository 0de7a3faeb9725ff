#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/edge/llm/llm_memory.h"
#include "orrery/scenario/kinds/edge/edge_points.h"

namespace orrery {
namespace {

LlmQuestion llm_question_of(const EdgeQuestion& e) {
  LlmQuestion q;
  q.backend = e.backend;
  q.prompt = double(e.prompt), q.generate = double(e.generate);
  q.depth = double(e.depth), q.ubatch = double(e.ubatch);
  q.devices = e.devices, q.memory = e.memory.value_or(Bytes(0));
  q.flash_attention = e.flash_attention;
  if (!e.draft.empty()) q.draft_tokens = e.draft_tokens, q.acceptance = e.acceptance;
  return q;
}

// A table with the columns model, format, and prefill_tok_s, decode_tok_s or both; prompt, generate
// and depth where they differ from the question's. `files` keeps what the rows refer to.
std::vector<LlmMeasured> read_measured_rates(Facts& facts, const EdgeQuestion& e,
                                             std::deque<LlmFile>& files) {
  std::vector<LlmMeasured> all;
  if (e.measured.empty()) return all;
  CsvReader csv{std::filesystem::path(e.measured)};
  const int model = csv.column("model"), format = csv.column("format");
  const auto of = [&](const char* name, double otherwise) {
    const auto column = csv.find(name);
    return column ? csv.optional_number(*column).value_or(otherwise) : otherwise;
  };
  while (csv.next()) {
    files.emplace_back(facts.architecture(std::string(csv.text(model))),
                       gguf_format(csv.text(format)));
    LlmMeasured m{&files.back(), llm_question_of(e), TokensPerSecond(of("prefill_tok_s", 0)),
                  TokensPerSecond(of("decode_tok_s", 0))};
    m.question.prompt = of("prompt", m.question.prompt);
    m.question.generate = of("generate", m.question.generate);
    m.question.depth = of("depth", m.question.depth);
    if (std::max(m.prefill, m.decode) <= TokensPerSecond(0))
      csv.fail(model, "expected a positive prefill_tok_s or decode_tok_s");
    all.push_back(m);
  }
  return all;
}

double gib_of(Bytes b) { return b.value() / gibibytes(1).value(); }

// The finest format whose file fits in place of the asked one, the longest context that fits, or
// how many devices it takes.
std::string what_would_fit(Facts& facts, const EdgeQuestion& e, const LlmChip& chip,
                           const LlmAnswer& answer) {
  if (answer.longest_context)
    return fmt::format("a context of {:.0f} tokens would fit", *answer.longest_context);
  const LlmQuestion q = llm_question_of(e);
  const LlmMemory memory{q.memory, q.devices, q.depth + q.prompt + q.generate, q.ubatch};
  std::optional<LlmFile> best;
  for (const GgufFormat& f : gguf_formats()) {
    const LlmFile file(facts.architecture(e.network), f);
    if (memory_fit(file, chip, memory).fits() && (!best || file.size() > best->size())) best = file;
  }
  if (best)
    return fmt::format("{} would fit ({:.1f} GiB)", best->format().name, gib_of(best->size()));
  return fmt::format("{} such devices would have the memory",
                     int(answer.fit.needed() / (answer.fit.limit / q.devices)) + 1);
}

// The time of a token at a rate.
Metric metric_of_pause(std::string name, const Estimate<TokensPerSecond>& e) {
  const auto ms = [](TokensPerSecond rate) { return 1e3 / rate.value(); };
  return {.name = std::move(name),
          .unit = "ms",
          .value = ms(e.value),
          .low50 = ms(e.quantile(0.75)),
          .high50 = ms(e.quantile(0.25)),
          .low90 = ms(e.quantile(0.95)),
          .high90 = ms(e.quantile(0.05)),
          .origin = e.origin};
}

// A row for each term of a time. They have the relative error of their sum.
void add_terms(const LlmTimes& terms, const char* phase, double sigma, Origin origin, Point& p) {
  const Seconds whole = total(terms);
  for (std::size_t t = 0; t < kLlmTerms; ++t) {
    if (terms[t] <= Seconds(0)) continue;
    KernelRow row;
    row.phase = phase;
    row.name = row.part = to_text(static_cast<LlmTerm>(t));
    const LlmTerm term = static_cast<LlmTerm>(t);
    row.bound = is_bounded(term)                                     ? "memory"
                : term == LlmTerm::kStart                            ? "launch"
                : term == LlmTerm::kHop || term == LlmTerm::kOverlap ? "network"
                                                                     : "compute";
    row.time = {terms[t], sigma, 0, origin};
    row.share = terms[t] / whole;
    p.kernels.push_back(std::move(row));
  }
}

// Memory of one device.
void add_memory(const LlmFit& fit, int devices, Point& p) {
  const double part = 1.0 / devices;
  p.memory = {{"weights", fit.weights * part},
              {"kv_cache", fit.cache * part},
              {"buffers", fit.buffers * part}};
  p.memory_capacity = fit.limit * part;
  p.memory_of = "device";
  p.metrics.push_back(exact_metric("memory", "GB per device", fit.needed().value() * part / 1e9));
}

Point point_of_llm(const LlmAnswer& a, const EdgeQuestion& e, bool breakdown) {
  Point p;
  if (a.fit.fits()) {
    p.metrics = {metric("ttft", "ms", a.prompt_time, 1e-3), metric_of_pause("tpot", a.decode),
                 metric("prefill_throughput", "tokens/s", a.prefill, 1),
                 metric("output_throughput", "tokens/s", a.decode, 1)};
  }
  add_memory(a.fit, e.devices, p);
  if (a.longest_context)
    p.metrics.push_back(exact_metric("max_context", "tokens", *a.longest_context));
  if (a.fit.fits() && a.token_energy_limit)
    p.metrics.push_back(exact_metric("energy_per_token_limit", "J", a.token_energy_limit->value()));
  p.notes = a.notes;
  if (breakdown && a.fit.fits()) {
    add_terms(a.prompt_terms, "prefill", a.prompt_time.sigma(), a.prompt_time.origin, p);
    add_terms(a.token_terms, "decode", a.decode.sigma(), a.decode.origin, p);
  }
  return p;
}

std::string misfit_of(const LlmFit& f, const std::string& what) {
  return fmt::format("{}: {:.1f} GiB (weights {:.1f}, cache {:.1f}, buffers {:.1f}) of {:.1f} GiB",
                     what, gib_of(f.needed()), gib_of(f.weights), gib_of(f.cache),
                     gib_of(f.buffers), gib_of(f.limit));
}

}  // namespace

std::vector<Point> answer_edge_llm(Facts& facts, EdgeTables& tables, const EdgeQuestion& e,
                                   bool breakdown) {
  const LlmQuestion question = llm_question_of(e);
  std::deque<LlmFile> files;
  const std::vector<LlmMeasured> measured = read_measured_rates(facts, e, files);
  const GgufFormat& format = gguf_format(e.format);
  LlmFile file(facts.architecture(e.network), format);
  if (e.file_size) file = file.of_size(*e.file_size);
  std::optional<LlmFile> draft;
  if (!e.draft.empty()) draft.emplace(facts.architecture(e.draft), format);
  std::vector<const LlmChip*> chips;
  if (e.device == "all") {
    for (const LlmChip& c : tables.chips().all()) chips.push_back(&c);
  } else {
    chips.push_back(&tables.chip(e.device));
  }
  std::vector<Point> points;
  for (const LlmChip* chip : chips) {
    LlmPredictor predictor(tables.llm_laws(), *chip);
    predictor.calibrate(measured);
    const LlmAnswer a = predictor.answer(file, question, draft ? &*draft : nullptr);
    Point p = point_of_llm(a, e, breakdown);
    p.at = {{"network", file.model()}, {"device", chip->id}, {"format", file.format().name}};
    if (!a.fit.fits()) {
      const std::string what =
          fmt::format("{} in {} does not fit on {}", file.model(), file.format().name, chip->id);
      p.feasibility = {false, misfit_of(a.fit, what) + "; " + what_would_fit(facts, e, *chip, a)};
    }
    points.push_back(std::move(p));
  }
  return points;
}

}  // namespace orrery
