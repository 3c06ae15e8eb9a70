// Buffers per thread.
#include "data/trace/segment_trace.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>

namespace crossdock::trace {
namespace {

// Written by one thread; `count` says how far others may read.
class Buffer {
 public:
  explicit Buffer(uint32_t capacity)
      : capacity_(capacity),
        chunks_((capacity + SegmentTrace::kChunkNotes - 1) / SegmentTrace::kChunkNotes) {}

  void add(const TimedNote& note) {
    const uint32_t count = count_.load(std::memory_order_relaxed);
    if (count == capacity_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const uint32_t at = count % SegmentTrace::kChunkNotes;
    auto& chunk = chunks_[count / SegmentTrace::kChunkNotes];
    if (at == 0) chunk = std::make_unique<TimedNote[]>(SegmentTrace::kChunkNotes);
    chunk[at] = note;
    count_.store(count + 1, std::memory_order_release);
  }

  // Any thread.
  void read(TraceNotes& into) const {
    const uint32_t count = count_.load(std::memory_order_acquire);
    for (uint32_t begin = 0; begin < count; begin += SegmentTrace::kChunkNotes) {
      const TimedNote* chunk = chunks_[begin / SegmentTrace::kChunkNotes].get();
      const uint32_t notes = std::min(count - begin, SegmentTrace::kChunkNotes);
      into.notes.insert(into.notes.end(), chunk, chunk + notes);
    }
    into.dropped += dropped_.load(std::memory_order_relaxed);
  }

 private:
  const uint32_t capacity_;
  std::vector<std::unique_ptr<TimedNote[]>> chunks_;
  std::atomic<uint32_t> count_{0};
  std::atomic<uint64_t> dropped_{0};
};

struct Run {
  std::mutex mutex;
  uint64_t number = 0;  // of the trace; a thread's buffer of an older one is not used again
  uint32_t notes_per_thread = 0;
  std::vector<std::shared_ptr<Buffer>> buffers;
};

Run& run() {
  static Run the_run;
  return the_run;
}
std::atomic<uint64_t> run_number{0};

// Monotonic, and the same for all processes of a host.
int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Buffer& own_buffer() {
  thread_local std::shared_ptr<Buffer> buffer;
  thread_local uint64_t number = 0;
  if (number != run_number.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(run().mutex);
    number = run().number;
    buffer = std::make_shared<Buffer>(run().notes_per_thread);
    run().buffers.push_back(buffer);
  }
  return *buffer;
}

}  // namespace

Status SegmentTrace::start(uint32_t notes_per_thread) {
  if (notes_per_thread == 0 || notes_per_thread > kNotesMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a trace of {} notes per thread is wanted; it takes from 1 to {}",
                      notes_per_thread,
                      kNotesMax);
  }
  const std::scoped_lock lock(run().mutex);
  if (is_on()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a trace is running in this process already; finish it first");
  }
  run().buffers.clear();
  run().notes_per_thread = notes_per_thread;
  run_number.store(++run().number, std::memory_order_release);
  is_on_.store(true, std::memory_order_release);
  return {};
}

void SegmentTrace::keep(const SegmentNote& note) { own_buffer().add({now_ns(), note}); }

Result<TraceNotes> SegmentTrace::finish() {
  const std::scoped_lock lock(run().mutex);
  if (!is_on()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "no trace is running in this process; start one");
  }
  is_on_.store(false, std::memory_order_release);
  TraceNotes notes;
  for (const auto& buffer : run().buffers) buffer->read(notes);
  run().buffers.clear();
  return notes;
}

}  // namespace crossdock::trace
