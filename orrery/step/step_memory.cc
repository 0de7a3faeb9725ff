#include "orrery/step/step_memory.h"

#include <utility>

#include "orrery/step/remembered_parts.h"

namespace orrery {
namespace {

constexpr int kTokenBits = 13, kOutputBits = 9;  // 8192 sums and 512 sets of parts: at most 5 MB

}  // namespace

RememberedParts::RememberedParts()
    : by_tokens_(std::size_t{1} << kTokenBits), by_outputs_(std::size_t{1} << kOutputBits) {}

RememberedParts::Key RememberedParts::key_of(OpSource source, const StepTotals& totals,
                                             const StepFacts& facts) {
  Key key;
  if (source == OpSource::kTokens) {
    key.rows = totals.tokens, key.all_tokens = totals.all_tokens;
  } else {
    key.rows = totals.outputs;
  }
  key.stage = totals.stage;
  key.decoding = totals.decodes_only, key.shared_stream = facts.shared_stream;
  key.first_stage = facts.first_stage;
  return key;
}

std::size_t RememberedParts::place_of(const Key& key) {
  const auto rest =
      static_cast<std::uint64_t>(key.stage * 4 + key.decoding * 2 + key.shared_stream);
  return static_cast<std::size_t>(static_cast<std::uint64_t>(key.rows) +
                                  rest * 0x9E3779B97F4A7C15u);
}

const PartSum* RememberedParts::of_tokens(const StepTotals& totals, const StepFacts& facts,
                                          bool kinds) const {
  const Key key = key_of(OpSource::kTokens, totals, facts);
  return by_tokens_[place_of(key) & (by_tokens_.size() - 1)].with(key, kinds);
}

const std::vector<StepPart>* RememberedParts::of_outputs(const StepTotals& totals,
                                                         const StepFacts& facts, bool kinds) const {
  const Key key = key_of(OpSource::kOutputs, totals, facts);
  return by_outputs_[place_of(key) & (by_outputs_.size() - 1)].with(key, kinds);
}

void RememberedParts::keep(const StepTotals& totals, const StepFacts& facts, bool kinds,
                           const PartSum& of_tokens, std::vector<StepPart> of_outputs) {
  const auto into = [&](auto& all, OpSource source, auto what) {
    const Key key = key_of(source, totals, facts);
    auto& known = all[place_of(key) & (all.size() - 1)];
    known = {key, std::make_unique<decltype(what)>(std::move(what)), kinds};
  };
  into(by_tokens_, OpSource::kTokens, of_tokens);
  into(by_outputs_, OpSource::kOutputs, std::move(of_outputs));
}

std::int64_t RememberedParts::padded(const EngineProfile& engine, std::int64_t tokens) {
  constexpr std::int64_t kMostKept = 1 << 12;
  if (tokens < 0 || tokens >= kMostKept) return padded_tokens(engine, tokens);
  const auto at = static_cast<std::size_t>(tokens);
  if (at >= padded_.size()) padded_.resize(at + 1);
  if (padded_[at] == 0) padded_[at] = padded_tokens(engine, tokens);
  return padded_[at];
}

StepMemory::StepMemory(const KernelModel& kernels)
    : kernels_(kernels), parts_(std::make_unique<RememberedParts>()) {}
StepMemory::~StepMemory() = default;

std::unique_ptr<StepMemory> StepMemories::take(const KernelModel& kernels) {
  const std::lock_guard lock(mutex_);
  if (unused_.empty()) return std::make_unique<StepMemory>(kernels);
  std::unique_ptr<StepMemory> memory = std::move(unused_.back());
  unused_.pop_back();
  return memory;
}

void StepMemories::give_back(std::unique_ptr<StepMemory> memory) {
  const std::lock_guard lock(mutex_);
  unused_.push_back(std::move(memory));
}

}  // namespace orrery
