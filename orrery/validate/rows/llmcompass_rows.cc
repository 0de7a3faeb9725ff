#include "orrery/validate/rows/llmcompass_rows.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"

namespace orrery {
namespace {

double number(const LlmCompassRow& row, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0)
    throw InputError(fmt::format("{}: shape: expected sizes such as 512x12288x12288, got '{}'",
                                 row.row, row.shape));
  return value;
}

}  // namespace

std::vector<LlmCompassRow> read_llmcompass(const std::filesystem::path& file) {
  CsvReader csv(file);
  const int kind = csv.column("kind"), item = csv.column("item"), device = csv.column("device"),
            devices = csv.column("device_count"), shape = csv.column("shape"),
            dtype = csv.column("dtype"), measured = csv.column("measured"),
            predicted = csv.column("llmcompass_simulated"),
            roofline = csv.column("llmcompass_roofline");
  std::vector<LlmCompassRow> rows;
  while (csv.next()) {
    LlmCompassRow r;
    r.kind = csv.text(kind), r.item = csv.text(item), r.device = csv.text(device);
    r.shape = csv.text(shape), r.dtype = csv.text(dtype);
    r.devices = static_cast<int>(csv.integer(devices));
    r.measured = csv.number(measured);
    r.llmcompass = csv.optional_number(predicted);
    r.llmcompass_roofline = csv.optional_number(roofline);
    r.row = fmt::format("{}:{}", file.filename().string(), csv.line());
    rows.push_back(std::move(r));
  }
  return rows;
}

std::vector<double> sizes_of(const LlmCompassRow& row) {
  std::vector<double> sizes;
  std::string_view rest = row.shape;
  while (true) {
    const std::size_t end = rest.find('x');
    sizes.push_back(number(row, rest.substr(0, end)));
    if (end == std::string_view::npos) return sizes;
    rest.remove_prefix(end + 1);
  }
}

double word_of(const LlmCompassRow& row, const std::string& word) {
  std::istringstream words(row.shape);
  for (std::string w; words >> w;) {
    if (w.starts_with(word) && w.size() > word.size() && w[word.size()] >= '0' &&
        w[word.size()] <= '9')
      return number(row, std::string_view(w).substr(word.size()));
  }
  throw InputError(
      fmt::format("{}: shape: expected a word such as {}96, got '{}'", row.row, word, row.shape));
}

}  // namespace orrery
