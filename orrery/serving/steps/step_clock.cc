#include "orrery/serving/steps/step_clock.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace orrery {
namespace {

// The context of a node: 1 for node 0, then 16 nodes an octave, evenly spaced within each.
constexpr int kNodeBits = 4;

double context_of(std::size_t node) {
  const auto octave = static_cast<int>(node >> kNodeBits);
  const double step = static_cast<double>(node & ((1u << kNodeBits) - 1));
  return std::ldexp(1 + step / (1 << kNodeBits), octave);
}

// The last node at or below a context, and how far the context is beyond it, as a share of the way
// to the next node. A context below 1 is that much before node 0.
struct NodeBelow {
  explicit NodeBelow(double context) {
    if (context < 1) {
      beyond = (context - 1) * (1 << kNodeBits);
      return;
    }
    // A double's first 12 bits are sign and exponent, then follow the bits of the node.
    constexpr int kFraction = 52 - kNodeBits;
    constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
    const auto bits = std::bit_cast<std::uint64_t>(context);
    node = static_cast<std::size_t>((bits - kOne) >> kFraction);
    const std::uint64_t rest = bits & ((std::uint64_t{1} << kFraction) - 1);
    beyond = static_cast<double>(static_cast<std::int64_t>(rest)) * 0x1p-48;
  }
  std::size_t node = 0;
  double beyond = 0;
};
static_assert(kNodeBits == 4);  // of 0x1p-48

constexpr int kKeptBits = 13;  // 8192 steps are kept
// Steps are kept no longer if of this many fewer than one in kWorthKeeping was known: loads of
// unequal lengths repeat none.
constexpr std::int64_t kJudgedBy = 2048, kWorthKeeping = 64;

double mean(std::int64_t sum, std::int64_t n) {
  return n > 0 ? static_cast<double>(sum) / static_cast<double>(n) : 0;
}

}  // namespace

StepClock::StepClock(const StepModel& steps, StepScale scale, const LoraShape& lora)
    : asked_steps_(steps),
      memory_(steps.memories().take(steps.kernels())),
      steps_(steps.with(*memory_)),
      scale_(scale) {
  batch_.lora = lora;
}

StepClock::~StepClock() { asked_steps_.memories().give_back(std::move(memory_)); }

SimTime StepClock::time(const StepShape& step) {
  if (step.chunks.empty()) {
    const Counts counts = {step.decodes, step.verifies, step.verify_tokens, step.adapters};
    const double context = mean(step.decode_past + step.verify_past, step.decodes + step.verifies);
    if (step.verifies > 0 || step.adapters > 0)
      return sim_seconds(table_time(counts, others_[counts], context) * scale_.stretch);
    const auto n = static_cast<std::size_t>(step.decodes);
    if (n >= decode_.size()) decode_.resize(n + 1);
    return sim_seconds(table_time(counts, decode_[n], context) * scale_.stretch);
  }
  const bool kept = asked_prompts_ < kJudgedBy || known_prompts_ * kWorthKeeping >= kJudgedBy;
  if (!kept || step.chunks.size() > 1 || step.verifies > 0 || step.adapters > 0)
    return prompt_time(step);
  const PromptChunk& c = step.chunks.front();
  const OnePrompt one{step.decodes, step.decode_past, step.wave_tokens,
                      c.new_tokens, c.past,           c.sampled};
  prompts_.resize(std::size_t{1} << kKeptBits);
  std::uint64_t hash = 0;
  for (const std::int64_t part : {one.decode_past, one.decodes, one.wave_tokens,
                                  std::int64_t{one.new_tokens}, std::int64_t{one.past}})
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15u;
  Known& known = prompts_[hash >> (64 - kKeptBits)];
  ++asked_prompts_;
  if (known.step == one) {
    ++known_prompts_;
  } else {
    known = {one, prompt_time(step)};
  }
  return known.time;
}

