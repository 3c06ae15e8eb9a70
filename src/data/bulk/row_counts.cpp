// One pass over the rows: where to, how many, how long, how wide.
#include "data/bulk/row_counts.hpp"

#include <algorithm>

#include "data/segments/fill_lanes.hpp"
#include "data/segments/fill_strings.hpp"
#include "data/segments/resolve_dictionary.hpp"

namespace crossdock::bulk {
namespace {

using namespace segments::filling;

// Of a block: what it reads twice stays in the first-level cache.
constexpr int64_t kCountedRows = 4096;
constexpr int64_t kSizeMax = INT64_C(1) << 62;

bool is_text_type(const DataType& type) { return is_string(type.id) || is_binary(type.id); }

// What a text takes in the heap of the layout that it arrives in.
uint64_t heap_bytes(Layout received, uint64_t bytes) {
  return received == Layout::kViews && bytes <= kInlineBytes ? 0 : bytes;
}

// Calls add(row, bytes) for the rows of a block that have strings.
template <class Add>
void for_strings(const DataType& type, const ColumnView& column, uint32_t rows, const Add& add) {
  const Layout received = layout(value_type(type));
  if (type.id == TypeId::kDictionary) {
    in_resolved_blocks(type,
                       column,
                       RowRun{0},
                       rows,
                       [&](uint32_t begin, uint32_t count, const ResolvedRows& some) {
                         with_strings(received, *column.dictionary, [&](const auto& strings) {
                           for (uint32_t i = 0; i < count; ++i) {
                             if (some(i))
                               add(begin + i, heap_bytes(received, strings.size(some.rows[i])));
                           }
                         });
                       });
    return;
  }
  with_strings(received, column, [&](const auto& strings) {
    for (uint32_t row = 0; row < rows; ++row) {
      if (column.is_valid(row)) add(row, heap_bytes(received, strings.size(row)));
    }
  });
}

bool has_choice(const CountingOptions& options) {
  return options.route != nullptr || !options.named.empty();
}

int counted_destinations(const CountingOptions& options) {
  return has_choice(options) ? options.destinations : 1;
}

// One worker.
class Counter {
 public:
  // `routed`: where the destinations of a rule are noted; null: they are not.
  Counter(const SchemaPtr& schema, const CountingOptions& options, uint16_t* routed)
      : schema_(schema),
        options_(options),
        routed_(routed),
        destinations_(routed != nullptr ? routed : options.named.data()),
        counted_(static_cast<size_t>(counted_destinations(options))),
        seen_(schema->fields.size()) {
    for (size_t i = 0; i < schema->fields.size(); ++i) {
      const DataType& type = schema->fields[i].type;
      if (is_text_type(value_type(type))) strings_.push_back(static_cast<int>(i));
      seen_[i].packs = options.looks_at_ranges && can_pack(type);
    }
  }

  Status open() {
    if (options_.route == nullptr) return {};
    CD_ASSIGN(router_, sorters::RowRouter::make(schema_, *options_.route));
    return {};
  }

  Status count(const TableRows& rows, RowSpan span) {
    open_chunk(span.begin);
    CD_TRY(rows.for_blocks(span, kCountedRows, [this](const RowBlock& block) -> Status {
      return count_block(block);
    }));
    chunks_.back().span.end = span.end;
    return {};
  }

  std::vector<RowChunk>& chunks() { return chunks_; }
  const std::vector<SeenColumn>& seen() const { return seen_; }

 private:
  void open_chunk(int64_t begin) {
    if (!chunks_.empty()) chunks_.back().span.end = begin;
    RowChunk chunk;
    chunk.span = {begin, begin};
    chunk.counts.resize(counted_ * (1 + strings_.size()));
    chunks_.push_back(std::move(chunk));
    narrow_bytes_.assign(strings_.size(), 0);
  }

  Status count_block(const RowBlock& block) {
    const auto rows = static_cast<size_t>(block.rows.rows);
    if (routed_ != nullptr) {
      CD_TRY(router_->route(block.rows, 0, std::span(routed_ + block.first_row, rows)));
    } else if (!options_.named.empty()) {
      CD_TRY(check_named(block.first_row, rows));
    }
    look_at(block.rows);
    count_part(block);
    return {};
  }

  Status check_named(int64_t first_row, size_t rows) const {
    const uint16_t* named = destinations_ + first_row;
    const uint16_t* largest = std::max_element(named, named + rows);
    if (*largest < options_.destinations) return {};
    return make_error(ErrorCode::kValueOutOfRange,
                      "row {} is to go to destination {}, and there are destinations 0 to {}",
                      first_row + (largest - named),
                      *largest,
                      options_.destinations - 1);
  }

  void look_at(const Batch& rows) {
    for (size_t i = 0; i < seen_.size(); ++i) {
      const ColumnView& column = rows.columns[i];
      seen_[i].has_nulls |=
          column.validity != nullptr ||
          (column.dictionary != nullptr &&
           (column.dictionary->validity != nullptr || column.dictionary->length == 0));
      if (seen_[i].packs) widen(schema_->fields[i].type, column, 0, rows.rows, seen_[i].range);
    }
  }

