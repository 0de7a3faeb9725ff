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

// Runs the program with `arguments` in a shell, from the root of the source tree. `environment`:
// assignments before the command, such as "ORRERY_DATA=/tmp".
Result run_program(const std::string& arguments, const std::string& environment = "");

// Runs `command` in a shell, from `folder`. The word "orrery" at its beginning is replaced by the
// built program.
Result run_in(const std::filesystem::path& folder, const std::string& command);

// The text before the arguments in files that show a command and its output.
inline constexpr std::string_view kPrompt = "$ orrery ";
// The lines of a text without their ends; none for an empty text.
std::vector<std::string> lines_of(const std::string& text);
// A file's name as a test's: without folder and extension, '_' for '-'.
std::string test_name(const std::filesystem::path& file);

std::string read_file(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

// A directory for one test, which is removed with the object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  // Writes a file with this text into the folder and returns its path.
  std::string file(const std::string& name, const std::string& text) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Whether ORRERY_REWRITE=1 is set: expectations are then written instead of compared.
bool rewriting();
// A hint on ORRERY_REWRITE that is appended to failures.
std::string how_to_rewrite();

}  // namespace orrery::golden
