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

// The table of rows, read line by line.
class LlmTable {
 public:
  LlmTable(const std::filesystem::path& file, const LlmChips& chips, const Bundle& bundle)
      : csv_(file), chips_(chips), models_(bundle) {}

  // Reads the line and appends its rows, one of the prompt and one of the answer, or counts why it
  // is refused. False: there is no further line.
  bool read_line(std::vector<LlmRow>& rows);
  const std::map<std::string, std::size_t>& refused() const { return refused_; }

 private:
  // A line whose device, model, engine and format are known.
  struct Known {
    const LlmChip& chip;
    Backend engine;
    LlmFile file;
    GgufFormat type;
    std::string model;
  };
  // Nothing, and `why`: the line is refused.
  std::optional<Known> known(std::string& why);
  LlmRow row_of(const Known& of) const;

  // The run that the line measured.
  struct Run {
    bool mixed;                            // the mixes of LocalScore
    double depth, prompt, answer, ubatch;  // tokens
  };
  Run run_of(const Known& of) const;
  void add_rows(const Known& of, const Run& run, LlmRow row, std::vector<LlmRow>& rows) const;

  CsvReader csv_;
  const LlmChips& chips_;
  Models models_;
  std::map<std::string, std::size_t> refused_;
  const int source_ = csv_.column("source"), device_ = csv_.column("device"),
            count_ = csv_.column("n_devices"), model_ = csv_.column("model"),
            format_ = csv_.column("quantisation"), size_ = csv_.column("weights_gib"),
            backend_ = csv_.column("backend"), depth_ = csv_.column("depth"),
            pp_ = csv_.column("pp_tokens"), pp_rate_ = csv_.column("pp_tok_s"),
            tg_ = csv_.column("tg_tokens"), tg_rate_ = csv_.column("tg_tok_s"),
            note_ = csv_.column("note"), flash_ = csv_.column("flash_attention");
};

bool LlmTable::read_line(std::vector<LlmRow>& rows) {
  if (!csv_.next()) return false;
  std::string why;
  if (const std::optional<Known> line = known(why)) {
    add_rows(*line, run_of(*line), row_of(*line), rows);
  } else {
    ++refused_[why];
  }
  return true;
}

std::optional<LlmTable::Known> LlmTable::known(std::string& why) {
  const std::string name(csv_.text(model_)), remark(csv_.text(note_));
  const LlmChip* chip = chips_.in_text(std::string(csv_.text(device_)));
  const Architecture* model = models_.find(name);
  if (remark.find("SUSPECT") != std::string::npos || remark.find("batch 8") != std::string::npos) {
    why = "the table doubts the row, or it is a batch of sequences";
    return std::nullopt;
  }
  if (chip == nullptr) {
    why = "catalog/edge/chips.yaml lacks the device";
    return std::nullopt;
  }
  if (model == nullptr) {
    why = fmt::format("the catalog has no model {}", name);
    return std::nullopt;
  }
  const auto engine = backend_of(std::string(csv_.text(backend_)), *chip);
  std::string quantised(csv_.text(format_));
  for (const auto& [from, to] : kFormatNames) {
    if (quantised == from) quantised = to;
  }
  const auto formats = gguf_formats();
  const auto type = std::find_if(formats.begin(), formats.end(),
                                 [&](const GgufFormat& f) { return f.name == quantised; });
  if (!engine || type == formats.end()) {
    why = "an engine or a format that is not llama.cpp's";
    return std::nullopt;
  }
  LlmFile file(*model, *type);
  if (!csv_.empty(size_)) file = file.of_size(gibibytes(csv_.number(size_)));
  return Known{*chip, *engine, file, *type, model->id};
}

LlmRow LlmTable::row_of(const Known& of) const {
  LlmRow row;
  row.setting.chip = &of.chip, row.setting.backend = of.engine.backend;
  row.setting.runtime = runtime_of(of.engine.runtime, csv_.text(source_));
  row.setting.kernels = std::string(of.type.kernels);
  row.setting.devices = int(csv_.integer(count_));
  row.setting.mixture = of.file.mixture(), row.setting.head_width = of.file.head_width();
  row.setting.hidden = of.file.hidden(), row.setting.packed_heads = of.file.packed_heads();
  row.setting.model = of.model;
  row.setting.plain_attention = csv_.text(flash_) == "0";
  row.model = of.model, row.device = std::string(csv_.text(device_));
  row.group = row.device + "|" + std::string(csv_.text(model_));
  row.source = std::string(csv_.text(source_));
  row.name = fmt::format("llm_edge.csv:{}", csv_.line());
  return row;
}

LlmTable::Run LlmTable::run_of(const Known& of) const {
  const bool mixed = csv_.text(depth_) == "mixed";
  const double depth = mixed || csv_.empty(depth_) ? 0 : csv_.number(depth_);
  const bool wide = std::string(csv_.text(note_)).find("n_ubatch 2048") != std::string::npos ||
                    (depth > 0 && of.engine.backend == "rocm" && csv_.text(source_) == kStrixHalo);
  return {mixed, depth, csv_.empty(pp_) ? 512 : csv_.number(pp_),
          csv_.empty(tg_) ? 128 : csv_.number(tg_), wide ? 2048.0 : 512.0};
}

void LlmTable::add_rows(const Known& of, const Run& run, LlmRow row,
                        std::vector<LlmRow>& rows) const {
  const int devices = row.setting.devices;
  const double most = run.mixed ? 4352 : run.depth + std::max(run.prompt, run.answer);
  row.fit = memory_fit(of.file, of.chip, {memory_in(row.device), devices, most, run.ubatch});
  const std::string base = fmt::format("{} {} on {}{} with {}", of.model, of.type.name,
                                       devices > 1 ? fmt::format("{} x ", devices) : "", row.device,
                                       csv_.text(backend_));
  const auto prefill_of = [&](double prompt, double depth) {
    return each(prefill_times(of.file, of.chip, devices, {prompt, depth, run.ubatch}), prompt);
  };
  const auto push = [&](bool prefill, double rate) {
    row.prefill = prefill, row.measured = TokensPerSecond(rate), row.cases.clear();
    if (run.mixed) {
      for (const Mix& m : kLocalScoreMixes)
        row.cases.push_back(prefill
                                ? prefill_of(m.prompt, 0)
                                : decode_times(of.file, of.chip, devices, m.prompt + m.answer / 2));
      row.what = base + ", nine mixes";
    } else if (prefill) {
      row.cases.push_back(prefill_of(run.prompt, run.depth));
      row.what = fmt::format("{}, {:g} tokens after {:g}", base, run.prompt, run.depth);
    } else {
      row.cases.push_back(decode_times(of.file, of.chip, devices, run.depth + run.answer / 2));
      row.what = fmt::format("{}, {:g} tokens after {:g}", base, run.answer, run.depth);
    }
    rows.push_back(row);
  };
  if (!csv_.empty(pp_rate_)) push(true, csv_.number(pp_rate_));
  if (!csv_.empty(tg_rate_)) push(false, csv_.number(tg_rate_));
}

}  // namespace

std::vector<LlmRow> read_llm_rows(const std::filesystem::path& dir, const LlmChips& chips,
                                  const Bundle& bundle, ValidationReport& report) {
  LlmTable table(dir / "llm_edge.csv", chips, bundle);
  std::vector<LlmRow> rows;
  while (table.read_line(rows)) {
  }
  for (const auto& [why, number] : table.refused())
    report.refused.push_back({"llm_edge.csv", why, number});
  return rows;
}

}  // namespace orrery
