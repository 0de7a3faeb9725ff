#include "apps/cli/verbs/edge_llm.h"

#include <fmt/format.h>

#include "apps/cli/output/output.h"

namespace orrery::cli {
namespace {

using face::EdgeLlmLine;

double gib(Bytes b) { return b.value() / gibibytes(1).value(); }

void print_terms(const LlmAnswer& a) {
  fmt::print("\n{:<12} {:>12} {:>12}\n", "term", "prompt ms", "token ms");
  for (std::size_t t = 0; t < kLlmTerms; ++t) {
    if (a.prompt_terms[t] > Seconds(0) || a.token_terms[t] > Seconds(0))
      fmt::print("{:<12} {:>12} {:>12}\n", to_text(static_cast<LlmTerm>(t)),
                 number(a.prompt_terms[t] / milliseconds(1)),
                 number(a.token_terms[t] / milliseconds(1)));
  }
  const LlmFit& f = a.fit;
  fmt::print("memory: weights {:.2f}, cache {:.2f}, buffers {:.2f} of {:.2f} GiB\n\n",
             gib(f.weights), gib(f.cache), gib(f.buffers), gib(f.limit));
}

}  // namespace

void add_edge_llm_options(CLI::App& app, face::EdgeLlmQuestion& o) {
  const auto group = "LLMs";
  app.add_option("--format", o.formats, "GGUF formats: F16, Q8_0, Q4_K_M, ... [Q4_K_M]")
      ->delimiter(',')
      ->group(group);
  app.add_option("--backend", o.backend, "cuda, metal, rocm, vulkan, opencl, cpu [the chip's]")
      ->check(CLI::IsMember(
          {"cuda", "metal", "rocm", "vulkan", "vulkan-amdvlk", "opencl", "hexagon", "cpu"}))
      ->group(group);
  app.add_option("--prompt", o.prompt, "tokens of the prompt")->capture_default_str()->group(group);
  app.add_option("--generate", o.generate, "tokens of the answer")
      ->capture_default_str()
      ->group(group);
  app.add_option("--depth", o.depth, "tokens already in the cache")
      ->capture_default_str()
      ->group(group);
  app.add_option("--ubatch", o.ubatch, "tokens of a pass")->capture_default_str()->group(group);
  app.add_option("--devices", o.count, "equal devices, layers one after the other")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->group(group);
  app.add_option("--memory", o.memory, "of a device, such as 16GiB [the largest configuration]")
      ->group(group);
  app.add_option("--file-size", o.file_size, "of the GGUF file, where its mixture is another")
      ->group(group);
  app.add_flag("!--no-flash-attention", o.flash_attention, "attention in separate kernels")
      ->group(group);
  app.add_option("--draft", o.draft, "model that proposes tokens, in the same format")
      ->group(group);
  app.add_option("--draft-tokens", o.draft_tokens, "proposed at a time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str()
      ->group(group);
  app.add_option("--acceptance", o.acceptance, "probability that a proposal is accepted")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str()
      ->group(group);
}
void print_edge_llms(const std::vector<EdgeLlmLine>& lines, bool explain) {
  fmt::print("{:<16} {:<7} {:<18} {:>9} {:>9} {:>15} {:>6}\n", "model", "format", "device",
             "prefill/s", "decode/s", "90 %", "GiB");
  Notes notes;
  const auto cut = [](const std::string& text, std::size_t columns) {
    return text.size() > columns ? text.substr(0, columns - 2) + ".." : text;
  };
  for (const EdgeLlmLine& l : lines) {
    const LlmAnswer& a = l.answer;
    const bool fits = a.fit.fits();
    fmt::print("{:<16} {:<7} {:<18} {:>9} {:>9} {:>15} {:>6}\n", cut(l.model, 16), l.format,
               cut(l.device, 18), fits ? number(a.prefill.value.value()) : "-",
               fits ? number(a.decode.value.value()) : "no room",
               fits ? fmt::format("{} to {}", number(a.decode.quantile(0.05).value()),
                                  number(a.decode.quantile(0.95).value()))
                    : "",
               number(gib(a.fit.needed())));
    if (explain) print_terms(a);
    for (const std::string& n : a.notes) notes.add(n);
    if (fits && a.token_energy_limit)
      notes.add(
          fmt::format("{}: at most {} J for a token of the answer, at the chip's thermal "
                      "design power",
                      l.device, number(a.token_energy_limit->value())));
  }
  notes.print();
}

}  // namespace orrery::cli