std::size_t StepClock::decode_times(std::int64_t sequences, std::int64_t past,
                                    std::span<SimTime> times) {
  const Counts counts = {sequences, 0, 0, 0};
  const auto n = static_cast<std::size_t>(sequences);
  if (n >= decode_.size()) decode_.resize(n + 1);
  std::vector<float>& row = decode_[n];
  // The sum is that of table_time(); nodes are read again only where they change.
  std::size_t below = SIZE_MAX;
  double a = 0, slope = 0;
  const auto each = static_cast<double>(sequences);
  auto sum = static_cast<double>(past);  // whole numbers, which are exact
  for (SimTime& t : times) {
    const NodeBelow at(sum / each);
    sum += each;
    if (at.node != below) {
      below = at.node;
      if (row.size() < below + 2) row.resize(below + 2);
      a = node(counts, row, below);
      slope = node(counts, row, below + 1) - a;
    }
    t = sim_seconds((a + slope * at.beyond) * scale_.stretch);
  }
  return times.size();
}

SimTime StepClock::prompt_time(const StepShape& step) {
  const Counts counts = {step.decodes, step.verifies, step.verify_tokens, step.adapters};
  batch_.groups.clear();
  for (const PromptChunk& c : step.chunks)
    batch_.groups.push_back({1, c.new_tokens, static_cast<double>(c.past), c.sampled});
  add_decodes(counts, mean(step.decode_past, step.decodes), mean(step.verify_past, step.verifies));
  return sim_seconds(asked(step.wave_tokens) * scale_.stretch);
}

SimTime StepClock::latency(const StepShape& step) {
  if (steps_.plan().pp == 1) return time(step);
  if (!through_) {
    through_ = std::make_unique<StepClock>(asked_steps_, scale_);
    through_->all_stages_ = true;
    through_->batch_ = batch_;
  }
  return through_->time(step);
}

std::unique_ptr<StepTimer> StepClock::another() const {
  return std::make_unique<StepClock>(asked_steps_, scale_, batch_.lora);
}

double StepClock::asked(std::int64_t wave_tokens) {
  const std::int64_t dp = steps_.plan().dp;
  batch_.all_tokens = 0;
  if (dp > 1) batch_.all_tokens = wave_tokens > 0 ? wave_tokens : batch_.tokens() * dp;
  const auto off = [this](const Estimate<Seconds>& e) {
    if (scale_.deviations == 0) return 1.0;
    // Estimate::sigma() without std::hypot.
    return std::exp(scale_.deviations * std::sqrt(e.shared * e.shared + e.own * e.own));
  };
  if (all_stages_) {
    const Estimate<Seconds> whole = steps_.through_all_stages(batch_);
    return whole.value.value() * off(whole);
  }
  const StepTime t = steps_.time(batch_);
  if (steps_.plan().pp == 1) return t.total.value.value() * off(t.total);
  // The host works on one step while the stages compute others.
  return std::max(t.total.value - t.serial_host, t.serial_host).value() * off(t.total);
}

void StepClock::add_decodes(const Counts& counts, double decode_past, double verify_past) {
  const auto [decodes, verifies, tokens, adapters] = counts;
  batch_.adapters = adapters;
  if (decodes > 0) batch_.groups.push_back({decodes, 1, decode_past, true});
  if (verifies == 0) return;
  // Some sequences have one token more than the others, so that the sum is right.
  const std::int64_t each = tokens / verifies, longer = tokens % verifies;
  if (longer > 0) batch_.groups.push_back({longer, each + 1, verify_past, true, true});
  batch_.groups.push_back({verifies - longer, each, verify_past, true, true});
}

double StepClock::table_time(const Counts& counts, std::vector<float>& row, double context) {
  const NodeBelow at(context);
  if (row.size() < at.node + 2) row.resize(at.node + 2);
  const double a = node(counts, row, at.node), b = node(counts, row, at.node + 1);
  return a + (b - a) * at.beyond;
}

void StepClock::fill(const Counts& counts, std::vector<float>& row, std::size_t index) {
  batch_.groups.clear();
  add_decodes(counts, context_of(index), context_of(index));
  row[index] = static_cast<float>(asked(0));
}

}  // namespace orrery
