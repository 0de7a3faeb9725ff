#include "orrery/planner/answer/more_memory.h"

#include <fmt/format.h>

#include <sstream>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace {

// The file of a GPU with other figures of its memory: the keys capacity and usable below memory.
std::string edited(const std::string& text, const Gpu& gpu, Bytes more) {
  std::istringstream lines(text);
  std::string out, line;
  bool memory = false;
  while (std::getline(lines, line)) {
    if (!line.empty() && line[0] != ' ' && line[0] != '#') memory = line.starts_with("memory:");
    const auto put = [&](const char* key, Bytes size) {
      line = fmt::format("  {}: {:.0f} B", key, (size + more).value());
    };
    if (memory && line.starts_with("  capacity:")) put("capacity", gpu.memory.capacity);
    if (memory && line.starts_with("  usable:") && gpu.memory.usable)
      put("usable", *gpu.memory.usable);
    out += line + "\n";
  }
  return out;
}

}  // namespace

Bundle with_more_memory(const Bundle& bundle, const std::string& gpu, Bytes more) {
  const Catalog catalog(bundle);
  const std::string own = fmt::format("gpus/{}.yaml", gpu);
  if (!bundle.find(own)) throw InputError(fmt::format("the catalog has no file {}", own));
  std::map<std::string, std::string> files;
  for (const std::string& path : bundle.list("gpus", ".yaml")) {
    std::string text(bundle.find(path)->content);
    files[path] = path == own ? edited(text, catalog.gpu(gpu), more) : std::move(text);
  }
  return bundle.replacing("gpus", std::move(files));
}

}  // namespace orrery
