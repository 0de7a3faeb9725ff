#include "tests/law/reference_simulator.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "tests/law/reference_memory.h"

namespace orrery::serving_run {
namespace {

struct Job {
  std::uint32_t id = 0;
  int prompt = 0, output = 0, priority = 0;
  int out = 0;       // output tokens that are out
  int pending = 0;   // being made by steps that have not ended
  int computed = 0;  // tokens in memory
  int hits = 0;
  bool prefilling = true;  // what it had when it was admitted is not computed yet
  bool seen = false;
  std::vector<std::size_t> blocks;

  int length() const { return prompt + out + pending; }
  bool all_made() const { return out + pending == output; }
};

struct Part {
  Job* job;
  int tokens;
};

struct Step {
  std::vector<Job*> makes;
  std::int64_t duration = 0, end = 0;
};

class Reference {
 public:
  explicit Reference(const Case& c)
      : case_(c),
        limits_(c.config.engine.scheduler),
        block_(static_cast<int>(c.config.engine.memory.block_size)),
        memory_(c.config.kv_blocks) {
    result_.requests.resize(c.load.requests.size());
    for (std::uint32_t i = 0; i < c.load.requests.size(); ++i) {
      const Request& r = c.load.requests[i];
      Job job;
      job.id = i;
      job.prompt = r.input;
      job.output = r.output;
      job.priority = r.priority;
      jobs_.push_back(job);
    }
  }

  EngineRun simulate() {
    std::size_t next = 0;
    while (true) {
      const bool more = next < jobs_.size();
      if (!more && under_way_.empty()) break;
      if (more &&
          (under_way_.empty() || case_.load.requests[next].arrival.ps <= under_way_.front().end)) {
        now_ = case_.load.requests[next].arrival.ps;
        queue(&jobs_[next++]);
      } else {
        now_ = under_way_.front().end;
        end_step();
      }
      look_for_work();
    }
    result_.free_blocks = memory_.free();
    return result_;
  }

 private:
  // ---- time ----

  void look_for_work() {
    const std::size_t most = case_.config.async() ? 2 : 1;
    while (under_way_.size() < most && !nothing_to_do_) {
      const std::size_t evictions = result_.evicted.size();
      parts_.clear();
      evicted_now_ = 0;
      plan();
      if (!parts_.empty()) {
        add_step();
      } else if (!under_way_.empty()) {
        nothing_to_do_ = true;
      } else if (result_.evicted.size() == evictions) {
        return;
      }
    }
  }

  void add_step() {
    Step step;
    StepShape shape;
    std::vector<PromptChunk> chunks;
    for (const Part& p : parts_) {
      Job& j = *p.job;
      if (!j.seen) {
        j.seen = true;
        result_.admitted.push_back(j.id);
        result_.requests[j.id].scheduled = {now_};
        result_.requests[j.id].cached = j.hits;
      }
      const int past = j.computed;
      result_.prompt_tokens += std::max(0, std::min(j.prompt - past, p.tokens));
      j.computed += p.tokens;
      const bool makes = j.computed == j.length();
      if (p.tokens == 1 && past > 0) {
        ++shape.decodes;
        shape.decode_past += past;
      } else {
        chunks.push_back({p.tokens, past, makes});
      }
      if (!makes) continue;
      j.prefilling = false;
      ++j.pending;
      step.makes.push_back(&j);
    }
    shape.chunks = chunks;
    result_.steps.push_back(text_of(shape));
    step.duration = step_ps(shape);
    result_.busy += step.duration;
    step.end = now_ + step.duration;  // of one behind another it is set when that one ends
    under_way_.push_back(step);
  }

  void end_step() {
    const Step step = under_way_.front();
    under_way_.pop_front();
    nothing_to_do_ = false;
    for (Job* j : step.makes) {
      --j->pending;
      ++j->out;
      result_.requests[j->id].tokens.push_back({now_});
      if (j->out < j->output) continue;
      result_.requests[j->id].finished = true;
      result_.end = {now_};
      free_blocks(*j);
      std::erase(running_, j);
      std::erase(waiting_, j);
    }
    if (!under_way_.empty()) under_way_.front().end = now_ + under_way_.front().duration;
  }

  // ---- the queue ----

  // Whether a goes before b in a queue that is kept in order.
  bool before(const Job* a, const Job* b) const {
    const int x = limits_.order == QueueOrder::kPriority ? a->priority : a->length();
    const int y = limits_.order == QueueOrder::kPriority ? b->priority : b->length();
    return x != y ? x < y : a->id < b->id;
  }

  void queue(Job* j) {
    waiting_.push_back(j);
    if (limits_.order != QueueOrder::kFcfs)
      std::stable_sort(waiting_.begin(), waiting_.end(),
                       [this](const Job* a, const Job* b) { return before(a, b); });
  }

