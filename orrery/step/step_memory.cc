#include "orrery/step/step_memory.h"

#include <utility>

#include "orrery/step/remembered_parts.h"

namespace orrery {
namespace {

constexpr int kTokenBits = 11, kOutputBits = 9;  // 2048 and 512 sets of parts: 2 MB

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

const std::vector<StepPart>* RememberedParts::find(OpSource source, const StepTotals& totals,
                                                   const StepFacts& facts) const {
  const std::vector<Known>& all = source == OpSource::kTokens ? by_tokens_ : by_outputs_;
  const Key key = key_of(source, totals, facts);
  const Known& known = all[place_of(key) & (all.size() - 1)];
  return known.key == key ? &known.parts : nullptr;
}

void RememberedParts::keep(const StepTotals& totals, const StepFacts& facts,
                           std::span<const OpOrigin> origins, std::span<const StepPart> parts) {
  for (const OpSource source : {OpSource::kTokens, OpSource::kOutputs}) {
    std::vector<Known>& all = source == OpSource::kTokens ? by_tokens_ : by_outputs_;
    const Key key = key_of(source, totals, facts);
    Known& known = all[place_of(key) & (all.size() - 1)];
    known.key = key;
    known.parts.clear();
    for (std::size_t i = 0; i < origins.size(); ++i) {
      if (origins[i].source == source && !parts[i].left_out) known.parts.push_back(parts[i]);
    }
  }
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
