// A worker process: answers questions, one after the other, that the server sends it.
//
// It is a child of the server, without any of the server's connections. It opens no files (see
// sealed.h, and by a limit of the system none at all), writes none, and has a limit of memory. The
// server ends it when its question is cancelled or takes too long, and starts another.
#pragma once

#include "apps/server/limits.h"
#include "orrery/base/bundle.h"

namespace orrery::server {

// Serves the socket until it is closed. `quick`: refuses questions that are long. `overlaid`: the
// bundle has a folder of facts laid over it, whose files are opened while questions are answered.
void work(int socket, bool quick, const Bundle& bundle, bool overlaid, const ServeLimits& limits);

}  // namespace orrery::server
