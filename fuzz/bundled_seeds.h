// Seeds from the bundled catalog, so that no copies of its files lie in fuzz/corpus: a mutator that
// now and then begins again at one of them. Include it in one fuzzer and define kSeedFolder there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace orrery {

extern const std::string_view kSeedFolder;  // below catalog/: "gpus/"

inline const std::vector<std::string_view>& bundled_seeds() {
  static const std::vector<std::string_view> kSeeds = [] {
    std::vector<std::string_view> seeds;
    for (const BundledFile& f : bundled_files()) {
      if (f.path.starts_with(kSeedFolder)) seeds.push_back(f.content);
    }
    return seeds;
  }();
  return kSeeds;
}

}  // namespace orrery

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned random) {
  constexpr unsigned kBeginAgain = 64;
  const auto& seeds = orrery::bundled_seeds();
  if (random % kBeginAgain == 0 && !seeds.empty()) {
    const std::string_view seed = seeds[random / kBeginAgain % seeds.size()];
    if (seed.size() <= max_size) {
      std::memcpy(data, seed.data(), seed.size());
      size = seed.size();
      if (random / kBeginAgain / seeds.size() % 4 == 0) return size;
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
