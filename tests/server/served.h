// The program as a server, for tests: started on a free port, and ended with the test.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace orrery::server {

class Served {
 public:
  explicit Served(std::vector<std::string> flags = {});
  ~Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  int port() const { return port_; }
  pid_t pid() const { return pid_; }
  // A connected socket; reads end after 30 s.
  int connect() const;
  // Sends the bytes and reads until the other end closes.
  std::string exchange(const std::string& bytes) const;
  // The whole reply to a request that closes the connection. `headers`: lines, each with its end.
  std::string get(const std::string& path, const std::string& headers = "") const;
  std::string post(const std::string& verb, const std::string& body,
                   const std::string& headers = "Content-Type: application/json\r\n") const;
  // Ends it with a signal; the exit code.
  int end(int signal);

 private:
  pid_t pid_ = 0;
  int port_ = 0;
};

std::string read_all(int socket);
void send_all(int socket, const std::string& bytes);
int status_of(const std::string& reply);
std::string body_of(const std::string& reply);

}  // namespace orrery::server
