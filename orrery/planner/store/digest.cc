#include "orrery/planner/store/digest.h"

#include <fmt/format.h>

#include <cstring>

namespace orrery {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

void Digest::add(std::string_view text) {
  const auto word = [this](std::uint64_t w) {
    lanes_[0] = mixed(lanes_[0] ^ w);
    lanes_[1] = mixed(lanes_[1] + w * 0x9fb21c651e98df25u);
  };
  word(text.size());
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t w = 0;
    std::memcpy(&w, text.data(), sizeof w);
    word(w);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, text.data(), text.size());
  word(rest);
}

std::string Digest::hex() const { return fmt::format("{:016x}{:016x}", lanes_[0], lanes_[1]); }

std::uint64_t hash_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.low();
}

}  // namespace orrery
