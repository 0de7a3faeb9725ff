// An engine as a router sees it: with its present load, or with its load at the router's last look.
//
// A router that counts the requests it sends and the answers that come back always knows an
// engine's load. A router that reads the engines' metrics, or one of several routers, knows the
// load of its last look. Until the next look all requests go where the load was least, which is
// then the fullest engine (herding; Mitzenmacher 2000, "How useful is old information?"). Contents
// of prefix caches and which engines are up are always seen as they are.
#pragma once

#include <cstdint>

#include "orrery/serving/engine/engine.h"

namespace orrery {

class EngineView {
 public:
  // Borrows both. `seen`: the load at the last look; null: the router sees the present load.
  explicit EngineView(const Engine& engine, const EngineLoad* seen = nullptr)
      : engine_(&engine), seen_(seen) {}

  const ReplicaConfig& config() const { return engine_->config(); }
  std::int64_t outstanding() const { return seen_ ? seen_->outstanding : engine_->outstanding(); }
  std::int64_t waiting() const { return seen_ ? seen_->waiting : engine_->waiting(); }
  std::int64_t running() const { return seen_ ? seen_->running : engine_->running(); }
  std::int64_t kv_tokens() const { return engine_->kv_tokens(); }
  bool fits(const Request& request) const { return engine_->fits(request); }
  std::int32_t cached_prompt(std::uint32_t request) const {
    return engine_->cached_prompt(request);
  }
  // Predicted time to the first token of a prompt of `tokens` tokens that arrives now: the rest of
  // the step under way, then the prompts ahead and its own, at the speed of a full step of prompts.
  SimTime predicted_ttft(std::int64_t tokens, SimTime now) const {
    return engine_->predicted_ttft(seen_ ? *seen_ : engine_->load(), tokens, now);
  }

 private:
  const Engine* engine_;
  const EngineLoad* seen_;
};

}  // namespace orrery
