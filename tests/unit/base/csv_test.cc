#include "orrery/base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/base/expect_error.h"

namespace orrery {
namespace csv_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::vector<std::string>> rows(std::string_view text) {
  CsvReader csv(text, "t.csv");
  std::vector<std::vector<std::string>> out;
  while (csv.next()) {
    auto& row = out.emplace_back();
    for (int c = 0; c < static_cast<int>(csv.header().size()); ++c) row.emplace_back(csv.text(c));
  }
  return out;
}

std::string error_of(std::string_view text) {
  return input_error([&] { rows(text); });
}

TEST(Csv, HeaderAndRows) {
  EXPECT_THAT(rows("a,b\n1,x\n2,\n"), ElementsAre(ElementsAre("1", "x"), ElementsAre("2", "")));
  EXPECT_THAT(rows("a,b\r\n1,x\r\n,y\r"), ElementsAre(ElementsAre("1", "x"), ElementsAre("", "y")));
  EXPECT_THAT(rows("a,b\n1,2"), ElementsAre(ElementsAre("1", "2")));
  EXPECT_THAT(rows("a,b\n\n1,2\n\n\n"), ElementsAre(ElementsAre("1", "2")));
  EXPECT_THAT(rows("\xEF\xBB\xBF"
                   "a\n1\n"),
              ElementsAre(ElementsAre("1")));
  EXPECT_TRUE(rows("a,b\n").empty());
}

TEST(Csv, QuotesOfRfc4180) {
  EXPECT_THAT(rows("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n"),
              ElementsAre(ElementsAre("x,y", "say \"hi\"")));
  EXPECT_THAT(rows("a,b\n\"two\nlines\",1\n\"\",2\n"),
              ElementsAre(ElementsAre("two\nlines", "1"), ElementsAre("", "2")));
  EXPECT_THAT(rows("\"a,1\",b\n1,\"2\"\n"), ElementsAre(ElementsAre("1", "2")));
  EXPECT_THAT(error_of("a,b\n1,\"open\n2,3\n"), HasSubstr("t.csv:2: a quote is never closed"));
  EXPECT_THAT(error_of("a,b\n\"x\"y,2\n"), HasSubstr("t.csv:2: text after a closing quote"));
}

TEST(Csv, NumbersAndMissingOnes) {
  CsvReader csv("n,x\n12,-1.5e-3\n8e9,\nabc,1\n3.5,nan\n", "t.csv");
  const int n = csv.column("n"), x = csv.column("x");
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.integer(n), 12);
  EXPECT_DOUBLE_EQ(csv.number(x), -0.0015);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.integer(n), 8'000'000'000);
  EXPECT_TRUE(csv.empty(x));
  EXPECT_EQ(csv.optional_number(x), std::nullopt);
  EXPECT_EQ(input_error([&] { csv.number(x); }),
            "t.csv:3: x: expected a number, the cell is empty");
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.line(), 4);
  EXPECT_EQ(input_error([&] { csv.number(n); }), "t.csv:4: n: expected a number, got 'abc'");
  EXPECT_EQ(input_error([&] { csv.optional_number(n); }),
            "t.csv:4: n: expected a number, got 'abc'");
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(input_error([&] { csv.integer(n); }), "t.csv:5: n: expected a whole number, got '3.5'");
  EXPECT_EQ(input_error([&] { csv.number(x); }), "t.csv:5: x: expected a number, got 'nan'");
  EXPECT_FALSE(csv.next());
}

TEST(Csv, ShortNumbersAreRoundedAsLongOnes) {
  for (const char* text : {"0", "7", "007", "4.314579", "0.1", "0.3", "123456789012345",
                           "1234567.8901234", "0.0000000000001", "99999999999999.9", "2.5e3",
                           "-4.1", "12345678901234567890", "5.", ".5"}) {
    const std::string table_text = std::string("x\n") + text + "\n";
    CsvReader table(table_text, "t.csv");
    ASSERT_TRUE(table.next());
    EXPECT_EQ(table.number(0), std::strtod(text, nullptr)) << text;
  }
}

