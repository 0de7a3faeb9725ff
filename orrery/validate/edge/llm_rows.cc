#include "orrery/validate/edge/llm_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"

namespace orrery {
namespace {

struct Mix {
  double prompt, answer;
};
// The nine mixes of LocalScore's benchmark (github.com/mozilla-ai/llamafile, folder localscore).
constexpr std::array<Mix, 9> kLocalScoreMixes = {{{1024, 16},
                                                  {4096, 256},
                                                  {2048, 256},
                                                  {2048, 768},
                                                  {1024, 1024},
                                                  {1280, 3072},
                                                  {384, 1152},
                                                  {64, 1024},
                                                  {16, 1536}}};

// Names of tables that the model catalog does not know.
constexpr std::pair<std::string_view, std::string_view> kModels[] = {
    {"NVIDIA-Nemotron-3-Super-120B-A12B", "nemotron-3-super-120b-a12b"},
    {"DeepSeek-R1-7B", "r1-distill-qwen-7b"},
    {"DeepSeek-R1-14B", "r1-distill-qwen-14b"},
    {"TinyLlama-1.1B", "tinyllama-1.1b"},
    {"Phi-4-mini", "phi-4-mini"},
};

// This source's script, benchmark/run_benchmarks.sh of github.com/kyuz0/amd-strix-halo-toolboxes,
// asks for passes of 2048 tokens (-ub 2048) at depths above 0 with ROCm, and of 512 with Vulkan.
constexpr std::string_view kStrixHalo = "kyuz0 strix halo";

// The quantiser's names in tables.
constexpr std::pair<std::string_view, std::string_view> kFormatNames[] = {
    {"Q4_K - Medium", "Q4_K_M"}, {"MXFP4 MoE", "MXFP4"}, {"fp16", "F16"}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// The name without what a publisher adds for his files.
std::string plain_model(std::string name) {
  for (const std::string_view ending : {"-BF16", ".Q4_0", "-mxfp4", "-UD-Q4_K_XL", "-UD-Q8_K_XL",
                                        "-UD-Q6_K_XL", "-it", "-instruct", "-Instruct"}) {
    if (name.ends_with(ending)) name.erase(name.size() - ending.size());
  }
  return name;
}

class Models {
 public:
  explicit Models(const Bundle& bundle) : bundle_(bundle) {}
  const Architecture* find(const std::string& name) {
    const auto known = models_.find(name);
    if (known != models_.end()) return known->second ? &*known->second : nullptr;
    std::optional<Architecture>& into = models_[name];
    std::string id = plain_model(plain_model(name));
    for (const auto& [from, to] : kModels) {
      if (id.starts_with(from)) id = to;
    }
    for (const std::string& tried : {id, id.substr(id.find('/') + 1)}) {
      try {
        into = load_model(tried, bundle_);
        break;
      } catch (const InputError&) {
      }
    }
    return into ? &*into : nullptr;
  }

 private:
  const Bundle& bundle_;
  std::map<std::string, std::optional<Architecture>> models_;
};

// The memory that a device's name states ("64GB", "512GB"), 0 where it states none.
Bytes memory_in(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) continue;
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const double number = std::stod(std::string(text.substr(i, end - i)));
    if (end < text.size() && text[end] == ' ') ++end;
    if (text.substr(end, 2) == "GB") return gibibytes(number);
    i = end - 1;
  }
  return {};
}

struct Backend {
  std::string backend, runtime;
};

// llama.cpp's backend and whose program it is in. Nothing for engines of other families.
std::optional<Backend> backend_of(const std::string& text, const LlmChip& chip) {
  const std::string name = lower(text);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  const std::string usual(chip.family->backend);
  if (has("ollama")) return Backend{usual, "ollama"};
  if (name.starts_with("llamafile")) return Backend{usual, "llamafile"};
  if (has("rocm")) return Backend{"rocm", name == "rocm" ? "llama.cpp" : "toolbox"};
  if (name == "vulkan_amdvlk") return Backend{"vulkan-amdvlk", "toolbox"};
  if (has("vulkan")) return Backend{"vulkan", name == "vulkan" ? "llama.cpp" : "toolbox"};
  if (name == "cuda") return Backend{"cuda", "llama.cpp"};
  if (name == "metal") return Backend{"metal", "llama.cpp"};
  if (has("mnn") || has("xnnpack") || has("litert") || has("tinychat") || has("vllm"))
    return std::nullopt;
  if (name.starts_with("opencl")) return Backend{"opencl", "llama.cpp"};
  if (has("hexagon")) return Backend{"hexagon", "llama.cpp"};
  if (name.starts_with("cpu")) return Backend{"cpu", "llama.cpp"};
  return std::nullopt;
}

// Several sources measured with programs of their own time.
std::string runtime_of(const std::string& runtime, std::string_view source) {
  if (runtime != "llama.cpp") return runtime;
  if (source.starts_with("Xiong")) return "llama.cpp of 2024";
  if (source.starts_with("mac-llm-bench")) return "mac-llm-bench";
  return runtime;
}

LlmTimes each(LlmTimes times, double tokens) {
  for (Seconds& t : times) t /= tokens;
  return times;
}

}  // namespace

