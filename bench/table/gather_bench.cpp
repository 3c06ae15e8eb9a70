// How fast gathers write their output, beside memcpy of as many bytes: by width and by how the refs lie.
//
//   gather_bench [part of the name of the columns to run [part of the name of the refs]]
//
// Tables are 1 GiB (or 2^27 rows), in 64 batches unless the case says otherwise; an output has 2^20 rows.
// Best of 15 in CPU time of the one thread, so that other processes matter less. The share of memcpy counts written
// bytes only: random refs also load a cache line per row, so 64 / width times what they write.

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "table/gather.hpp"

namespace crossdock {
namespace {

constexpr int64_t kTableBytes = int64_t{1} << 30;
constexpr int64_t kMaxRows = int64_t{1} << 27;
constexpr int64_t kOutputRows = int64_t{1} << 20;
constexpr int kRuns = 15;

struct Case {
  std::string_view name;
  std::string_view format;
  int64_t row_bytes;   // of the table, to size it
  int64_t text_bytes;  // of each text in an offsets layout
  int64_t batches = 64;
  bool nulls = false;
};

constexpr Case kCases[] = {
    {"1 byte", "c", 1, 0},
    {"2 bytes", "s", 2, 0},
    {"4 bytes", "i", 4, 0},
    {"8 bytes", "l", 8, 0},
    {"8 bytes, one batch", "l", 8, 0, 1},
    {"8 bytes, nulls", "l", 8, 0, 64, true},
    {"16 bytes", "d:20,2", 16, 0},
    {"bits", "b", 1, 0},
    {"views", "vu", 16, 0},
    {"utf8 of 8", "u", 12, 8},
    {"utf8 of 25", "u", 29, 25},
    {"utf8 of 25, nulls", "u", 29, 25, 64, true},
    {"utf8 of 100", "u", 104, 100},
};

enum class Refs { kRandom, kRun, kRepeated, kSelected };
constexpr std::pair<Refs, std::string_view> kPatterns[] = {
    {Refs::kRandom, "random"},
    {Refs::kRun, "in order"},
    {Refs::kRepeated, "each 4 times"},
    {Refs::kSelected, "2 of 5"},
};

// One column of random bits, and the memory under it.
struct Source {
  Source(const Case& work, const std::shared_ptr<Memory>& budget) : memory(budget) {
    Schema schema;
    schema.fields.push_back(Field{"c", parse_arrow_format(work.format).value(), true, ""});
    store = std::make_unique<RowStore>(std::make_shared<const Schema>(schema));
    const DataType& type = store->schema()->fields[0].type;
    const int64_t total = std::min(kMaxRows, kTableBytes / work.row_bytes);
    batch_rows = total / work.batches;
    rows = batch_rows * work.batches;
    for (int64_t b = 0; b < work.batches; ++b) {
      ColumnView view;
      view.length = batch_rows;
      const int64_t width = work.text_bytes > 0 ? work.text_bytes : std::max(1, fixed_bytes(type));
      view.values = fill(batch_rows * width);
      if (work.text_bytes > 0) view.offsets = offsets(work.text_bytes);
      if (layout(type) == Layout::kViews) make_inline(view);
      if (work.nulls) view.validity = fill(batch_rows / 8 + 8);
      first_refs.push_back(store->add(Batch{store->schema(), batch_rows, {view}, nullptr}).value());
    }
    store->freeze();
  }

  RowRef ref(int64_t row) const {
    return static_cast<RowRef>(first_refs[row / batch_rows] + row % batch_rows);
  }
  uint64_t next() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state ^ (state >> 33);
  }
  uint8_t* fill(int64_t bytes) {
    auto block = memory->get(bytes + 8, "bench");
    blocks.push_back(std::move(block.value()));
    auto* words = blocks.back().as<uint64_t>();
    for (int64_t i = 0; i <= bytes / 8; ++i) words[i] = next();
    return blocks.back().data();
  }
  void* offsets(int64_t text_bytes) {
    auto* out = reinterpret_cast<int32_t*>(fill((batch_rows + 1) * 4));
    for (int64_t i = 0; i <= batch_rows; ++i) out[i] = static_cast<int32_t>(i * text_bytes);
    return out;
  }
  static void make_inline(const ColumnView& view) {
    auto* words = reinterpret_cast<uint32_t*>(const_cast<uint8_t*>(view.values));
    for (int64_t i = 0; i < view.length; ++i) words[i * 4] = static_cast<uint32_t>(i % 13);
  }

