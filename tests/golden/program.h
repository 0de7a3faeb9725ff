// Runs the built program as a user does.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::golden {

struct Result {
  int code = 0;  // exit code; -1 if the program was killed
  std::string out, err;
};

// `arguments` as a shell reads them, from the root of the source tree; `environment`: assignments
// of the shell before the program, "ORRERY_DATA=/tmp".
Result run_program(const std::string& arguments, const std::string& environment = "");

// `command` as a shell reads it, from `folder`; the word "orrery" at its beginning is the program.
Result run_in(const std::filesystem::path& folder, const std::string& command);

// The text before the arguments in files that show a command and its output.
inline constexpr std::string_view kPrompt = "$ orrery ";
// Without the ends of lines; an empty text has none.
std::vector<std::string> lines_of(const std::string& text);
// A file's name as a test's: without folder and extension, '_' for '-'.
std::string test_name(const std::filesystem::path& file);

std::string read_file(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

// A directory of this test's own, emptied when the object goes.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  // A file in it with this text.
  std::string file(const std::string& name, const std::string& text) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// ORRERY_REWRITE=1: expectations are written, not compared.
bool rewriting();
// Appended to failures.
std::string how_to_rewrite();

}  // namespace orrery::golden
