// Segments of random bytes, and good ones with a few bytes changed, packed and not: check_rows answers an error of its
// kind, or the segment reads as rows that pass the engine's own validation, byte by byte within its memory. The same
// of frames of such segments that a link brings to a flow, with any header: what the flow takes lies in its place and
// reads as rows, whatever came before.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "data/movers/incoming_flow.hpp"
#include "data/movers/sim_world.hpp"
#include "data/segments/row_ring.hpp"
#include "data/segments/segment_rows.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

using arrow_test::Columns;

// Of strings, bits, widths of all sizes, with NULLs and destinations.
Columns columns() {
  arrow_test::Random random(1);
  Columns random_columns;
  for (const std::string format : {"u", "b", "z", "d:12,2", "s"}) {
    random_columns.push_back(
        {format.substr(0, 1), arrow_test::random_array(format, 40, 0.2, random)});
  }
  return random_columns;
}

struct Known {
  std::shared_ptr<const segments::RowLayout> layout;
  std::vector<std::byte> packed;
  std::vector<std::byte> whole;  // as it lies in a ring
};

Known make_known() {
  Known known;
  const Batch batch = arrow_test::make_batch(columns());
  known.layout =
      segments::RowLayout::make(batch.schema,
                                {.segment_bytes = 8192, .text_bytes = 16, .has_destinations = true})
          .value();
  const segments::RowRing memory(*known.layout, 0);
  rings::RingProducer<rings::CpuRingTraits> producer(memory.ring());
  segments::SegmentFiller filler(known.layout);
  const std::vector<uint16_t> destinations(static_cast<size_t>(batch.rows), 3);
  CD_CHECK(filler.set_batch(batch, destinations).ok(), "a batch");
  uint64_t heap_bytes = 0;
  for (uint32_t row = 0; row < 40; ++row) heap_bytes += filler.heap_bytes_of(row);
  CD_CHECK(producer.offer().rows >= 40, "room");
  const rings::Ticket ticket = producer.take(40, heap_bytes);
  CD_CHECK(ticket.rows == 40, "room");
  filler.fill_run(producer.segment(ticket), ticket, 0);
  producer.commit(ticket);
  producer.seal();
  const uint64_t bytes = known.layout->segments().bytes;
  const std::byte* segment = memory.ring().segment(0);
  known.whole.assign(segment, segment + bytes);
  known.packed.resize(bytes);
  known.packed.resize(segments::pack_segment(*known.layout, segment, known.packed.data()));
  return known;
}

const Known& known() {
  static const Known one = make_known();
  return one;
}

void read_strings(const Batch& batch, size_t column) {
  const ColumnView& view = batch.columns[column];
  uint64_t sum = 0;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const std::string text = arrow_test::cell(batch.schema->fields[column].type, view, row);
    for (const char one : text) sum += static_cast<uint8_t>(one);
  }
  CD_CHECK(sum < UINT64_MAX, "read");
}

void read_batch(const segments::RowLayout& layout, const std::byte* segment) {
  const Batch batch = segments::segment_batch(layout, segment, nullptr);
  CD_CHECK(batch.rows <= layout.segments().rows_max, "{} rows", batch.rows);
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const auto valid = validate_column(batch.schema->fields[i], batch.columns[i]);
    CD_CHECK(valid.ok(), "{}", valid.error().message);
    read_strings(batch, i);
  }
}

// `bytes` are copied to a block of exactly their size, so that the address sanitizer sees a read beyond it.
void read(std::span<const std::byte> bytes) {
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{rings::kRingLineBytes});
    }
  };
  const std::unique_ptr<std::byte, Free> memory(static_cast<std::byte*>(
      ::operator new (std::max<size_t>(bytes.size(), 1), std::align_val_t{rings::kRingLineBytes})));
  std::copy(bytes.begin(), bytes.end(), memory.get());
  const segments::RowLayout& layout = *known().layout;
  const Status checked = segments::check_rows(layout, memory.get(), bytes.size());
  if (!checked.ok()) {
    CD_CHECK(checked.error().code == ErrorCode::kMalformedMessage, "{}", checked.error().message);
    CD_CHECK(!checked.error().message.empty(), "an error without words");
    return;
  }
  read_batch(layout, memory.get());
  const rings::SegmentHeader& header = *reinterpret_cast<const rings::SegmentHeader*>(memory.get());
  CD_CHECK(segments::segment_destinations(layout, memory.get()).size() == header.rows,
           "destinations");
  // What can be read can be packed, and then reads again.
  std::vector<std::byte> packed(layout.segments().bytes);
  const uint64_t packed_bytes = segments::pack_segment(layout, memory.get(), packed.data());
  const Status again = segments::check_rows(layout, packed.data(), packed_bytes);
  CD_CHECK(again.ok(), "{}", again.error().message);
}