  std::shared_ptr<Memory> memory;
  uint64_t state = 7;
  std::vector<Block> blocks;
  std::unique_ptr<RowStore> store;
  std::vector<RowRef> first_refs;
  int64_t batch_rows = 0;
  int64_t rows = 0;
};

std::vector<RowRef> draw(Source& source, Refs pattern) {
  std::vector<RowRef> refs(kOutputRows);
  const int64_t begin = source.rows / 3;
  for (int64_t i = 0; i < kOutputRows; ++i) {
    int64_t row = begin + i;
    if (pattern == Refs::kRandom) row = static_cast<int64_t>(source.next() >> 1);
    if (pattern == Refs::kRepeated) row = begin + i / 4;
    if (pattern == Refs::kSelected) row = begin + i * 5 / 2;
    refs[i] = source.ref(row % source.rows);
  }
  return refs;
}

double thread_s() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double best_s(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kRuns; ++i) {
    const double start = thread_s();
    work();
    best = std::min(best, thread_s() - start);
  }
  return best;
}

// Bytes a second of memcpy out of a table that no cache holds.
double memcpy_rate(Source& source) {
  const int64_t bytes = kOutputRows * 8;
  auto target = source.memory->get(bytes, "bench");
  int64_t at = 0;
  const double seconds = best_s([&] {
    std::memcpy(target.value().data(), source.blocks[0].data() + at, bytes);
    at = (at + 7 * bytes) % (kTableBytes - bytes);
  });
  return static_cast<double>(bytes) / seconds;
}

int64_t written_bytes(const ChunkedColumn& column, const ColumnView& view) {
  int64_t bytes = view.length * fixed_bytes(column.field->type);
  if (view.offsets != nullptr) {
    bytes = view.length * 4 + static_cast<const int32_t*>(view.offsets)[view.length];
  } else if (bytes == 0) {
    bytes = view.length / 8;
  }
  return bytes + (view.validity != nullptr ? view.length / 8 : 0);
}

void measure(Source& source, const Case& work, std::string_view pattern_part, double copy_rate) {
  for (const auto& [pattern, pattern_name] : kPatterns) {
    if (pattern_name.find(pattern_part) == std::string_view::npos) continue;
    const std::vector<RowRef> refs = draw(source, pattern);
    const ChunkedColumn& column = source.store->column(0);
    int64_t bytes = 0;
    const double seconds = best_s([&] {
      const auto out = gather(column, refs, nullptr, *source.memory);
      bytes = written_bytes(column, out.value().view);
    });
    const double rate = static_cast<double>(bytes) / seconds;
    fmt::print("{:<20} {:<14} {:>8.2f} {:>8.2f} {:>8.1f} %\n",
               work.name,
               pattern_name,
               seconds * 1e9 / kOutputRows,
               rate / 1e9,
               100 * rate / copy_rate);
  }
}

int run(std::string_view columns, std::string_view refs) {
  const auto memory = Memory::create(std::numeric_limits<int64_t>::max());
  Source big({"", "l", 8, 0, 1}, memory);
  const double copy_rate = memcpy_rate(big);
  fmt::print("memcpy {:.2f} GB/s\n", copy_rate / 1e9);
  fmt::print("{:<20} {:<14} {:>8} {:>8} {:>10}\n", "column", "refs", "ns/row", "GB/s", "of memcpy");
  for (const Case& work : kCases) {
    if (work.name.find(columns) == std::string_view::npos) continue;
    Source source(work, memory);
    measure(source, work, refs, copy_rate);
  }
  return 0;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  return crossdock::run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
}
