#include "orrery/scenario/kinds/kernel/sparse_blocks.h"

#include <algorithm>
#include <array>

namespace orrery {
namespace {

using Block = SparseAttentionBlock;

// Sizes of the models' config.json (catalog/models).
Block deepseek_v32() { return {}; }

Block glm_5() {
  Block b;
  b.hidden = 6144, b.q_rank = 2048;
  b.head_dim = b.value_dim = 256;
  b.index_heads = 32;
  return b;
}

Block glm_52_reuse() {
  Block b = glm_5();
  b.kind = Block::Kind::kDsaReuse;
  b.index_heads = 0;
  return b;
}

Block compressed(bool flash, bool heavy) {
  Block b;
  b.kind = heavy ? Block::Kind::kHca : Block::Kind::kCsa;
  b.hidden = flash ? 4096 : 7168;
  b.q_rank = flash ? 1024 : 1536;
  b.head_dim = b.value_dim = b.entry = 512;
  b.window = 128;
  b.compress = heavy ? 128 : 4;
  b.top_k = heavy ? 0 : flash ? 512 : 1024;
  b.overlapping = !heavy;
  if (heavy) b.index_heads = 0;
  b.o_rank = 1024;
  return b;
}

Block minimax_m3() {
  Block b;
  b.kind = Block::Kind::kMsa;
  b.hidden = 6144, b.q_rank = 0;
  b.head_dim = b.value_dim = b.block = 128;
  return b;
}

struct Named {
  const char* name;
  Block (*sizes)();
};
constexpr std::array kBlocks = {
    Named{"deepseek-v3.2", deepseek_v32},
    Named{"glm-5", glm_5},
    Named{"glm-5.2-reuse", glm_52_reuse},
    Named{"deepseek-v4-flash-csa", [] { return compressed(true, false); }},
    Named{"deepseek-v4-flash-hca", [] { return compressed(true, true); }},
    Named{"deepseek-v4-pro-csa", [] { return compressed(false, false); }},
    Named{"deepseek-v4-pro-hca", [] { return compressed(false, true); }},
    Named{"minimax-m3", minimax_m3}};

}  // namespace

const std::vector<std::string>& sparse_block_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Named& b : kBlocks) all.emplace_back(b.name);
    return all;
  }();
  return names;
}

Block sparse_block(std::string_view name, int heads) {
  const auto* its =
      std::find_if(kBlocks.begin(), kBlocks.end(), [&](const Named& b) { return name == b.name; });
  Block b = its->sizes();
  b.heads = heads;
  if (b.o_rank > 0) b.o_groups = std::max(1, heads / 8);  // 8 heads a group
  if (b.kind == Block::Kind::kMsa) {  // 16 query heads and one index head for each KV head
    b.kv_heads = b.index_heads = std::max(1, heads / 16);
    b.entry = 2 * b.head_dim * b.kv_heads;
  }
  return b;
}

}  // namespace orrery
