#include "apps/face/runner_pool.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace orrery::face {
namespace {

constexpr int kMostCalls = 10'000;

bool names_file(const Node& node) {
  if (node.is_scalar()) {
    constexpr std::size_t kLongestPath = 4096;
    const std::string& text = node.text();
    if (text.find_first_of("./") == text.npos || text.size() > kLongestPath) return false;
    std::error_code ignored;
    return std::filesystem::exists(text, ignored);
  }
  const auto& items = node.items();
  return std::any_of(items.begin(), items.end(), names_file);
}

}  // namespace

RunnerPool::Lease::~Lease() {
  if (pool_ == nullptr || calls_ >= kMostCalls) return;
  const std::lock_guard lock(pool_->mutex_);
  pool_->kept_.push_back({std::move(runner_), calls_});
}

RunnerPool::Lease RunnerPool::take(const Node& document) {
  if (names_file(document)) return {nullptr, std::make_unique<Runner>(Bundle()), 0};
  Kept kept;
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty()) {
      kept = std::move(kept_.back());
      kept_.pop_back();
    }
  }
  if (!kept.runner) kept.runner = std::make_unique<Runner>(Bundle());
  return {this, std::move(kept.runner), kept.calls + 1};
}

RunnerPool::Lease RunnerPool::with_catalog(const std::string& folder) {
  return {nullptr, std::make_unique<Runner>(Bundle(folder)), 0};
}

}  // namespace orrery::face