TEST(Csv, LinesAreCountedInsideOfQuotes) {
  CsvReader csv("a\n\"1\n2\n3\"\nx\n", "t.csv");
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.line(), 2);
  ASSERT_TRUE(csv.next());
  EXPECT_EQ(csv.line(), 5);
}

TEST(Csv, AbsentColumnNamesTheNearest) {
  CsvReader csv("m,latency_us\n", "t.csv");
  EXPECT_EQ(input_error([&] { csv.column("latency"); }),
            "t.csv: no column 'latency' (did you mean 'latency_us'?)");
  EXPECT_EQ(csv.find("latency"), std::nullopt);
  EXPECT_EQ(csv.find("latency_us"), 1);
}

TEST(Csv, MalformedTables) {
  EXPECT_EQ(error_of(""), "t.csv: empty table");
  EXPECT_EQ(error_of("a,b\n1,2\n1,2,3\n"), "t.csv:3: 3 cells, the header has 2");
  EXPECT_EQ(error_of("a,b\n1\n"), "t.csv:2: 1 cells, the header has 2");
  EXPECT_EQ(error_of("a,b,a\n"), "t.csv:1: column 'a' twice");
  EXPECT_THAT(error_of("a\n" + std::string(2 << 20, 'x')),
              HasSubstr("t.csv:2: a row of more than"));
  EXPECT_THAT(error_of("a\n\"" + std::string(2 << 20, '\n')), HasSubstr("a row of more than"));
}

// In the header, in a cell, and in the second line of a cell; escaped quotes before it move bytes.
TEST(Csv, TextIsUtf8) {
  EXPECT_THAT(rows("a\n\"\"\"\xC3\xA9\"\n"), ElementsAre(ElementsAre("\"\xC3\xA9")));
  EXPECT_EQ(error_of("caf\xE9\n1\n"), "t.csv:1: text that is not UTF-8");
  EXPECT_EQ(error_of("a,b\n1,caf\xE9\n"), "t.csv:2: text that is not UTF-8");
  EXPECT_EQ(error_of("a\n\"x\n\xE9\"\n"), "t.csv:3: text that is not UTF-8");
}

class CsvFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void write(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string zipped(const std::string& text) {
    gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / ("csv" + std::to_string(getpid()) + ".csv.gz");
};

std::string numbers(int count) {
  std::string text = "i,square\n";
  for (int i = 0; i < count; ++i) text += std::to_string(i) + "," + std::to_string(i * i) + "\n";
  return text;
}

// Larger than the reader's buffer, so that lines are cut at its end.
TEST_F(CsvFile, GzipAndPlainReadTheSame) {
  const std::string text = numbers(40'000);
  for (bool gzip : {true, false}) {
    write(gzip ? zipped(text) : text);
    CsvReader csv(path_);
    int i = 0;
    for (; csv.next(); ++i) ASSERT_EQ(csv.integer(1), std::int64_t{i} * i);
    EXPECT_EQ(i, 40'000);
  }
}

TEST_F(CsvFile, CutOrDamagedGzipIsAnError) {
  const std::string good = zipped(numbers(40'000));
  for (std::size_t keep : {good.size() - 1, good.size() - 8, good.size() / 2, std::size_t{30}}) {
    write(good.substr(0, keep));
    EXPECT_THAT(input_error([&] {
                  CsvReader csv(path_);
                  while (csv.next()) {
                  }
                }),
                AllOf(HasSubstr(path_.string()), HasSubstr("damaged file")))
        << keep;
  }
  std::string damaged = good;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  write(damaged);
  EXPECT_NE(input_error([&] {
              CsvReader csv(path_);
              while (csv.next()) {
              }
            }),
            "");
}

TEST_F(CsvFile, AbsentFileAndDirectory) {
  EXPECT_THAT(input_error([&] { CsvReader csv(path_); }), HasSubstr("no such file"));
  EXPECT_THAT(input_error([&] { CsvReader csv{std::filesystem::path(testing::TempDir())}; }),
              HasSubstr("no such file"));
}

}  // namespace csv_test
}  // namespace orrery
