// An engine as a router sees it: as it is, or as it was when the router last looked.
//
// A router that counts the requests it sends and the answers that come back knows an engine's load
// at all times. One that reads the engines' metrics, or one of several beside each other, knows it
// as of its last look: all requests until the next go where it was least, which is then the
// fullest (herding; Mitzenmacher 2000, "How useful is old information?"). What prefix caches hold,
// and which engines are up, is seen as it is.
#pragma once

#include <cstdint>

#include "orrery/serving/engine/engine.h"

namespace orrery {

class EngineView {
 public:
  // Borrows both. `seen`: the load at the last look; null: it is looked at whenever it is asked.
  explicit EngineView(const Engine& engine, const EngineLoad* seen = nullptr)
      : engine_(&engine), seen_(seen) {}

  const ReplicaConfig& config() const { return engine_->config(); }
  std::int64_t outstanding() const { return seen_ ? seen_->outstanding : engine_->outstanding(); }
  std::int64_t waiting() const { return seen_ ? seen_->waiting : engine_->waiting(); }
  std::int64_t running() const { return seen_ ? seen_->running : engine_->running(); }
  std::int64_t kv_tokens() const { return engine_->kv_tokens(); }
  std::int32_t cached_prompt(std::uint32_t request) const {
    return engine_->cached_prompt(request);
  }
  // Until the first token of a prompt of `tokens` tokens that came now: the step under way, the
  // prompts ahead of it and its own, at the speed of a full step of prompts.
  SimTime predicted_ttft(std::int64_t tokens, SimTime now) const {
    return engine_->predicted_ttft(seen_ ? *seen_ : engine_->load(), tokens, now);
  }

 private:
  const Engine* engine_;
  const EngineLoad* seen_;
};

}  // namespace orrery
