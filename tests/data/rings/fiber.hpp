// Fibers: several stacks on one thread, switched by hand. What the model of memory (model.hpp) runs actors on, so that
// it can stop each before every access.
#pragma once

#include <cstddef>
#include <functional>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

namespace crossdock::rings {

// Used by one thread. A body must not let exceptions out.
class Fiber {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the fiber ready to run `body`; the body before must have ended.
  void start(std::function<void()> body);
  // From outside: runs the body until it pauses or ends.
  void resume();
  // From inside: back to who resumed.
  void pause();
  bool is_running() const { return running_; }

 private:
  static void enter(unsigned high, unsigned low);

  std::vector<std::byte> stack_;
  std::function<void()> body_;
  ucontext_t entry_{};
  jmp_buf inside_;
  jmp_buf outside_;
  const void* outside_stack_ = nullptr;
  size_t outside_bytes_ = 0;
  void* inside_frames_ = nullptr;
  bool running_ = false;
  bool entered_ = false;
};

}  // namespace crossdock::rings
