#include "orrery/planner/store/result_key.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/planner/store/digest.h"
#include "orrery/scenario/document/scenario_json.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestPath = 4096;

std::string digest_of_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  Digest digest;
  digest.add(std::string(std::istreambuf_iterator<char>(in), {}));
  return digest.hex();
}

// The digest of a file, or of the JSON files of a folder, such as a downloaded model; empty: there
// is none. A file is read again when its size or its time of change is another.
std::string digest_at(const std::string& path) {
  std::error_code failed;
  if (path.empty() || path.size() > kLongestPath || path.find('\n') != std::string::npos) return "";
  if (fs::is_directory(path, failed)) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(path, failed))
      if (entry.path().extension() == ".json")
        files[entry.path().filename().string()] = digest_of_file(entry.path());
    std::string out;
    for (const auto& [name, digest] : files) out += fmt::format("{} {} ", name, digest);
    return out;
  }
  if (!fs::is_regular_file(path, failed)) return "";
  struct Seen {
    std::uintmax_t size = 0;
    fs::file_time_type changed;
    std::string digest;
  };
  thread_local std::map<std::string, Seen> seen;
  const auto size = fs::file_size(path, failed);
  const auto changed = fs::last_write_time(path, failed);
  Seen& known = seen[path];
  if (known.digest.empty() || known.size != size || known.changed != changed)
    known = {size, changed, digest_of_file(path)};
  return known.digest;
}

void add_files(const nlohmann::ordered_json& value, std::string& key) {
  if (value.is_structured()) {
    for (const auto& part : value) add_files(part, key);
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (const std::string digest = digest_at(text); !digest.empty())
      key += fmt::format("\n{}: {}", text, digest);
  }
}

}  // namespace

std::string canonical_text(const Scenario& scenario) {
  Scenario s = scenario;
  s.name = Scenario().name;
  s.question.clear();
  const nlohmann::ordered_json document = to_json(s);
  std::string key = document.dump();
  add_files(document, key);
  return key;
}

std::string exact_number(double x) { return fmt::format("{:a}", x); }

std::string catalog_digest(const Bundle& bundle) {
  Digest digest;
  const auto add = [&](const std::string& path) {
    const auto file = bundle.find(path);
    if (!file) return;
    digest.add(path);
    digest.add(file->content);
  };
  std::set<std::string> folders;
  for (const BundledFile& f : bundled_files()) {
    const std::size_t end = f.path.find('/');
    end == std::string_view::npos ? add(std::string(f.path))
                                  : (void)folders.emplace(f.path.substr(0, end));
  }
  for (const std::string& folder : folders)
    for (const std::string& path : bundle.list(folder, "")) add(path);
  return digest.hex();
}

}  // namespace orrery
