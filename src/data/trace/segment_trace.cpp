// Buffers per thread, and the file made of them.
#include "data/trace/segment_trace.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crossdock {
namespace {

struct TimedNote {
  int64_t at_ns = 0;
  SegmentNote note;
};

// Written by one thread; `count` says how far others may read.
struct Buffer {
  explicit Buffer(uint32_t capacity) : notes(capacity) {}

  std::vector<TimedNote> notes;
  std::atomic<uint32_t> count{0};
  std::atomic<uint64_t> dropped{0};
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

// Monotonic and the same for all processes of a host, so that their traces can be laid over each other.
int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Buffer* own_buffer() {
  thread_local std::shared_ptr<Buffer> buffer;
  thread_local uint64_t number = 0;
  if (number != run_number.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(run().mutex);
    number = run().number;
    buffer = std::make_shared<Buffer>(run().notes_per_thread);
    run().buffers.push_back(buffer);
  }
  return buffer.get();
}

const char* stage_after(SegmentStep step) {
  switch (step) {
    case SegmentStep::kPublished:
      return "waits in its ring";
    case SegmentStep::kPut:
      return "on a link";
    case SegmentStep::kArrived:
      return "waits for its receiver";
    case SegmentStep::kTaken:
      return "in use";
    case SegmentStep::kGivenBack:
      return "free";
  }
  return "";
}

using SegmentKey = std::tuple<uint64_t, uint16_t, uint16_t, uint64_t>;

SegmentKey key_of(const SegmentNote& note) {
  return {note.channel, note.source, note.outlet, note.sequence};
}

// One slice from a note to the next of the same segment in this process.
void append_slice(std::string& json, const TimedNote& from, const TimedNote& to, int rank) {
  const SegmentNote& note = from.note;
  const auto id =
      fmt::format("c{}.{}.{}.{}", note.channel, note.source, note.outlet, note.sequence);
  const auto begin_us = static_cast<double>(from.at_ns) / 1e3;
  const auto end_us = static_cast<double>(to.at_ns) / 1e3;
  json += fmt::format(
      R"({{"ph":"b","cat":"segment","id":"{}","name":"{}","pid":{},"tid":0,"ts":{:.3f},)"
      R"("args":{{"channel":{},"source":{},"outlet":{},"sequence":{},"link":{}}}}},)"
      "\n",
      id,
      stage_after(note.step),
      rank,
      begin_us,
      note.channel,
      note.source,
      note.outlet,
      note.sequence,
      note.detail);
  json += fmt::format(
      R"({{"ph":"e","cat":"segment","id":"{}","name":"{}","pid":{},"tid":0,"ts":{:.3f}}},)"
      "\n",
      id,
      stage_after(note.step),
      rank,
      end_us);
}

// A broadcast segment is taken more than once, so notes of one step may repeat; a stage ends where the next begins.
std::string slices(std::vector<TimedNote> notes, int rank) {
  std::map<SegmentKey, std::vector<TimedNote>> of_segment;
  for (const TimedNote& note : notes) of_segment[key_of(note.note)].push_back(note);
  std::string json;
  for (auto& [key, steps] : of_segment) {
    std::ranges::stable_sort(steps, {}, &TimedNote::at_ns);
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      if (steps[i].note.step == SegmentStep::kGivenBack) continue;
      append_slice(json, steps[i], steps[i + 1], rank);
    }
  }
  return json;
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

void SegmentTrace::keep(const SegmentNote& note) {
  Buffer& buffer = *own_buffer();
  const uint32_t count = buffer.count.load(std::memory_order_relaxed);
  if (count == buffer.notes.size()) {
    buffer.dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  buffer.notes[count] = {now_ns(), note};
  buffer.count.store(count + 1, std::memory_order_release);
}

Result<std::string> SegmentTrace::finish(int rank) {
  const std::scoped_lock lock(run().mutex);
  if (!is_on()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "no trace is running in this process; start one");
  }
  is_on_.store(false, std::memory_order_release);
  std::vector<TimedNote> notes;
  uint64_t dropped = 0;
  for (const auto& buffer : run().buffers) {
    const uint32_t count = buffer->count.load(std::memory_order_acquire);
    notes.insert(notes.end(), buffer->notes.begin(), buffer->notes.begin() + count);
    dropped += buffer->dropped.load(std::memory_order_relaxed);
  }
  run().buffers.clear();
  const size_t count = notes.size();
  return fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"notes\":{},\"dropped\":{}}},\"traceEvents\":["
      "\n{}"
      R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"rank {}"}}}})"
      "\n]}}\n",
      count,
      dropped,
      slices(std::move(notes), rank),
      rank,
      rank);
}

}  // namespace crossdock