  void evict(Job* j) {
    std::erase(running_, j);
    free_blocks(*j);
    j->computed = 0;
    ++result_.requests[j->id].evictions;
    result_.evicted.push_back(j->id);
    ++evicted_now_;
    if (limits_.order == QueueOrder::kFcfs) {
      waiting_.insert(waiting_.begin(), j);
    } else {
      queue(j);
    }
  }

  // ---- memory ----

  int blocks_for(int tokens) const { return (tokens + block_ - 1) / block_; }

  // Names of the first `tokens` tokens: those of the tree of prompts, or nobody else's.
  Names names(const Job& j, int tokens) const {
    const Request& r = case_.load.requests[j.id];
    Names out;
    for (int t = 0; t < tokens; ++t) {
      const auto id = static_cast<std::uint32_t>(t / case_.load.id_tokens);
      const bool known = t < j.prompt && id < r.ids;
      out.push_back(known ? case_.load.ids[r.first_id + id] : ~std::uint64_t{j.id});
    }
    return out;
  }

  // Cached blocks that a waiting job can start from.
  std::vector<std::size_t> hits(const Job& j) const {
    std::vector<std::size_t> out;
    if (!limits_.prefix_caching) return out;
    const int size = block_;
    for (int end = size; end <= j.length() - 1; end += size) {
      const auto b = memory_.find(names(j, end));
      if (!b) break;
      out.push_back(*b);
    }
    return out;
  }

  // Blocks that must be free for a job to hold `tokens`, those of its hits that are free included.
  std::int64_t free_needed(const Job& j, int tokens) const {
    const auto h = hits(j);
    std::int64_t n = blocks_for(tokens) - static_cast<std::int64_t>(h.size());
    for (std::size_t b : h) n += !memory_.used(b);
    return n;
  }

  void take_hits(Job& j) {
    for (std::size_t b : hits(j)) {
      memory_.use(b);
      j.blocks.push_back(b);
    }
    j.computed = j.hits = static_cast<int>(j.blocks.size()) * block_;
  }

  bool hold(Job& j, int tokens) {
    if (blocks_for(tokens) - static_cast<std::int64_t>(j.blocks.size()) > memory_.free())
      return false;
    while (static_cast<int>(j.blocks.size()) < blocks_for(tokens))
      j.blocks.push_back(memory_.take());
    return true;
  }

  // Memory for the next `n` tokens; blocks that they fill with known tokens can be found.
  bool extend(Job& j, int n) {
    if (!hold(j, j.computed + n)) return false;
    if (!limits_.prefix_caching) return true;
    const int known = std::min(j.computed + n, j.prompt + j.out);
    for (int b = 0; (b + 1) * block_ <= known; ++b) {
      memory_.name(j.blocks[static_cast<std::size_t>(b)], names(j, (b + 1) * block_));
    }
    return true;
  }

  void free_blocks(Job& j) {
    std::reverse(j.blocks.begin(), j.blocks.end());
    for (std::size_t b : j.blocks) memory_.give_back(b);
    j.blocks.clear();
  }

  // ---- schedulers ----

  void plan() {
    if (limits_.policy == "vllm") {
      plan_v1();
    } else if (limits_.policy == "vllm-v0") {
      plan_v0();
    } else if (limits_.policy == "sarathi") {
      plan_sarathi();
    } else if (limits_.policy == "static") {
      plan_static();
    } else {
      throw std::logic_error("no reference of " + limits_.policy);
    }
  }

  bool seats() const { return static_cast<std::int64_t>(running_.size()) < limits_.max_num_seqs; }

  // The head of the queue runs, with `n` tokens in this step.
  Job& start_head() {
    Job* j = waiting_.front();
    waiting_.erase(waiting_.begin());
    running_.push_back(j);
    j->prefilling = true;
    take_hits(*j);
    return *j;
  }

  int hit_tokens(const Job& j) const { return static_cast<int>(hits(j).size()) * block_; }

  int used_budget() const {
    int n = 0;
    for (const Part& p : parts_) n += p.tokens;
    return n;
  }
  int budget() const { return static_cast<int>(limits_.max_num_batched_tokens) - used_budget(); }

