// Help texts in 80 columns, vLLM's spellings of flags, and the messages for a command line that
// does not parse.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

// Definitions that follow the help of every verb.
inline constexpr std::string_view kDefinitions =
    "TTFT: from the start of a request to its first token. TPOT: mean time between\n"
    "the later tokens of a request, the first excluded. ITL: time between two tokens.\n"
    "GB = 1e9 bytes, GiB = 2^30 bytes. Every time has a 90 % interval and an origin:\n"
    "measured, fitted, transferred or analytical, the most certain first.\n"
    "Exit codes: 2 bad input, 3 does not fit, 4 no data for the combination,\n"
    "1 internal error.";

// Opens with two examples, then prints one name per line, with its text to the right or below it,
// in at most 80 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
};

// The arguments after the program's name, with '_' in the names of flags as '-' and vLLM's short
// flags (-tp, -pp, -dp, -ep) as long ones.
std::vector<std::string> canonical_arguments(int argc, const char* const* argv);

// The message for a command line whose first word is not a verb; empty if it is one, or if there is
// no word.
std::string unknown_verb(const std::vector<std::string>& arguments, const CLI::App& program);

// The message for a command line that does not parse, with the nearest flag or verb.
std::string message_of(const CLI::ParseError& error, const CLI::App& program);

}  // namespace orrery::cli
