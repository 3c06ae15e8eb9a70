#include "data/bulk/agreed_keys.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "data/ranks/agreement.hpp"

namespace crossdock::bulk {
namespace {

constexpr int64_t kPieceRows = 1 << 14;

// The part of an OrderRange that has a size of its own; its prefix follows.
struct RangeNumbers {
  uint64_t min_word, max_word;
  uint64_t min_wide[2], max_wide[2];
  int64_t bytes_max;
  uint32_t prefix_bytes;
  uint8_t any_null, any_value, loses_bits, beyond;
};

void split(UInt128 value, uint64_t (&halves)[2]) {
  halves[0] = static_cast<uint64_t>(value >> 64);
  halves[1] = static_cast<uint64_t>(value);
}

UInt128 joined(const uint64_t (&halves)[2]) { return UInt128{halves[0]} << 64 | halves[1]; }

std::string text_of(const OrderRanges& ranges) {
  std::string text;
  for (const OrderRange& range : ranges) {
    RangeNumbers numbers{};
    numbers.min_word = range.min_word;
    numbers.max_word = range.max_word;
    split(range.min_wide, numbers.min_wide);
    split(range.max_wide, numbers.max_wide);
    numbers.bytes_max = range.bytes_max;
    numbers.prefix_bytes = static_cast<uint32_t>(range.prefix.size());
    numbers.any_null = range.any_null ? 1 : 0;
    numbers.any_value = range.any_value ? 1 : 0;
    numbers.loses_bits = range.loses_bits ? 1 : 0;
    numbers.beyond = range.beyond ? 1 : 0;
    text.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers));
    text.append(range.prefix);
  }
  return text;
}

Status merge_text(const std::string& text, OrderRanges& ranges) {
  size_t at = 0;
  const auto malformed = [&] {
    return make_error(ErrorCode::kMalformedMessage,
                      "another rank says the ranges of its keys in {} bytes, which end too early",
                      text.size());
  };
  for (OrderRange& range : ranges) {
    RangeNumbers numbers{};
    if (text.size() - at < sizeof(numbers)) return malformed();
    std::memcpy(&numbers, text.data() + at, sizeof(numbers));
    at += sizeof(numbers);
    if (text.size() - at < numbers.prefix_bytes) return malformed();
    OrderRange other;
    other.min_word = numbers.min_word;
    other.max_word = numbers.max_word;
    other.min_wide = joined(numbers.min_wide);
    other.max_wide = joined(numbers.max_wide);
    other.bytes_max = numbers.bytes_max;
    other.any_null = numbers.any_null != 0;
    other.any_value = numbers.any_value != 0;
    other.loses_bits = numbers.loses_bits != 0;
    other.beyond = numbers.beyond != 0;
    other.prefix = text.substr(at, numbers.prefix_bytes);
    at += numbers.prefix_bytes;
    range.merge(other);
  }
  return {};
}

struct Planned {
  OrderKeyPlan plan;
  std::string types;
};

Result<Planned> plan_keys(const RowStore& store, std::span<const CutKey> keys) {
  std::vector<OrderTerm> terms;
  OrderSide side{&store, {}};
  Planned planned;
  for (const CutKey& key : keys) {
    const DataType& type = store.schema()->fields[static_cast<size_t>(key.column)].type;
    CD_ASSIGN(const KeyKind kind, common_key_kind(type, type));
    terms.push_back({kind, key.descending, key.nulls_first});
    side.columns.push_back(key.column);
    planned.types += fmt::format("{}{}{}{}",
                                 planned.types.empty() ? "keys of types " : ", ",
                                 type_name(type),
                                 key.descending ? " descending" : "",
                                 key.nulls_first ? " nulls first" : "");
  }
  CD_ASSIGN(planned.plan,
            OrderKeyPlan::create(std::move(terms), {std::move(side)}, DictionaryStrings::kStrings));
  return planned;
}

}  // namespace

std::vector<RowPiece> pieces_of(const RowStore& store) {
  std::vector<RowPiece> pieces;
  int64_t row = 0;
  for (size_t b = 0; b < store.batches().size(); ++b) {
    const Batch& batch = store.batches()[b];
    const RowRef first = store.first_ref(static_cast<int>(b));
    for (int64_t begin = 0; begin < batch.rows; begin += kPieceRows) {
      const int64_t rows = std::min(kPieceRows, batch.rows - begin);
      pieces.push_back({&batch, begin, rows, first + static_cast<RowRef>(begin), row + begin});
    }
    row += batch.rows;
  }
  return pieces;
}

Status in_turns(Team& team,
                int64_t count,
                const std::function<Status(int worker, int64_t i)>& call) {
  std::atomic<int64_t> next{0};
  return team.run([&](int worker) -> Status {
    for (int64_t i = next++; i < count; i = next++) CD_TRY(call(worker, i));
    return {};
  });
}

Result<OrderKeyPlan> agree_on_keys(ranks::Communicator& ranks,
                                   const RowStore& store,
                                   std::span<const CutKey> keys,
                                   Team& team) {
  Result<Planned> planned = plan_keys(store, keys);
  const Result<std::string> types =
      planned.ok() ? Result<std::string>(planned.value().types) : planned.error();
  CD_ASSIGN(const std::vector<std::string> all_types, ranks::agree(ranks, types, ranks.limit()));
  CD_TRY(ranks::check_same(all_types, "a sort over ranks has the same keys in all of them"));

  OrderKeyPlan& plan = planned.value().plan;
  const std::vector<RowPiece> pieces = pieces_of(store);
  std::vector<OrderRanges> ranges_of(static_cast<size_t>(team.worker_count()), plan.make_ranges());
  const Status scanned =
      in_turns(team, static_cast<int64_t>(pieces.size()), [&](int worker, int64_t i) -> Status {
        const RowPiece& piece = pieces[static_cast<size_t>(i)];
        plan.scan(0, *piece.batch, piece.begin, piece.rows, ranges_of[static_cast<size_t>(worker)]);
        return {};
      });
  OrderRanges ranges = merged(ranges_of);
  const Result<std::string> mine =
      scanned.ok() ? Result<std::string>(text_of(ranges)) : scanned.error();
  CD_ASSIGN(const std::vector<std::string> every, ranks::agree(ranks, mine, ranks.limit()));
  for (const std::string& text : every) CD_TRY(merge_text(text, ranges));
  plan.settle(ranges);
  return std::move(plan);
}

}  // namespace crossdock::bulk