std::vector<LlmRow> read_llm_rows(const std::filesystem::path& dir, const LlmChips& chips,
                                  const Bundle& bundle, ValidationReport& report) {
  CsvReader csv(dir / "llm_edge.csv");
  const int source = csv.column("source"), device = csv.column("device"),
            count = csv.column("n_devices"), model = csv.column("model"),
            format = csv.column("quantisation"), size = csv.column("weights_gib"),
            backend = csv.column("backend"), depth = csv.column("depth"),
            pp = csv.column("pp_tokens"), pp_rate = csv.column("pp_tok_s"),
            tg = csv.column("tg_tokens"), tg_rate = csv.column("tg_tok_s"),
            note = csv.column("note"), flash = csv.column("flash_attention");
  Models models(bundle);
  std::map<std::string, std::size_t> refused;
  std::vector<LlmRow> rows;
  while (csv.next()) {
    const std::string name(csv.text(model)), of(csv.text(device)), remark(csv.text(note));
    const LlmChip* chip = chips.in_text(of);
    const Architecture* known = models.find(name);
    if (remark.find("SUSPECT") != std::string::npos ||
        remark.find("batch 8") != std::string::npos) {
      ++refused["the table doubts the row, or it is a batch of sequences"];
      continue;
    }
    if (chip == nullptr) {
      ++refused["catalog/edge/chips.yaml lacks the device"];
      continue;
    }
    if (known == nullptr) {
      ++refused[fmt::format("the catalog has no model {}", name)];
      continue;
    }
    const auto where = backend_of(std::string(csv.text(backend)), *chip);
    std::string quantised(csv.text(format));
    for (const auto& [from, to] : kFormatNames) {
      if (quantised == from) quantised = to;
    }
    const auto formats = gguf_formats();
    const auto type = std::find_if(formats.begin(), formats.end(),
                                   [&](const GgufFormat& f) { return f.name == quantised; });
    if (!where || type == formats.end()) {
      ++refused["an engine or a format that is not llama.cpp's"];
      continue;
    }
    LlmFile file(*known, *type);
    if (!csv.empty(size)) file = file.of_size(gibibytes(csv.number(size)));
    LlmRow row;
    row.setting.chip = chip, row.setting.backend = where->backend;
    row.setting.runtime = runtime_of(where->runtime, csv.text(source));
    row.setting.kernels = std::string(type->kernels);
    row.setting.devices = int(csv.integer(count));
    row.setting.mixture = file.mixture(), row.setting.head_width = file.head_width();
    row.setting.hidden = file.hidden(), row.setting.packed_heads = file.packed_heads();
    row.setting.model = known->id;
    row.setting.plain_attention = csv.text(flash) == "0";
    row.model = known->id, row.device = of, row.group = of + "|" + name;
    row.source = std::string(csv.text(source));
    row.name = fmt::format("llm_edge.csv:{}", csv.line());
    const bool mixed = csv.text(depth) == "mixed";
    const double at = mixed || csv.empty(depth) ? 0 : csv.number(depth);
    const bool wide = remark.find("n_ubatch 2048") != std::string::npos ||
                      (at > 0 && where->backend == "rocm" && csv.text(source) == kStrixHalo);
    const double ubatch = wide ? 2048 : 512;
    const double prompt = csv.empty(pp) ? 512 : csv.number(pp);
    const double answer = csv.empty(tg) ? 128 : csv.number(tg);
    const int devices = row.setting.devices;
    row.fit =
        memory_fit(file, *chip,
                   {memory_in(of), devices, mixed ? 4352 : at + std::max(prompt, answer), ubatch});
    const std::string base =
        fmt::format("{} {} on {}{} with {}", known->id, type->name,
                    devices > 1 ? fmt::format("{} x ", devices) : "", of, csv.text(backend));
    const auto push = [&](bool prefill, double rate) {
      row.prefill = prefill, row.measured = TokensPerSecond(rate), row.cases.clear();
      if (mixed) {
        for (const Mix& m : kLocalScoreMixes)
          row.cases.push_back(
              prefill ? each(prefill_times(file, *chip, devices, {m.prompt, 0, ubatch}), m.prompt)
                      : decode_times(file, *chip, devices, m.prompt + m.answer / 2));
        row.what = base + ", nine mixes";
      } else if (prefill) {
        row.cases.push_back(
            each(prefill_times(file, *chip, devices, {prompt, at, ubatch}), prompt));
        row.what = fmt::format("{}, {:g} tokens after {:g}", base, prompt, at);
      } else {
        row.cases.push_back(decode_times(file, *chip, devices, at + answer / 2));
        row.what = fmt::format("{}, {:g} tokens after {:g}", base, answer, at);
      }
      rows.push_back(row);
    };
    if (!csv.empty(pp_rate)) push(true, csv.number(pp_rate));
    if (!csv.empty(tg_rate)) push(false, csv.number(tg_rate));
  }
  for (const auto& [why, number] : refused) report.refused.push_back({"llm_edge.csv", why, number});
  return rows;
}

}  // namespace orrery