  void plan_v1() {
    const int threshold = static_cast<int>(case_.threshold);
    const auto cap = [&](int n) { return threshold > 0 ? std::min(n, threshold) : n; };
    // Everyone who runs now, in order, unless evicted meanwhile.
    const std::vector<Job*> order = running_;
    for (Job* j : order) {
      if (budget() == 0) break;
      if (std::find(running_.begin(), running_.end(), j) == running_.end()) continue;
      if (j->all_made()) continue;
      const int n = std::min(cap(j->length() - j->computed), budget());
      bool fits = extend(*j, n);
      while (!fits) {
        Job* loser = running_.back();
        if (limits_.order == QueueOrder::kPriority) {
          for (Job* k : running_) {
            if (k->priority > loser->priority ||
                (k->priority == loser->priority && k->id > loser->id))
              loser = k;
          }
        }
        std::erase_if(parts_, [&](const Part& p) { return p.job == loser; });
        evict(loser);
        if (loser == j) break;
        fits = extend(*j, n);
      }
      if (!fits) break;
      parts_.push_back({j, n});
    }
    if (evicted_now_ > 0) return;
    int newcomers = 0;
    while (!waiting_.empty() && budget() > 0 && seats()) {
      const Job& j = *waiting_.front();
      int n = cap(j.length() - hit_tokens(j));
      const bool over = n > limits_.max_num_batched_tokens;
      if (!limits_.chunked_prefill && n > budget() && !(over && newcomers == 0)) break;
      if (limits_.chunked_prefill) n = std::min(n, budget());
      if (free_needed(j, j.length()) > memory_.free()) break;
      Job& started = start_head();
      extend(started, n);
      parts_.push_back({&started, n});
      ++newcomers;
      if (budget() < 0) break;
    }
  }

  // Evicts the last running job until a block is free or j itself was evicted. Returns whether j
  // still runs.
  bool free_one_for(Job* j) {
    while (memory_.free() == 0 && running_.size() > 1) {
      Job* last = running_.back();
      evict(last);
      if (last == j) return false;
    }
    return true;
  }

  bool leaves_watermark(const Job& j) const {
    const std::int64_t kept = running_.empty() ? 0 : memory_.size() / 100;
    return memory_.free() - free_needed(j, j.length()) >= kept;
  }

  void plan_v0() {
    const std::vector<Job*> old = running_;
    int longest = 0;
    while (!waiting_.empty() && seats() && leaves_watermark(*waiting_.front())) {
      const Job& j = *waiting_.front();
      const int n = j.length() - hit_tokens(j);
      longest = std::max(longest, n);
      const auto padded = static_cast<std::int64_t>(parts_.size() + 1) * longest;
      if (!parts_.empty() && padded > limits_.max_num_batched_tokens) break;
      Job& started = start_head();
      extend(started, n);
      parts_.push_back({&started, n});
    }
    if (!parts_.empty()) {
      for (Job* j : old) {
        if (!j->all_made()) ++result_.requests[j->id].stalls;
      }
      return;
    }
    for (Job* j : old) {
      if (std::find(running_.begin(), running_.end(), j) == running_.end()) continue;
      if (j->all_made() || !free_one_for(j)) continue;
      extend(*j, 1);
      parts_.push_back({j, 1});
    }
  }

  void plan_sarathi() {
    const std::vector<Job*> old = running_;
    for (Job* j : old) {
      if (std::find(running_.begin(), running_.end(), j) == running_.end()) continue;
      if (j->prefilling || j->all_made() || !free_one_for(j)) continue;
      extend(*j, 1);
      parts_.push_back({j, 1});
    }
    for (Job* j : running_) {
      if (!j->prefilling || budget() <= 0) continue;
      const int n = std::min(j->length() - j->computed, budget());
      extend(*j, n);
      parts_.push_back({j, n});
    }
    if (evicted_now_ > 0) return;
    while (!waiting_.empty() && budget() > 0 && seats() && leaves_watermark(*waiting_.front())) {
      Job& j = start_head();
      const int n = std::min(j.length() - j.computed, budget());
      extend(j, n);
      hold(j, j.length());
      parts_.push_back({&j, n});
    }
  }

  void plan_static() {
    if (running_.empty()) {
      while (!waiting_.empty() && seats()) {
        const Job& head = *waiting_.front();
        if (free_needed(head, head.prompt + head.output - 1) > memory_.free()) break;
        Job& j = start_head();
        hold(j, j.prompt + j.output - 1);
      }
    }
    for (Job* j : running_) {
      if (!j->prefilling) continue;
      int n = j->length() - j->computed;
      if (budget() <= 0) break;
      if (n > budget() && limits_.chunked_prefill) n = budget();
      if (n > budget() && !parts_.empty()) break;
      extend(*j, n);
      parts_.push_back({j, n});
    }
    const bool prompts = !parts_.empty();
    for (Job* j : running_) {
      if (j->all_made() || j->prefilling) continue;
      if (prompts) {
        ++result_.requests[j->id].stalls;
        continue;
      }
      extend(*j, 1);
      parts_.push_back({j, 1});
    }
  }

  const Case& case_;
  const EngineProfile::Scheduler& limits_;
  const int block_;  // tokens
  ReferenceMemory memory_;
  std::vector<Job> jobs_;
  std::vector<Job*> waiting_, running_;
  std::list<Step> under_way_;
  bool nothing_to_do_ = false;  // until a step ends
  std::vector<Part> parts_;     // of the step that is being planned
  int evicted_now_ = 0;         // by the plan that is being made
  std::int64_t now_ = 0;
  EngineRun result_;
};

}  // namespace

EngineRun reference_run(const Case& c) { return Reference(c).simulate(); }

}  // namespace orrery::serving_run
