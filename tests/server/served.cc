#include "tests/server/served.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

namespace orrery::server {

Served::Served(std::vector<std::string> flags) {
  std::array<int, 2> out{};
  if (pipe(out.data()) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> words = {ORRERY_PROGRAM, "serve", "--port", "0"};
  words.insert(words.end(), flags.begin(), flags.end());
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(out[1], STDOUT_FILENO);
    close(out[0]);
    close(out[1]);
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(out[1]);
  std::string line;
  for (char c; read(out[0], &c, 1) == 1 && c != '\n';) line += c;
  close(out[0]);
  const std::size_t colon = line.rfind(':');
  if (colon == std::string::npos) throw std::runtime_error("the server says: " + line);
  port_ = std::atoi(line.c_str() + colon + 1);
}

Served::~Served() { end(SIGKILL); }

int Served::end(int signal) {
  if (pid_ == 0) return -1;
  kill(pid_, signal);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int Served::connect() const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval most{30, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port_));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

void send_all(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

std::string read_all(int socket) {
  std::string all;
  std::array<char, 1 << 16> bytes;
  for (ssize_t n; (n = recv(socket, bytes.data(), bytes.size(), 0)) > 0;)
    all.append(bytes.data(), static_cast<std::size_t>(n));
  return all;
}

std::string Served::exchange(const std::string& bytes) const {
  const int fd = connect();
  send_all(fd, bytes);
  std::string all = read_all(fd);
  close(fd);
  return all;
}

std::string Served::get(const std::string& path, const std::string& headers) const {
  return exchange(
      fmt::format("GET {} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n{}\r\n", path,
                  port_, headers));
}

std::string Served::post(const std::string& verb, const std::string& body,
                         const std::string& headers) const {
  return exchange(
      fmt::format("POST /api/v1/{} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: "
                  "close\r\nContent-Length: {}\r\n{}\r\n{}",
                  verb, port_, body.size(), headers, body));
}

int status_of(const std::string& reply) {
  return reply.starts_with("HTTP/1.1 ") ? std::atoi(reply.c_str() + 9) : 0;
}

std::string body_of(const std::string& reply) {
  const std::size_t end = reply.find("\r\n\r\n");
  return end == std::string::npos ? "" : reply.substr(end + 4);
}

}  // namespace orrery::server