// A header whose numbers are small mostly, or those of a good segment, with its payload in `bytes`.
rings::SegmentHeader frame_header(const uint8_t* choices, std::span<std::byte> bytes) {
  rings::SegmentHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = rings::kSegmentMagic;
  header.from_rank = 1;
  header.sequence = choices[0] % 4;
  header.raw_bytes = header.bytes = static_cast<uint32_t>(bytes.size() - sizeof header);
  if (choices[1] % 4 == 0) header.bytes += choices[2] * 97U;
  if (choices[1] % 8 == 1) header.raw_bytes = header.bytes += choices[2];
  if (choices[1] % 8 == 2) header.rows = choices[2];
  if (choices[1] % 8 == 3) header.heap_bytes = choices[2] * 16U;
  if (choices[1] % 8 == 5) reinterpret_cast<uint8_t*>(&header)[choices[2] % sizeof header] ^= 1;
  return header;
}

// A row of frames to one flow, with a consumer that reads what it is given.
void arrive(const uint8_t* data, size_t size) {
  constexpr size_t kChoices = 6;  // bytes for a frame
  const auto& layout = known().layout;
  movers::mover_test::FlowMemory memory(layout->ring_shape(1));
  const rings::Ring& ring = memory.flow.ring;
  movers::MovedFlow moved;
  moved.peer = 1;
  moved.flow = memory.flow;
  moved.layout = layout;
  movers::MoverSettings settings;
  settings.checksums = false;  // what lies behind them is looked for
  movers::IncomingFlow flow(moved, settings);
  rings::RingConsumer<rings::CpuRingTraits> consumer(ring);
  for (size_t at = 0; at + kChoices <= std::min<size_t>(size, 60); at += kChoices) {
    const uint8_t* const choices = data + at;
    std::vector<std::byte> bytes = choices[3] % 2 == 0 ? known().packed : known().whole;
    if (choices[3] % 4 >= 2) bytes[(choices[4] * 37U) % bytes.size()] = std::byte{choices[5]};
    const rings::SegmentHeader header = frame_header(choices, bytes);
    if (!flow.check(header, 2).ok()) continue;
    std::byte* const place = flow.place(header);
    if (place == nullptr) continue;
    const std::byte* const begin = ring.segment(ring.slot_of(header.sequence));
    CD_CHECK(place == begin + sizeof header, "a place elsewhere");
    CD_CHECK(header.bytes <= ring.shape.segment_bytes - sizeof header, "{}", header.bytes);
    bytes.resize(sizeof header + header.bytes, std::byte{0x55});
    std::copy(bytes.begin() + sizeof header, bytes.end(), place);
    if (!flow.placed(header).ok()) return;  // the end of its channel
    for (const std::byte* segment = consumer.front(); segment != nullptr && choices[5] % 3 != 0;
         segment = consumer.front()) {
      read_batch(*layout, segment);
      consumer.recycle();
    }
  }
}

// A few bytes of a good segment changed, most of them in front, where header and views are.
void read_changed(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes = data[0] % 2 == 0 ? known().packed : known().whole;
  for (size_t at = 1; at + 3 <= std::min<size_t>(size, 13); at += 3) {
    const size_t place = data[at] % 4 == 0 ? data[at + 1] % sizeof(rings::SegmentHeader)
                                           : size_t{data[at + 1]} * 256 + data[at];
    bytes[place % bytes.size()] = std::byte{data[at + 2]};
  }
  if (data[0] % 16 == 3) bytes.resize(bytes.size() - std::min<size_t>(bytes.size(), data[0]));
  read(bytes);
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size == 0) return 0;
  if (data[0] % 8 == 6) {
    arrive(data + 1, size - 1);
  } else if (data[0] % 8 == 7) {
    read(std::as_bytes(std::span(data, size)));
  } else {
    read_changed(data, size);
  }
  return 0;
}