  // Strings of more bytes than a chunk may have are counted in halves of their block.
  void count_part(const RowBlock& block) {
    std::vector<int64_t> bytes(strings_.size());
    bool is_too_long = false;
    bool passes =
        block.first_row + block.rows.rows - chunks_.back().span.begin > options_.chunk_rows;
    for (size_t t = 0; t < strings_.size(); ++t) {
      const DataType& type = schema_->fields[strings_[t]].type;
      if (layout(value_type(type)) == Layout::kOffsets64) continue;
      for_strings(type,
                  block.rows.columns[strings_[t]],
                  static_cast<uint32_t>(block.rows.rows),
                  [&](uint32_t, uint64_t more) {
                    bytes[t] = std::min<int64_t>(bytes[t] + static_cast<int64_t>(more), kSizeMax);
                  });
      is_too_long |= bytes[t] > options_.chunk_text_bytes;
      passes |= narrow_bytes_[t] + bytes[t] > options_.chunk_text_bytes;
    }
    if (is_too_long && block.rows.rows > 1) {
      const int64_t half = block.rows.rows / 2;
      count_part({TableRows::part_of(block.rows, 0, half), block.first_row});
      count_part(
          {TableRows::part_of(block.rows, half, block.rows.rows - half), block.first_row + half});
      return;
    }
    if (passes && block.first_row > chunks_.back().span.begin) open_chunk(block.first_row);
    for (size_t t = 0; t < strings_.size(); ++t) narrow_bytes_[t] += bytes[t];
    add(block);
  }

  void add(const RowBlock& block) {
    int64_t* counts = chunks_.back().counts.data();
    const size_t stride = 1 + strings_.size();
    const auto rows = static_cast<size_t>(block.rows.rows);
    const uint16_t* to = destinations_ == nullptr ? nullptr : destinations_ + block.first_row;
    if (to == nullptr) {
      counts[0] += block.rows.rows;
    } else {
      for (size_t i = 0; i < rows; ++i) ++counts[to[i] * stride];
    }
    for (size_t t = 0; t < strings_.size(); ++t) {
      for_strings(schema_->fields[strings_[t]].type,
                  block.rows.columns[strings_[t]],
                  static_cast<uint32_t>(rows),
                  [&](uint32_t row, uint64_t bytes) {
                    const size_t destination = to == nullptr ? 0 : to[row];
                    counts[destination * stride + 1 + t] += static_cast<int64_t>(bytes);
                  });
    }
  }

  SchemaPtr schema_;
  const CountingOptions& options_;
  uint16_t* routed_;
  const uint16_t* destinations_;  // by row of the table
  size_t counted_;
  std::unique_ptr<sorters::RowRouter> router_;
  std::vector<int> strings_;           // columns
  std::vector<int64_t> narrow_bytes_;  // of the open chunk, by text
  std::vector<RowChunk> chunks_;
  std::vector<SeenColumn> seen_;
};

// What all workers saw together.
void add_seen(const std::vector<SeenColumn>& from, std::vector<SeenColumn>& to) {
  for (size_t i = 0; i < to.size(); ++i) {
    to[i].has_nulls |= from[i].has_nulls;
    to[i].packs = from[i].packs;
    to[i].range.min = std::min(to[i].range.min, from[i].range.min);
    to[i].range.max = std::max(to[i].range.max, from[i].range.max);
  }
}

}  // namespace

Result<RowCounts> count_rows(const TableRows& rows,
                             const SchemaPtr& schema,
                             const CountingOptions& options,
                             Team& team,
                             Memory& memory) {
  RowCounts result;
  const auto named = static_cast<int64_t>(options.named.size());
  if (named != 0 && named != rows.rows()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "destinations are named for {} rows of {}; name one for each",
                      named,
                      rows.rows());
  }
  // Numbers of destinations are looked at even if there is one only: they may be wrong.
  const bool routes =
      options.route != nullptr &&
      (options.destinations > 1 || options.route->by == sorters::RouteBy::kExplicit);
  if (routes && rows.rows() > 0) {
    CD_ASSIGN(result.destination_block,
              memory.get(rows.rows() * 2, "the destinations of a bulk exchange"));
  }
  uint16_t* const routed = result.destination_block.as<uint16_t>();
  result.destinations = routed != nullptr ? routed : options.named.data();
  result.counted_destinations = counted_destinations(options);
  std::vector<std::unique_ptr<Counter>> counters(static_cast<size_t>(team.worker_count()));
  CD_TRY(team.run([&](int worker) -> Status {
    auto& counter = counters[static_cast<size_t>(worker)];
    counter = std::make_unique<Counter>(schema, options, routed);
    CD_TRY(counter->open());
    return counter->count(rows, rows.share(worker, team.worker_count()));
  }));
  result.seen.resize(schema->fields.size());
  for (const Field& field : schema->fields) result.strings += is_text_type(value_type(field.type));
  for (size_t worker = 0; worker < counters.size(); ++worker) {
    add_seen(counters[worker]->seen(), result.seen);
    for (RowChunk& chunk : counters[worker]->chunks()) {
      result.chunks.push_back(std::move(chunk));
      result.chunks.back().worker = static_cast<int>(worker);
    }
  }
  return result;
}

}  // namespace crossdock::bulk
