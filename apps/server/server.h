// The server: one thread that speaks HTTP with all clients and hands questions to worker processes.
//
// It reads requests within limits of size and time, so that a client that sends slowly, half or too
// much costs a little memory for a little while and nobody else's time. Where all connections are
// taken, the one that has waited longest without a whole request gives way.
#pragma once

#include <string>
#include <vector>

#include "apps/server/limits.h"
#include "orrery/base/bundle.h"

namespace orrery::server {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8642;                 // 0: one that is free
  std::vector<std::string> names;  // host names of this machine that clients may use
  bool overlaid = false;           // the bundle has a folder of facts laid over it
  ServeLimits limits;
};

// Serves until SIGINT or SIGTERM. Says on standard output where, once it listens. InputError: the
// address cannot be had.
void serve(const Bundle& bundle, const ServeOptions& options);

}  // namespace orrery::server
