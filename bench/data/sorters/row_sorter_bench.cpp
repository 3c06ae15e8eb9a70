// What a row costs on its way from a batch into sort rings: routing, listing by outlet, filling.
//
//   row_sorter_bench [part of the name of the columns to run [number of outlets]]
//
// A thread sends 2^22 rows in batches of 2^16 and takes the segments out again at once, unread. Best of 9 in CPU time
// of the one thread, so that other processes matter less.
//
// The bound: a row is read and written once, which memcpy of its bytes does too; "bound" is that time, with the 6 bytes
// of its outlet and its place in a list. Beside it stands the scatter of joins (RadixScatter::put), which moves
// rows of 8-byte words to as many places in the same memory, in the same run.
//
// Tried, and no faster: columns prefetched before a block is listed, while it is, or while the block before it is
// filled; blocks of 128 KiB to 2 MiB.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "data/rings/place_ring.hpp"
#include "data/rings/ring_consumer.hpp"
#include "data/sorters/list_rows.hpp"
#include "data/sorters/radix_scatter.hpp"
#include "data/sorters/row_router.hpp"
#include "data/sorters/row_sorter.hpp"
#include "memory/budget.hpp"
#include "table/word_mix.hpp"

namespace crossdock {
namespace {

constexpr int64_t kRows = int64_t{1} << 22;
constexpr int64_t kBatchRows = int64_t{1} << 16;
constexpr int kRuns = 9;
constexpr int kOutlets[] = {2, 4, 8, 64, 512};
constexpr uint64_t kRingsBytes = uint64_t{64}
                              << 20;  // of all rings together, if two segments are not more

struct Case {
  std::string_view name;
  std::vector<std::string_view> formats;
  // Read and written; of a text its offset, its view and its bytes count half each.
  int64_t row_bytes;
  int lanes;  // of the scatter
};

const Case kCases[] = {
    {"int64", {"l"}, 8, 1},
    {"int64, int64", {"l", "l"}, 16, 2},
    {"int64, utf8 of 20", {"l", "u"}, 8 + 20 + (4 + 16) / 2, 0},
};

double cpu_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Nanoseconds per row, best of all runs.
double measure(const std::function<void()>& work) {
  double best = 1e300;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = cpu_ns();
    work();
    best = std::min(best, cpu_ns() - begin);
  }
  return best / static_cast<double>(kRows);
}

// Random columns, and the memory under them.
class Source {
 public:
  Source(const Case& work, Memory& memory) {
    auto schema = std::make_shared<Schema>();
    for (const std::string_view format : work.formats) {
      const char name = static_cast<char>('a' + schema->fields.size());
      schema->fields.push_back(Field{{name}, parse_arrow_format(format).value(), true, ""});
      ColumnView view;
      view.length = kRows;
      if (format == "u") {
        auto* offsets = take(memory, (kRows + 1) * 4).as<int32_t>();
        for (int64_t row = 0; row <= kRows; ++row) offsets[row] = static_cast<int32_t>(row * 20);
        view.offsets = offsets;
      }
      const int64_t words = format == "u" ? kRows * 20 / 8 : kRows;
      auto* values = take(memory, words * 8).as<uint64_t>();
      for (int64_t i = 0; i < words; ++i) values[i] = next_random(seed_);
      view.values = reinterpret_cast<const uint8_t*>(values);
      columns_.push_back(view);
    }
    schema_ = std::move(schema);
  }

  const SchemaPtr& schema() const { return schema_; }
  const uint64_t* words(size_t column) const { return columns_[column].data<uint64_t>(); }
  Batch batch(int64_t begin) const {
    Batch batch{schema_, kBatchRows, {}, nullptr};
    for (const ColumnView& column : columns_) {
      batch.columns.push_back(slice(column, begin, kBatchRows));
      batch.columns.back().null_count = 0;
    }
    return batch;
  }

 private:
  const Block& take(Memory& memory, int64_t bytes) {
    return blocks_.emplace_back(std::move(memory.get(bytes, "bench").value()));
  }

  uint64_t seed_ = 1;
  SchemaPtr schema_;
  std::deque<Block> blocks_;
  std::vector<ColumnView> columns_;
};

class Rings {
 public:
  Rings(const segments::RowLayout& layout, int outlets, Memory& memory) {
    const uint64_t segments =
        kRingsBytes / layout.segments().bytes / static_cast<uint64_t>(outlets);
    const int slot_bits = std::bit_width(std::clamp<uint64_t>(segments, 2, 8)) - 1;
    const rings::RingShape shape = layout.ring_shape(slot_bits);
    const size_t bytes = rings::ring_bytes(shape);
    block_ = std::move(memory.get(static_cast<int64_t>(bytes) * outlets, "bench").value());
    std::memset(block_.data(), 0, bytes * static_cast<size_t>(outlets));
    for (int o = 0; o < outlets; ++o) {
      auto* at = block_.as<std::byte>() + bytes * static_cast<size_t>(o);
      rings_.push_back(rings::place_ring(shape, {at, bytes}).value());
      consumers_.emplace_back(rings_.back());
    }
  }

