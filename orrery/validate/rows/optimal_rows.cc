#include "orrery/validate/rows/optimal_rows.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "orrery/base/error.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

class RecordReader {
 public:
  explicit RecordReader(std::string name) : name_(std::move(name)) {}

  std::vector<OptimalRecord> read(const std::string& text) {
    std::istringstream in(text);
    std::string line;
    for (line_ = 1; std::getline(in, line); ++line_) {
      const std::size_t begin = line.find_first_not_of(' ');
      const std::string_view trimmed =
          begin == std::string::npos ? std::string_view() : std::string_view(line).substr(begin);
      if (trimmed.starts_with("RESULT ")) {
        begin_record(trimmed);
      } else if (trimmed.empty() || out_.empty() || trimmed.starts_with("#") ||
                 trimmed.starts_with("rc=") || trimmed.starts_with("lat (") ||
                 trimmed.starts_with("en (")) {
        continue;
      } else if (trimmed.starts_with("act (")) {
        out_.back().actions.push_back(action(trimmed));
      } else {
        out_.back().text += line + "\n";
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw InputError(fmt::format("{}:{}: {}", name_, line_, why));
  }
  double number(std::string_view text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) fail(fmt::format("expected a number, got '{}'", text));
    return value;
  }
  double value_of(std::string_view line, std::string_view key) const {
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos) fail(fmt::format("expected '{}' and a number", key));
    return number(line.substr(at + key.size()));
  }

  void begin_record(std::string_view line) {
    OptimalRecord r;
    const std::size_t wall = line.find(" wall=");
    if (wall == std::string_view::npos) fail("expected 'RESULT label wall=...'");
    r.label = std::string(line.substr(7, wall - 7));
    r.energy = value_of(line, " E=");
    r.seconds = value_of(line, " L=");
    r.line = line_ + 1;
    out_.push_back(std::move(r));
  }

  // "act ('Matmul0', 'LocalBuffer', 'T0', 'read') 67108864"
  OptimalAction action(std::string_view line) const {
    std::vector<std::string> parts;
    const std::size_t close = line.find(") ");
    if (close == std::string_view::npos) fail("expected \"act ('einsum', ...) count\"");
    for (std::size_t i = 0; i < close;) {
      const std::size_t open = line.find('\'', i);
      if (open == std::string_view::npos || open > close) break;
      const std::size_t end = line.find('\'', open + 1);
      if (end == std::string_view::npos || end > close) fail("expected a closing quote");
      parts.emplace_back(line.substr(open + 1, end - open - 1));
      i = end + 1;
    }
    if (parts.size() != 4) fail("expected an einsum, a component, a tensor and an action");
    return {parts[0], parts[1], parts[2], parts[3], number(line.substr(close + 2))};
  }

  std::string name_;
  int line_ = 0;
  std::vector<OptimalRecord> out_;
};

}  // namespace

std::vector<OptimalRecord> read_optimal_records(const std::filesystem::path& file) {
  return RecordReader(file.filename().string()).read(read_text_file(file));
}

}  // namespace orrery
