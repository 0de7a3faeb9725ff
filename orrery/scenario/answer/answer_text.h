// Figures and notes of answers as people read them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// A number with four significant digits: "12.3", "0.0456", "123456", "387". Whole numbers have no
// decimals, and numbers from 0.001 to 1e7 no exponent.
std::string number(double v);
// An energy in the unit of its magnitude, as a reader is shown it: 0.0014 MWh are 1.4 kWh. Other
// metrics are as they are, and so are energies below 10,000 of their unit and above 0.1 watt-hours
// or 0.001 joules of it. JSON and CSV always have the metric's own unit.
Metric readable(Metric m);
// The interval as "[11.2, 13.9]"; empty for exact values.
std::string interval90(const Metric& m);
// The 90 % interval relative to its value, in at most 9 characters: "+-12%" (half its width), or
// its two ends if half the width exceeds 50 %: "-44/+79%", and "-93/x15" from ten times on.
std::string spread90(double value, double low90, double high90);
// The values that identify a point: "model=llama-3-8b gpu=h100-sxm tp=8 ...".
std::string place(const Point& point);
// The text "DOES NOT FIT: " and the reason.
std::string misfit(const Point& point);
// The value of a key of Point::at; empty: it has no such key.
std::string text_at(const Point& point, const char* key);

// Breaks `text` at spaces into lines of at most `columns`; each begins with `indent`.
std::string wrapped(std::string_view text, std::size_t columns, std::string_view indent);
// The text as one field of a csv line, or the cells as a row of a Markdown table.
std::string csv_field(const std::string& text);
std::string markdown_row(std::span<const std::string> cells);

// Notes below a table, each once, in the order in which they were added.
class Notes {
 public:
  void add(const std::string& note);
  // In 80 columns, indented.
  std::string text() const;

 private:
  std::vector<std::string> notes_;
};

}  // namespace orrery
