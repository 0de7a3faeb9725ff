// Helpers of the model room's tests.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/model/families/hf_config.h"

namespace orrery {

// The message of the InputError that `call` throws.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const InputError& e) {
    return e.what();
  }
  return "no InputError";
}

inline Architecture read_text(const std::string& json) {
  return read_hf_config(parse_json(json, "config.json"), "test");
}

// The active parameters as the publisher of the entry counts them.
inline std::int64_t counted_active(const ModelEntry& entry, const ParameterCounts& n) {
  std::int64_t count = entry.active_without_embedding ? n.active_without_embedding() : n.active();
  if (entry.active_without_lm_head) count -= n.tied ? n.embedding : n.lm_head;
  return count;
}

// The parameters in all as the publisher of the entry counts them.
inline std::int64_t counted_total(const ModelEntry& entry, const ParameterCounts& n) {
  return n.total() - (entry.total_without_towers ? n.towers : 0);
}

// A folder that is removed when the test ends.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "orrery-model-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace orrery
