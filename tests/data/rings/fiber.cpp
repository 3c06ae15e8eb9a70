// Fibers: ucontext makes the stack and enters it once; after that _setjmp and _longjmp switch, since they make no
// system call. All is announced to the address sanitizer if there is one.
#include "data/rings/fiber.hpp"

#include <cstdint>
#include <utility>

// Null unless the program is linked with the address sanitizer, which has to know which stack is in use.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** frames,
                                                          const void* bottom,
                                                          size_t bytes);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* frames,
                                                           const void** bottom,
                                                           size_t* bytes);
}

namespace crossdock::rings {
namespace {

constexpr size_t kStackBytes = 64 << 10;

void announce_switch(void** frames, const void* bottom, size_t bytes) {
  if (__sanitizer_start_switch_fiber != nullptr)
    __sanitizer_start_switch_fiber(frames, bottom, bytes);
}

void announce_arrival(void* frames, const void** bottom, size_t* bytes) {
  if (__sanitizer_finish_switch_fiber != nullptr)
    __sanitizer_finish_switch_fiber(frames, bottom, bytes);
}

}  // namespace

Fiber::Fiber() : stack_(kStackBytes) {}

void Fiber::start(std::function<void()> body) {
  body_ = std::move(body);
  running_ = true;
  if (entered_) return;
  getcontext(&entry_);
  entry_.uc_stack.ss_sp = stack_.data();
  entry_.uc_stack.ss_size = stack_.size();
  entry_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&entry_,
              reinterpret_cast<void (*)()>(&Fiber::enter),
              2,
              static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
}

void Fiber::enter(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fiber*>(uintptr_t{high} << 32 | low);
  announce_arrival(nullptr, &self->outside_stack_, &self->outside_bytes_);
  // One entry for all bodies: the address sanitizer makes a second stack of its own for each.
  for (;;) {
    self->body_();
    self->running_ = false;
    self->pause();
  }
}

void Fiber::resume() {
  void* frames = nullptr;
  announce_switch(&frames, stack_.data(), stack_.size());
  if (_setjmp(outside_) == 0) {
    if (entered_) _longjmp(inside_, 1);
    entered_ = true;
    setcontext(&entry_);
  }
  announce_arrival(frames, nullptr, nullptr);
}

void Fiber::pause() {
  announce_switch(&inside_frames_, outside_stack_, outside_bytes_);
  if (_setjmp(inside_) == 0) _longjmp(outside_, 1);
  announce_arrival(inside_frames_, &outside_stack_, &outside_bytes_);
}

}  // namespace crossdock::rings
