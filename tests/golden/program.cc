#include "tests/golden/program.h"

#include <algorithm>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace orrery::golden {

namespace {

Result run_shell(const std::string& folder, const std::string& command) {
  const Scratch scratch;
  const std::string out = scratch.path() / "out", err = scratch.path() / "err";
  const std::string whole =
      "cd '" + folder + "' && { " + command + "\n} >'" + out + "' 2>'" + err + "' </dev/null";
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

}  // namespace

Result run_program(const std::string& arguments, const std::string& environment) {
  return run_shell(ORRERY_SOURCE_DIR, environment + " '" ORRERY_PROGRAM "' " + arguments);
}

Result run_in(const std::filesystem::path& folder, const std::string& command) {
  const std::string name = "orrery ";
  return run_shell(folder, command.starts_with(name)
                               ? "'" ORRERY_PROGRAM "' " + command.substr(name.size())
                               : command);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string test_name(const std::filesystem::path& file) {
  std::string name = file.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Scratch::Scratch() {
  std::string pattern = std::filesystem::temp_directory_path() / "orrery-XXXXXX";
  path_ = mkdtemp(pattern.data());
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Scratch::file(const std::string& name, const std::string& text) const {
  write_text(path_ / name, text);
  return path_ / name;
}

bool rewriting() { return std::getenv("ORRERY_REWRITE") != nullptr; }

std::string how_to_rewrite() {
  return "\nIf the change is meant, write the expectations anew and review the diff:\n"
         "  ORRERY_REWRITE=1 $(dirname " ORRERY_PROGRAM ")/tests/golden_tests\n";
}

}  // namespace orrery::golden
