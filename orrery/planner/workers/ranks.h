// Processes, or threads, that send each other texts. Rank 0 is the one that answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

class Ranks {
 public:
  struct Message {
    int from = 0;
    std::string text;
  };

  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Messages from one rank to another arrive in the order in which they were sent.
  virtual void send(int to, std::string text) = 0;
  // A message that is there, without waiting.
  virtual std::optional<Message> receive() = 0;
};

// Threads of one process, each with one of these.
std::vector<std::unique_ptr<Ranks>> thread_ranks(int size);

}  // namespace orrery
