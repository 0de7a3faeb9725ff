#include "orrery/scenario/measured/training_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

constexpr double kGiB = 1.073741824;  // GB

// The number after `key` in a line. Its digits may be grouped by commas.
std::optional<double> number_after(std::string_view line, std::string_view key) {
  std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at += key.size();
  while (at < line.size() && (line[at] == ' ' || line[at] == ':' || line[at] == '=')) ++at;
  std::string digits;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (c == ',' && at + 1 < line.size() && std::isdigit(static_cast<unsigned char>(line[at + 1])))
      continue;
    const bool part = std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == 'e' ||
                      c == 'E' || c == '+' || c == '-';
    if (!part) break;
    digits += c;
  }
  if (digits.empty() || !std::isdigit(static_cast<unsigned char>(digits[0]))) return std::nullopt;
  const double value = std::strtod(digits.c_str(), nullptr);
  if (!std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

// The line without the escape sequences of colours.
std::string plain(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      while (i < line.size() && line[i] != 'm') ++i;
      continue;
    }
    out += line[i];
  }
  return out;
}

struct Series {
  std::vector<double> values;
  void add(std::optional<double> v) {
    if (v) values.push_back(*v);
  }
  std::size_t skipped() const {
    return values.size() > 1 ? std::max<std::size_t>(1, values.size() / 10) : 0;
  }
  std::size_t counted() const { return values.size() - skipped(); }
  std::optional<double> median() const {
    if (values.empty()) return std::nullopt;
    std::vector<double> late(values.begin() + static_cast<std::ptrdiff_t>(skipped()), values.end());
    std::sort(late.begin(), late.end());
    const std::size_t n = late.size();
    return n % 2 == 1 ? late[n / 2] : 0.5 * (late[n / 2 - 1] + late[n / 2]);
  }
};

}  // namespace

TrainingLog parse_training_log(std::string_view text, const std::string& name) {
  TrainingLog log;
  Series iteration, rate, tflops, memory;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = plain(text.substr(begin, end - begin));
    begin = end + 1;
    for (const char* key : {"global batch size", "global_batch_size"}) {
      if (const auto n = number_after(line, key)) log.global_batch = std::llround(*n);
    }
    if (const auto ms = number_after(line, "elapsed time per iteration (ms)")) {
      log.tool = "Megatron";
      iteration.add(*ms / 1e3);
      tflops.add(number_after(line, "throughput per GPU (TFLOP/s/GPU)"));
    } else if (const auto s = number_after(line, "train_step_timing in s")) {
      log.tool = "NeMo";
      iteration.add(s);
    } else if (const auto tps = number_after(line, " tps")) {
      log.tool = "torchtitan";
      rate.add(tps);
      tflops.add(number_after(line, "tflops"));
      if (const auto gib = number_after(line, "memory")) memory.add(*gib * kGiB);
    }
  }
  if (log.tool.empty())
    throw InputError(fmt::format(
        "{}: no line of a training log (Megatron's 'elapsed time per iteration (ms)', NeMo's "
        "'train_step_timing in s', torchtitan's 'tps')",
        name));
  log.iteration_s = iteration.median();
  log.tokens_per_s_per_gpu = rate.median();
  log.tflops_per_gpu = tflops.median();
  log.memory_gb = memory.median();
  log.steps = static_cast<std::int64_t>(std::max(iteration.counted(), rate.counted()));
  return log;
}

TrainingLog read_training_log(const std::filesystem::path& file) {
  return parse_training_log(read_text_file(file), file.string());
}

std::vector<ComparedFigure> compare(const TrainingLog& log, const Point& point) {
  std::vector<ComparedFigure> figures;
  const auto add = [&](const char* metric, const std::optional<double>& measured) {
    const Metric* predicted = point.find(metric);
    if (measured && predicted) figures.push_back({metric, *measured, *predicted});
  };
  add("iteration_time", log.iteration_s);
  add("throughput_per_gpu", log.tokens_per_s_per_gpu);
  add("model_tflops", log.tflops_per_gpu);
  add("memory", log.memory_gb);
  return figures;
}

}  // namespace orrery
