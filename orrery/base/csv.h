// Reads tables: CSV and CSV.gz with a header row, streamed row by row without allocation per cell.
//
//   CsvReader csv("gemm.csv.gz");
//   const int m = csv.column("m"), time = csv.column("latency_us");
//   while (csv.next()) use(csv.number(m), csv.number(time));
//
// Quotes follow RFC 4180: a quoted cell may hold commas, doubled quotes and line ends. Empty lines
// are skipped. InputError with file:line and the column's name: a row with more or fewer cells than
// the header, a row of more than 1 MiB, text that is not UTF-8, a name that the header has twice
// (unless allowed), a damaged or truncated gzip file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

class CsvReader {
 public:
  // Whether a header may name a column twice; the first is then the one of that name.
  enum class Repeated { kRefused, kFirst };
  // Opens a file, plain or gzip (told by its content), and reads its header.
  explicit CsvReader(const std::filesystem::path& path, Repeated repeated = Repeated::kRefused);
  // Reads from a text in memory, which must outlive the reader; `name` is what messages call it.
  CsvReader(std::string_view text, std::string name);
  ~CsvReader();
  CsvReader(CsvReader&&) noexcept;

  const std::vector<std::string>& header() const { return header_; }
  // The index of a column; InputError naming the nearest if there is none.
  int column(std::string_view name) const;
  std::optional<int> find(std::string_view name) const;

  // Goes to the next row; false at the end of the table.
  bool next();
  int line() const { return row_line_; }  // where the row begins, counted from 1

  // A cell of the row; valid until the next call of next().
  std::string_view text(int column) const;
  bool empty(int column) const { return text(column).empty(); }
  // A number that must be there; InputError otherwise.
  double number(int column) const;
  std::int64_t integer(int column) const;
  // A number, or nothing where the cell is empty.
  std::optional<double> optional_number(int column) const;

  [[noreturn]] void fail(int column, std::string_view message) const;

 private:
  class Source;
  void read_header(Repeated repeated);
  bool read_line();
  void split();

  std::unique_ptr<Source> source_;
  std::string name_;
  std::vector<std::string> header_;
  std::string row_;  // the row's text; quoted cells are unescaped in place
  std::vector<std::pair<std::size_t, std::size_t>> cells_;  // begin and end in row_
  int line_ = 0, row_line_ = 0;
};

}  // namespace orrery
