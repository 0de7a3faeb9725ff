#include "orrery/edge/llm/llm_chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace {

constexpr const char* kChipsPath = "edge/chips.yaml";
constexpr std::string_view kCores = "cores";  // vendor of families of processors without a GPU

constexpr std::array kChipFamilies = {
    LlmFamily{"maxwell-soc", "nvidia", "cuda"},
    LlmFamily{"pascal", "nvidia", "cuda"},
    LlmFamily{"volta", "nvidia", "cuda"},
    LlmFamily{"volta-soc", "nvidia", "cuda"},
    LlmFamily{"turing", "nvidia", "cuda"},
    LlmFamily{"turing-plain", "nvidia", "cuda"},
    LlmFamily{"ampere", "nvidia", "cuda"},
    LlmFamily{"ampere-server", "nvidia", "cuda"},
    LlmFamily{"ampere-soc", "nvidia", "cuda"},
    LlmFamily{"ada", "nvidia", "cuda"},
    LlmFamily{"hopper", "nvidia", "cuda"},
    LlmFamily{"blackwell", "nvidia", "cuda"},
    LlmFamily{"blackwell-soc", "nvidia", "cuda"},
    LlmFamily{"apple-m1", "apple", "metal"},
    LlmFamily{"apple-m2", "apple", "metal"},
    LlmFamily{"apple-m3", "apple", "metal"},
    LlmFamily{"apple-m4", "apple", "metal"},
    LlmFamily{"apple-m5", "apple", "metal"},
    LlmFamily{"gcn", "amd", "vulkan"},
    LlmFamily{"rdna2", "amd", "rocm"},
    LlmFamily{"rdna3", "amd", "rocm"},
    LlmFamily{"rdna3-apu", "amd", "vulkan"},
    LlmFamily{"rdna4", "amd", "rocm"},
    LlmFamily{"alchemist", "intel", "vulkan"},
    LlmFamily{"battlemage", "intel", "vulkan"},
    LlmFamily{"xe-soc", "intel", "vulkan"},
    LlmFamily{"snapdragon", "qualcomm", "opencl", true},
    LlmFamily{"arm-cores", "cores", "cpu"},
    LlmFamily{"x86-cores", "cores", "cpu"},
    LlmFamily{"riscv-cores", "cores", "cpu"},
};

// From the GPU's file: its usable memory, and of its matrix units the half of the integer rate,
// where it has one (see chips.yaml).
void take_gpu(const Gpu& gpu, LlmChip& chip) {
  chip.bandwidth = gpu.memory.bandwidth;
  chip.memory = gpu.memory.usable.value_or(gpu.memory.capacity);
  chip.usable = gpu.memory.usable.has_value();
  chip.power = gpu.power;
  const bool bytes = gpu.supports(Dtype::kInt8);
  chip.matrix = bytes ? gpu.peak(Dtype::kInt8) * 0.5 : gpu.peak(Dtype::kFp16);
  chip.source = fmt::format("catalog/gpus/{}.yaml", gpu.id);
}

LlmChip read_chip(const Node& node, const Catalog& catalog,
                  const std::map<std::string, std::string>& sources) {
  LlmChip c;
  std::string family, gpu, source;
  Fields f;
  f.add("id", c.id, "how it is asked for").required();
  f.add("names", c.names, "words by which tables call it").required();
  f.add("family", family, "whose kernels it runs").required();
  f.add("gpu", gpu, "file of catalog/gpus with the facts");
  f.add("bandwidth", c.bandwidth, "of the memory");
  f.add("matrix", c.matrix, "rate of the matrix units");
  f.add("memory", c.memory, "largest configuration");
  f.add("power", c.power, "thermal design power");
  f.add("source", source, "key of the list of sources");
  f.add("shared", c.shared, "the memory is the system's");
  f.read(node);
  const auto found = std::find_if(kChipFamilies.begin(), kChipFamilies.end(),
                                  [&](const LlmFamily& k) { return k.name == family; });
  if (found == kChipFamilies.end()) node.fail(fmt::format("unknown family '{}'", family));
  c.family = &*found;
  if (!gpu.empty()) {
    take_gpu(catalog.gpu(gpu), c);
    return c;
  }
  if (c.bandwidth <= BytesPerSecond(0) || c.matrix <= FlopsPerSecond(0) || c.memory <= Bytes(0))
    node.fail("expected bandwidth, matrix and memory, or the gpu that has them");
  if (sources.count(source) == 0) node.fail(fmt::format("no source is called '{}'", source));
  c.source = sources.at(source);
  return c;
}

// Letters and digits in lower case; "18GPU" and "14+18" are two words each.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    constexpr std::string_view kCores = "gpu";
    if (word.size() > kCores.size() && word.ends_with(kCores) && std::isdigit(word[0]) != 0)
      word.resize(word.size() - kCores.size());
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += char(std::tolower(static_cast<unsigned char>(c)));
    } else {
      end_word();
    }
  }
  end_word();
  return words;
}

}  // namespace

LlmChips::LlmChips(const Bundle& bundle) {
  const auto file = bundle.find(kChipsPath);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kChipsPath));
  const Node node = parse_yaml(file->content, file->name);
  const Catalog catalog(bundle);
  std::map<std::string, std::string> sources;
  const auto none = [] { return nlohmann::ordered_json(); };
  Fields f;
  f.custom(
      "sources", Field::Type::kGroup,
      [&](const Node& map) {
        for (const std::string& key : map.keys()) sources[key] = map.at(key).as_string();
      },
      none, "where figures come from");
  f.custom(
      "chips", Field::Type::kList,
      [&](const Node& list) {
        for (const Node& item : list.items()) chips_.push_back(read_chip(item, catalog, sources));
      },
      none, "the chips");
  f.read(node);
  std::set<std::string> ids;
  for (const LlmChip& c : chips_) {
    if (!ids.insert(c.id).second) node.fail(fmt::format("two chips are called '{}'", c.id));
  }
}

const LlmChip* LlmChips::find(std::string_view id) const {
  const auto found =
      std::find_if(chips_.begin(), chips_.end(), [&](const LlmChip& c) { return c.id == id; });
  return found == chips_.end() ? nullptr : &*found;
}

const LlmChip& LlmChips::chip(std::string_view id) const {
  if (const LlmChip* found = find(id)) return *found;
  std::vector<std::string> ids;
  for (const LlmChip& c : chips_) ids.push_back(c.id);
  throw InputError(fmt::format("unknown device '{}'{}", id, did_you_mean(id, ids)));
}

const LlmChip* LlmChips::in_text(std::string_view text) const {
  const std::vector<std::string> words = words_of(text);
  const LlmChip* best = nullptr;
  std::size_t most = 0;
  for (const LlmChip& c : chips_) {
    for (const std::string& name : c.names) {
      const auto wanted = words_of(name);
      const bool all = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& w) {
        return std::find(words.begin(), words.end(), w) != words.end();
      });
      if (!all) continue;
      const bool cores = c.family->vendor == kCores;
      const bool instead = best != nullptr && best->family->vendor == kCores && !cores;
      const bool beside = best != nullptr && best->family->vendor != kCores && cores;
      if (instead || (!beside && wanted.size() > most)) best = &c, most = wanted.size();
    }
  }
  return best;
}

}  // namespace orrery
