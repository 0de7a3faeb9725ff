#include "orrery/base/random.h"

#include <cmath>

#include "orrery/base/estimate.h"

namespace orrery {

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 14695981039346656037ull;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      stream_(hash_text(name)) {}

std::uint64_t RandomStream::bits() {
  const auto r =
      philox({static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32),
              static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
             key_);
  ++index_;
  return (static_cast<std::uint64_t>(r[0]) << 32) | r[1];
}

double RandomStream::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

std::uint64_t RandomStream::below(std::uint64_t n) {
  const std::uint64_t limit = -n % n;  // 2^64 mod n: numbers below it would be drawn once too often
  std::uint64_t v = bits();
  while (v < limit) v = bits();
  return v % n;
}

double RandomStream::normal() {
  // 52 bits and a half: exact in a double, so that the quantile's argument is never 0 or 1.
  return normal_quantile((static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52);
}

double RandomStream::exponential() { return -std::log1p(-uniform()); }

}  // namespace orrery
