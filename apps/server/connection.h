// One client of the server.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "apps/server/http_request.h"
#include "apps/server/workers.h"

namespace orrery::server {

struct Connection {
  enum class State {
    kReading,  // a request, or the wait for one
    kWaiting,  // for the answer of a worker
    kEnding,   // the reply is sent, then what still comes is thrown away for a moment
  };
  Connection(int descriptor, std::size_t max_body) : fd(descriptor), reader(max_body) {}

  int fd;
  State state = State::kReading;
  RequestReader reader;
  std::string out;       // bytes to send
  std::size_t sent = 0;  // of them
  Ticket ticket = 0;     // of the question that is being answered
  bool keep_alive = true;
  bool streams = false;            // the reply is a stream of events
  bool watched_for_write = false;  // with epoll
  ServeClock::time_point since;    // of the last thing that it did
  ServeClock::time_point began;    // of the request that is being read

  bool sends() const { return sent < out.size(); }
  std::size_t held() const { return out.capacity() + reader.buffered(); }
};

}  // namespace orrery::server
