// The room for one request in the empty KV memory of an engine.
#pragma once

#include "orrery/serving/engine/replica.h"
#include "orrery/serving/requests/request.h"

namespace orrery {

class KvRoom {
 public:
  // Borrows `engine`. Throws InputError for an unknown scheduler.
  explicit KvRoom(const ReplicaConfig& engine);
  // Whether the KV cache of a request fits. The last token is never cached, and an engine that
  // prefills caches the prompt only.
  bool takes(const Request& request) const;

 private:
  const ReplicaConfig& engine_;
  // Prompts take their blocks chunk by chunk. False: a prompt that is not cut into chunks, or gets
  // its blocks whole, has them all at once.
  const bool in_chunks_;
};

}  // namespace orrery
