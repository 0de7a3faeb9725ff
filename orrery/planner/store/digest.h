// 128 bits that tell texts from each other: of the catalog, of files, of values in a store. Not for
// texts that somebody chooses in order to deceive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

class Digest {
 public:
  // Adds a text. The digest depends on where one text ends and the next one begins.
  void add(std::string_view text);
  std::uint64_t low() const { return lanes_[0]; }
  std::string hex() const;  // 32 digits

 private:
  std::uint64_t lanes_[2] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
};

// The first 64 bits of the digest of one text.
std::uint64_t hash_of(std::string_view text);

}  // namespace orrery