  std::span<const rings::Ring> all() const { return rings_; }
  void take(std::vector<uint16_t>& published) {
    for (const uint16_t outlet : published) consumers_[outlet].recycle();
    published.clear();
  }

 private:
  Block block_;
  std::vector<rings::Ring> rings_;
  std::vector<rings::RingConsumer<rings::CpuRingTraits>> consumers_;
};

double measure_memcpy(int64_t row_bytes, Memory& memory) {
  const auto bytes = static_cast<size_t>(kRows * row_bytes);
  const Block from = std::move(memory.get(kRows * row_bytes, "bench").value());
  const Block to = std::move(memory.get(kRows * row_bytes, "bench").value());
  std::memset(from.data(), 1, bytes);
  return measure([&] {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
  });
}

double measure_scatter(const Source& source, int outlets, int lanes, Memory& memory) {
  if (lanes == 0) return 0;
  const uint64_t* carry = lanes > 1 ? source.words(1) : nullptr;
  return measure([&] {
    sorters::RadixScatter scatter(
        memory,
        {.partition_bits = std::countr_zero(static_cast<unsigned>(outlets)),
         .carried_lanes = lanes - 1,
         .segment_rows = sorters::segment_rows_for(kRows, outlets),
         .who = "bench"});
    CD_CHECK(scatter.open().ok(), "memory");
    for (int64_t begin = 0; begin < kRows; begin += 1024) {
      const uint64_t* words = source.words(0) + begin;
      CD_CHECK(scatter.put(words, carry == nullptr ? nullptr : carry + begin, 1024).ok(), "memory");
    }
    CD_CHECK(scatter.finish().ok(), "memory");
  });
}

void run(const Case& work, const Source& source, int outlets, Memory& memory) {
  const auto layout = segments::RowLayout::make(source.schema(), {.text_bytes = 20}).value();
  const sorters::RouteSpec spec{.by = sorters::RouteBy::kKey, .keys = {0}, .destinations = outlets};
  const auto router = std::move(sorters::RowRouter::make(source.schema(), spec).value());
  std::vector<uint16_t> numbers(kRows);
  const double route_ns = measure([&] {
    for (int64_t begin = 0; begin < kRows; begin += kBatchRows) {
      const auto out = std::span(numbers).subspan(static_cast<size_t>(begin), kBatchRows);
      CD_CHECK(router->route(source.batch(begin), 0, out).ok(), "a route");
    }
  });
  sorters::RowLists lists(sorters::RowSorter::block_rows(*layout, static_cast<size_t>(outlets)),
                          outlets);
  const double list_ns = measure([&] {
    for (int64_t begin = 0; begin < kRows; begin += lists.block_rows()) {
      const auto count = std::min<int64_t>(lists.block_rows(), kRows - begin);
      lists.list(std::span(numbers).subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
                 static_cast<uint32_t>(begin));
    }
  });
  Rings rings(*layout, outlets, memory);
  sorters::RowSorter whole(layout, rings.all());
  std::vector<uint16_t> published;
  const double sort_ns = measure([&] {
    for (int64_t begin = 0; begin < kRows; begin += kBatchRows) {
      const auto out = std::span(numbers).subspan(static_cast<size_t>(begin), kBatchRows);
      CD_CHECK(whole.accept(source.batch(begin), out).ok(), "a batch");
      while (whole.pending_rows() > 0) {
        whole.push(published);
        rings.take(published);
      }
    }
  });
  const double bound_ns = measure_memcpy(work.row_bytes + 6, memory);
  const double scatter_ns = measure_scatter(source, outlets, work.lanes, memory);
  const double total_ns = route_ns + sort_ns;
  const bool has_scatter = work.lanes != 0;
  fmt::print("{:<18} {:>7} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} {:>7.2f} {:>8} {:>11}\n",
             work.name,
             outlets,
             route_ns,
             list_ns,
             sort_ns - list_ns,
             total_ns,
             bound_ns,
             has_scatter ? fmt::format("{:.2f}", scatter_ns) : "-",
             has_scatter ? fmt::format("{:.0f}%", scatter_ns / total_ns * 100) : "-");
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  using namespace crossdock;
  const std::string_view columns = argc > 1 ? argv[1] : "";
  const int outlets_only = argc > 2 ? std::atoi(argv[2]) : 0;
  fmt::print("ns per row and thread\n{:<18} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8} {:>11}\n",
             "columns",
             "outlets",
             "route",
             "list",
             "fill",
             "all",
             "bound",
             "scatter",
             "of its rate");
  const auto memory = Memory::create(int64_t{4} << 30);
  for (const Case& work : kCases) {
    if (work.name.find(columns) == std::string_view::npos) continue;
    const Source source(work, *memory);
    for (const int outlets : kOutlets) {
      if (outlets_only == 0 || outlets_only == outlets) run(work, source, outlets, *memory);
    }
  }
  return 0;
}
