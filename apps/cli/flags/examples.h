// The examples of a verb. They stand in its footer, below a line "Examples:", each a command that
// may go on over indented lines.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

// How many examples a help opens with; the others follow at its end.
inline constexpr std::size_t kFirstExamples = 2;

struct Footer {
  std::vector<std::string> examples;  // with the indents and ends of their lines
  std::string rest;                   // the other lines
};
Footer footer_of(const CLI::App& app);

// Five things to try, which `orrery` alone prints.
std::string things_to_try();

}  // namespace orrery::cli
