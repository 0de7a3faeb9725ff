#include "orrery/base/csv.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <system_error>

#include "orrery/base/data_folder.h"
#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr std::size_t kLongestRow = 1u << 20;

// A number of at most 15 digits, some of which may follow a point: its digits and the power of ten
// are exact doubles, so that their quotient is rounded once, as std::from_chars rounds, in a
// quarter of the time. Nothing for any other text.
std::optional<double> short_number(std::string_view cell) {
  constexpr std::size_t kExactDigits = 15;
  static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
  if (cell.empty() || cell.size() > kExactDigits) return std::nullopt;
  std::int64_t digits = 0;
  std::size_t point = cell.size();
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const char c = cell[i];
    if (c >= '0' && c <= '9') {
      digits = digits * 10 + (c - '0');
    } else if (c == '.' && point == cell.size() && i > 0 && i + 1 < cell.size()) {
      point = i;
    } else {
      return std::nullopt;
    }
  }
  const std::size_t after = point == cell.size() ? 0 : cell.size() - point - 1;
  return static_cast<double>(digits) / kPowers[after];
}

}  // namespace

// Bytes in lines: from a file through zlib (which reads plain files too) or from memory.
class CsvReader::Source {
 public:
  explicit Source(const std::filesystem::path& path) {
    require_open_files(path);
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      throw InputError(fmt::format("{}: no such file", path.string()));
    }
    file_ = gzopen(path.c_str(), "rb");
    if (!file_) throw InputError(fmt::format("{}: cannot be opened", path.string()));
    gzbuffer(file_, 1u << 17);
    buffer_.resize(1u << 17);
  }
  explicit Source(std::string_view text) : begin_(text.data()), end_(text.data() + text.size()) {}
  ~Source() {
    if (file_) gzclose(file_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // Appends the next line without its end to `out`; false at the end. Throws a text on a damaged
  // file.
  bool line(std::string& out) {
    bool any = false;
    while (true) {
      if (begin_ == end_ && !fill()) {
        if (out.ends_with('\r')) out.pop_back();
        return any;
      }
      any = true;
      const auto* newline = static_cast<const char*>(
          std::memchr(begin_, '\n', static_cast<std::size_t>(end_ - begin_)));
      const char* stop = newline ? newline : end_;
      out.append(begin_, stop);
      begin_ = newline ? newline + 1 : end_;
      if (out.size() > kLongestRow)
        throw InputError(fmt::format("a row of more than {} bytes", kLongestRow));
      if (newline) {
        if (out.ends_with('\r')) out.pop_back();
        return true;
      }
    }
  }

 private:
  bool fill() {
    if (!file_) return false;
    const int n = gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    const char* message = gzerror(file_, &code);
    if (n < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw InputError(fmt::format("damaged file ({})", message));
    begin_ = buffer_.data();
    end_ = begin_ + n;
    return n > 0;
  }

  gzFile file_ = nullptr;
  std::vector<char> buffer_;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
};

CsvReader::CsvReader(const std::filesystem::path& path, Repeated repeated)
    : source_(std::make_unique<Source>(path)), name_(path.string()) {
  read_header(repeated);
}

CsvReader::CsvReader(std::string_view text_in, std::string name)
    : source_(std::make_unique<Source>(text_in)), name_(std::move(name)) {
  read_header(Repeated::kRefused);
}

void CsvReader::read_header(Repeated repeated) {
  if (!next()) throw InputError(fmt::format("{}: empty table", name_));
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    std::string_view cell = text(static_cast<int>(i));
    if (i == 0 && cell.starts_with("\xEF\xBB\xBF")) cell.remove_prefix(3);  // byte order mark
    header_.emplace_back(cell);
  }
  if (repeated == Repeated::kFirst) return;
  std::vector<std::string> sorted = header_;
  std::sort(sorted.begin(), sorted.end());
  const auto same = std::adjacent_find(sorted.begin(), sorted.end());
  if (same != sorted.end()) {
    throw InputError(fmt::format("{}:{}: column '{}' twice", name_, row_line_, shortened(*same)));
  }
}

CsvReader::~CsvReader() = default;
CsvReader::CsvReader(CsvReader&&) noexcept = default;

std::optional<int> CsvReader::find(std::string_view name) const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (header_[i] == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

int CsvReader::column(std::string_view name) const {
  if (const auto i = find(name)) return *i;
  throw InputError(
      fmt::format("{}: no column '{}'{}", name_, shortened(name), did_you_mean(name, header_)));
}

bool CsvReader::read_line() {
  try {
    const std::size_t begin = row_.size();
    const bool any = source_->line(row_);
    if (!is_utf8(std::string_view(row_).substr(begin))) throw InputError("text that is not UTF-8");
    line_ += any ? 1 : 0;
    return any;
  } catch (const InputError& e) {
    throw InputError(fmt::format("{}:{}: {}", name_, line_ + 1, e.what()));
  }
}

bool CsvReader::next() {
  do {
    row_.clear();
    if (!read_line()) return false;
  } while (row_.empty());
  row_line_ = line_;
  split();
  if (!header_.empty() && cells_.size() != header_.size()) {
    throw InputError(fmt::format("{}:{}: {} cells, the header has {}", name_, row_line_,
                                 cells_.size(), header_.size()));
  }
  return true;
}

void CsvReader::split() {
  cells_.clear();
  std::size_t at = 0;
  while (true) {
    if (at < row_.size() && row_[at] == '"') {
      const std::size_t begin = at + 1;
      std::size_t read = begin, write = begin;
      while (true) {
        if (read >= row_.size()) {  // the cell goes on in the next line
          row_ += '\n';
          if (!read_line())
            throw InputError(fmt::format("{}:{}: a quote is never closed", name_, row_line_));
        }
        if (row_[read] == '"') {
          if (read + 1 < row_.size() && row_[read + 1] == '"') {
            row_[write++] = '"';
            read += 2;
            continue;
          }
          break;
        }
        row_[write++] = row_[read++];
      }
      cells_.emplace_back(begin, write);
      at = read + 1;
      if (at < row_.size() && row_[at] != ',') {
        throw InputError(fmt::format("{}:{}: text after a closing quote", name_, row_line_));
      }
    } else {
      const std::size_t comma = row_.find(',', at);
      cells_.emplace_back(at, std::min(comma, row_.size()));
      at = cells_.back().second;
    }
    if (at >= row_.size()) return;
    ++at;  // the comma
    if (at == row_.size()) return cells_.emplace_back(at, at), void();
  }
}

std::string_view CsvReader::text(int column) const {
  const auto [begin, end] = cells_.at(static_cast<std::size_t>(column));
  return std::string_view(row_).substr(begin, end - begin);
}

std::optional<double> CsvReader::optional_number(int column) const {
  const std::string_view cell = text(column);
  if (cell.empty()) return std::nullopt;
  if (const auto known = short_number(cell)) return known;
  double v = 0;
  const auto [rest, error] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  if (error != std::errc() || rest != cell.data() + cell.size() || !std::isfinite(v)) {
    fail(column, fmt::format("expected a number, got '{}'", shortened(cell)));
  }
  return v;
}

double CsvReader::number(int column) const {
  if (const auto v = optional_number(column)) return *v;
  fail(column, "expected a number, the cell is empty");
}

std::int64_t CsvReader::integer(int column) const {
  const double v = number(column);
  if (v != std::floor(v) || std::abs(v) > 0x1p53)
    fail(column, fmt::format("expected a whole number, got '{}'", shortened(text(column))));
  return static_cast<std::int64_t>(v);
}

void CsvReader::fail(int column, std::string_view message) const {
  throw InputError(fmt::format("{}:{}: {}: {}", name_, row_line_,
                               shortened(header_.at(static_cast<std::size_t>(column))), message));
}

}  // namespace orrery
