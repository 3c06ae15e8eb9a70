// Listens for a ControlServer and accepts its connections, which are then handed to gRPC.
//
// gRPC's own listener ends for good once accept fails for want of file descriptors (1.51 does not wait on it again), so
// that a burst of idle connections would leave a server that never answers anybody. This one keeps some descriptors
// free for the rest of the process: what comes while fewer are left is closed at once, and callers try again by
// themselves. Cost: a thread that sleeps, and two calls of the system per connection. Twice a second it gives memory
// back to the system that is free in the process.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"

namespace crossdock::control {

class ConnectionAcceptor {
 public:
  using Take = std::function<void(int listener_fd,
                                  Descriptor connection)>;  // called by the acceptor's thread

  // `address` as ServerSettings::listen has it; a host may have several addresses. Errors: kControllerUnreachable (the
  // host is unknown; none of its addresses can be listened on).
  static Result<std::unique_ptr<ConnectionAcceptor>> listen(const std::string& address);
  ~ConnectionAcceptor();  // calls `take` no more

  void start(Take take);  // once

  const std::string& address() const {
    return address_;
  }                                             // with the port that was taken for port 0
  int64_t refused() const { return refused_; }  // connections closed since descriptors ran low

 private:
  ConnectionAcceptor() = default;
  Status listen_on_path(const std::string& path);
  Status listen_on_host(const std::string& address);
  Status listen_at(const sockaddr& where, socklen_t size);
  void accept_until_stopped(const Take& take);
  bool accept_one(int listener, const Take& take);

  std::string address_;
  std::string path_;  // of a socket in the file system, which ends with us
  std::vector<Descriptor> listeners_;
  Descriptor stop_;  // an event: readable once the thread shall end
  std::atomic<int64_t> refused_ = 0;
  std::thread thread_;
};

}  // namespace crossdock::control
