// Rings inside a kernel: blocks that append rows of one 8-byte column (and a column of strings, if the segments have a
// heap), and a block that folds them. They are what a GPU
// is tried with, and they instantiate the whole protocol for the device, so that a change of it that no kernel can
// compile fails here.
#include "data/rings/block_coop.cuh"
#include "data/rings/kernel_driver.cuh"
#include "data/rings/ring_consumer.hpp"
#include "data/rings/ring_producer.hpp"
#include "data/rings/segment_bits.hpp"
#include "data/rings/segment_layout.hpp"
#include "data/rings/sequence_window.hpp"
#include "gpu/ring_kernels.cuh"

namespace crossdock::rings {
namespace {

static_assert(Coop<BlockCoop>);

constexpr uint32_t kTextLane = 1;

// Appends the numbers first, first + 1, … of one block; odd ones are NULL if the lane has validity. A text is one unit
// of the heap, which says the number twice.
template <class Traits>
struct AppendActor {
  RingProducer<Traits> producer;
  const SegmentLayout* layout;
  uint64_t next;
  uint64_t end;
  uint32_t batch_rows;
  bool sealed = false;

  template <Coop C>
  __device__ Step step(const C& coop) {
    if (next == end) return finish(coop);
    const uint64_t left = end - next;
    const Ticket ticket =
        reserve(left < batch_rows ? static_cast<uint32_t>(left) : batch_rows, coop);
    if (ticket.rows == 0) return Step::kIdle;
    std::byte* segment = producer.segment(ticket);
    auto* values = layout->lane<uint64_t>(segment, 0);
    uint64_t* validity = layout->validity(segment, 0);
    for (uint32_t row = coop.rank(); row < ticket.rows; row += coop.size()) {
      values[ticket.first + row] = next + row;
      if (validity != nullptr)
        or_bits<Traits>(validity, ticket.first + row, 1, (next + row + 1) & 1);
      if (layout->heap_bytes != 0) write_text(segment, ticket, row);
    }
    producer.commit(ticket, coop);
    next += ticket.rows;
    return Step::kProgress;
  }

  template <Coop C>
  __device__ Ticket reserve(uint32_t rows, const C& coop) {
    if (layout->heap_bytes == 0) return producer.reserve(rows, 1, coop);
    const Room room = producer.offer(coop);
    if (room.rows == 0) return {};
    const uint64_t units = room.heap_bytes / kHeapUnitBytes;
    if (units == 0) {
      producer.pass_on(1, kHeapUnitBytes, coop);
      return {};
    }
    if (rows > room.rows) rows = room.rows;
    if (rows > units) rows = static_cast<uint32_t>(units);
    return producer.take(rows, rows * uint64_t{kHeapUnitBytes}, coop);
  }

  __device__ void write_text(std::byte* segment, const Ticket& ticket, uint32_t row) const {
    const uint32_t from = ticket.heap_first + row * kHeapUnitBytes;
    auto* text = reinterpret_cast<uint64_t*>(segment + layout->heap_offset + from);
    text[0] = text[1] = next + row;
    const auto prefix = static_cast<uint32_t>(next + row);
    layout->lane<uint4>(segment, kTextLane)[ticket.first + row] =
        make_uint4(kHeapUnitBytes, prefix, 0, from);
  }

  template <Coop C>
  __device__ Step finish(const C& coop) {
    if (sealed) return Step::kDone;
    producer.seal(coop);
    sealed = true;
    return Step::kProgress;
  }
};

// Adds up the values of all rows until there were as many as are expected.
template <class Traits>
struct FoldActor {
  RingConsumer<Traits> consumer;
  const SegmentLayout* layout;
  uint64_t expected_rows;
  uint64_t sum = 0;
  uint64_t rows = 0;

  template <Coop C>
  __device__ Step step(const C& coop) {
    if (rows == expected_rows) return Step::kDone;
    if (!consumer.try_lock(coop)) return Step::kIdle;
    const std::byte* segment = consumer.front(0, coop);
    if (segment != nullptr) fold(segment, coop);
    consumer.unlock(coop);
    return segment != nullptr ? Step::kProgress : Step::kIdle;
  }

  template <Coop C>
  __device__ void fold(const std::byte* segment, const C& coop) {
    const uint32_t segment_rows = reinterpret_cast<const SegmentHeader*>(segment)->rows;
    const auto* values = layout->lane<uint64_t>(segment, 0);
    uint64_t mine = 0;
    for (uint32_t row = coop.rank(); row < segment_rows; row += coop.size()) {
      mine += values[row];
      if (layout->heap_bytes != 0) check_text(segment, row, values[row]);
    }
    sum += coop.sum(mine);
    rows += segment_rows;
    consumer.recycle(1, coop);
  }

  __device__ void check_text(const std::byte* segment, uint32_t row, uint64_t value) const {
    const uint4 view = layout->lane<uint4>(segment, kTextLane)[row];
    const auto* text = reinterpret_cast<const uint64_t*>(segment + layout->heap_offset + view.w);
    Traits::require(view.x == kHeapUnitBytes && text[0] == value && text[1] == value);
  }
};

static_assert(sizeof(AppendAndFold) <= 4096, "what a launch can pass");

}  // namespace

// Block 0 folds, all others append.
template <class Traits>
__global__ void __launch_bounds__(kAppendThreadsMax)
    append_and_fold(const __grid_constant__ AppendAndFold work) {
  const BlockCoop coop;
  KernelEnd end;
  if (blockIdx.x == 0) {
    const uint64_t expected = work.rows_per_block * (gridDim.x - 1);
    FoldActor<Traits> actor{RingConsumer<Traits>(work.ring), &work.layout, expected};
    end = drive_block(actor, work.limits, coop);
    if (coop.rank() == 0) *work.sum = actor.sum;
  } else {
    const uint64_t first = work.rows_per_block * (blockIdx.x - 1);
    AppendActor<Traits> actor{RingProducer<Traits>(work.ring),
                              &work.layout,
                              first,
                              first + work.rows_per_block,
                              work.batch_rows};
    end = drive_block(actor, work.limits, coop);
  }
  if (coop.rank() == 0) work.ends[blockIdx.x] = static_cast<uint32_t>(end);
}

template class RingProducer<CudaRingTraits>;
template class RingConsumer<CudaRingTraits>;
template class SequenceWindow<CudaRingTraits>;

int launch_append_and_fold(const AppendAndFold& work, const AppendLaunch& launch) {
  const auto stream = static_cast<cudaStream_t>(launch.stream);
  if (launch.appending_blocks == 1) {
    append_and_fold<CudaStageRingTraits><<<2, launch.threads, 0, stream>>>(work);
  } else {
    append_and_fold<CudaRingTraits>
        <<<launch.appending_blocks + 1, launch.threads, 0, stream>>>(work);
  }
  return static_cast<int>(cudaGetLastError());
}

}  // namespace crossdock::rings
