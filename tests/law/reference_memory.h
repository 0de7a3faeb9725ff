// The KV memory of the reference simulator (tests/law/reference_simulator.h), written plainly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

namespace orrery::serving_run {

// The names of a sequence's tokens. Equal names mean equal tokens.
using Names = std::vector<std::uint64_t>;

// Blocks of tokens, each with the names of all tokens up to its end, and a list of free blocks.
class ReferenceMemory {
 public:
  explicit ReferenceMemory(std::int64_t blocks) : blocks_(static_cast<std::size_t>(blocks)) {
    for (std::size_t b = 0; b < blocks_.size(); ++b) free_.push_back(b);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  std::size_t take() {
    const std::size_t b = free_.front();
    free_.pop_front();
    blocks_[b] = Block{1, std::nullopt, 0};
    return b;
  }
  void give_back(std::size_t b) {
    if (--blocks_[b].users == 0) free_.push_back(b);
  }
  void use(std::size_t b) {
    if (blocks_[b].users++ == 0) free_.remove(b);
  }
  bool used(std::size_t b) const { return blocks_[b].users > 0; }
  void name(std::size_t b, const Names& names) {
    if (blocks_[b].names) return;
    blocks_[b].names = names;
    blocks_[b].named_at = ++clock_;
  }
  // The block that got these names first.
  std::optional<std::size_t> find(const Names& names) const {
    std::optional<std::size_t> best;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b].names == names && (!best || blocks_[b].named_at < blocks_[*best].named_at))
        best = b;
    }
    return best;
  }

 private:
  struct Block {
    int users = 0;
    std::optional<Names> names;
    int named_at = 0;
  };
  std::vector<Block> blocks_;
  std::list<std::size_t> free_;
  int clock_ = 0;
};

}  // namespace orrery::serving_run
