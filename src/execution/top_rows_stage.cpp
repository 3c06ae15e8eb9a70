// A word per row, whose order is that of the key as far as it goes, and the best words of each worker.
#include "execution/top_rows_stage.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/integer_types.hpp"
#include "execution/block_builder.hpp"
#include "execution/column_gather.hpp"
#include "execution/known_bounds.hpp"
#include "table/key_word.hpp"

namespace crossdock::execution {
namespace {

using operators::SortSpec;

// Beyond, the words of the best rows are as much to go through as the rows.
constexpr int64_t kMostRows = int64_t{1} << 16;
// Of a row that passes and says nothing of the bound.
constexpr uint64_t kUnknown = 0;

enum class WordKind : uint8_t { kNone, kSigned, kUnsigned, kFloat32, kFloat64, kDecimal, kView };

WordKind word_kind(const DataType& type) {
  switch (type.id) {
    case TypeId::kFloat32:
      return WordKind::kFloat32;
    case TypeId::kFloat64:
      return WordKind::kFloat64;
    case TypeId::kDecimal128:
      return WordKind::kDecimal;
    case TypeId::kUtf8View:
    case TypeId::kBinaryView:
      return WordKind::kView;
    default:
      break;
  }
  if (is_signed_integer(type.id) || (type.id >= TypeId::kDate32 && type.id <= TypeId::kDuration))
    return WordKind::kSigned;
  return is_unsigned_integer(type.id) ? WordKind::kUnsigned : WordKind::kNone;
}

template <class T>
uint64_t float_word(T value) {
  return order_of_float(std::bit_cast<uint64_t>(static_cast<double>(value) + 0.0));  // no -0.0
}

// Beyond 64 bits all are alike.
uint64_t decimal_word(const ColumnView& column, int64_t row) {
  int64_t halves[2];
  std::memcpy(halves, column.values + (column.offset + row) * 16, 16);
  const auto [low, high] = halves;
  if (high == (low >> 63)) return static_cast<uint64_t>(low) ^ kSignBit;
  return high < 0 ? 0 : std::numeric_limits<uint64_t>::max();
}

// The first eight bytes.
uint64_t view_word(const ColumnView& column, int64_t row) {
  const uint8_t* view = column.values + (column.offset + row) * 16;
  int32_t place[4];  // bytes, prefix, heap, offset
  std::memcpy(place, view, 16);
  constexpr int32_t kInline = 12;
  const uint8_t* text = place[0] <= kInline ? view + 4 : column.heaps[place[2]] + place[3];
  uint64_t word = 0;
  std::memcpy(&word, text, static_cast<size_t>(std::min(place[0], 8)));
  return __builtin_bswap64(word);
}

template <class Word>
void read_words(int32_t rows, const Word& word_of, uint64_t* words) {
  for (int32_t i = 0; i < rows; ++i) words[i] = word_of(i);
}

// Reads words of one key.
class KeyWords {
 public:
  KeyWords(const DataType& type, const operators::SortKey& key)
      : kind_(word_kind(type)), width_(fixed_bytes(type)), key_(key) {}

  // The lower, the earlier a row comes.
  void read(const ColumnView& column, int32_t rows, uint64_t* words) const {
    read_values(column, rows, words);
    if (key_.descending)
      read_words(
          rows, [&](int32_t i) { return ~words[i]; }, words);
    if (column.validity == nullptr) return;
    const uint64_t null_word = key_.nulls_first ? kUnknown : kLast;
    read_words(
        rows, [&](int32_t i) { return column.is_valid(i) ? words[i] : null_word; }, words);
  }

  const operators::SortKey& key() const { return key_; }
  // What values meet whose word is at most `word`; nothing where that is not known.
  std::vector<expressions::ExpressionPtr> bounds(const expressions::ExpressionPtr& column,
                                                 uint64_t word) const {
    const bool is_unsigned = kind_ == WordKind::kUnsigned;
    const bool is_whole = is_unsigned || kind_ == WordKind::kSigned || kind_ == WordKind::kDecimal;
    if (!is_whole || word == kLast) return {};
    const uint64_t bits = key_.descending ? ~word : word;
    const Int128 value = is_unsigned ? Int128{bits} : Int128{static_cast<int64_t>(bits ^ kSignBit)};
    const auto op = key_.descending ? expressions::ExpressionOp::kGreaterEqual
                                    : expressions::ExpressionOp::kLessEqual;
    auto compared = compared_with(op, column, value);
    return {key_.nulls_first ? null_or(column, std::move(compared)) : std::move(compared)};
  }

 private:
  static constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();

  template <class T>
  void read_fixed(const ColumnView& column, int32_t rows, uint64_t* words) const {
    const T* values = column.data<T>();
    constexpr uint64_t kFlip = std::is_signed_v<T> ? kSignBit : 0;
    read_words(
        rows, [=](int32_t i) { return static_cast<uint64_t>(values[i]) ^ kFlip; }, words);
  }
  // NaN may come first or last.
  template <class T>
  void read_floats(const ColumnView& column, int32_t rows, uint64_t* words) const {
    const T* values = column.data<T>();
    const uint64_t first = key_.descending ? ~kUnknown : kUnknown;
    read_words(
        rows,
        [=](int32_t i) { return std::isnan(values[i]) ? first : float_word(values[i]); },
        words);
  }
  void read_values(const ColumnView& column, int32_t rows, uint64_t* words) const {
    switch (kind_) {
      case WordKind::kFloat32:
        return read_floats<float>(column, rows, words);
      case WordKind::kFloat64:
        return read_floats<double>(column, rows, words);
      case WordKind::kDecimal:
        return read_words(
            rows, [&](int32_t i) { return decimal_word(column, i); }, words);
      case WordKind::kView:
        return read_words(
            rows, [&](int32_t i) { return column.is_valid(i) ? view_word(column, i) : 0; }, words);
      default:
        return with_integer(width_, kind_ == WordKind::kUnsigned, [&](auto zero) {
          read_fixed<decltype(zero)>(column, rows, words);
        });
    }
  }

  WordKind kind_;
  int32_t width_;
  operators::SortKey key_;
};

// What all workers know: no row whose word is above comes among the first.
using Bound = std::atomic<uint64_t>;

int32_t within(const Bound& bound, const uint64_t* words, int32_t rows, uint16_t* kept) {
  const uint64_t most = bound.load(std::memory_order_relaxed);
  int32_t count = 0;
  for (int32_t i = 0; i < rows; ++i) {
    kept[count] = static_cast<uint16_t>(i);
    count += words[i] <= most ? 1 : 0;
  }
  return count;
}

// The best words of one worker's rows.
class BestWords {
 public:
  explicit BestWords(int64_t best_rows) : best_rows_(best_rows) {
    words_.reserve(static_cast<size_t>(best_rows + std::max<int64_t>(best_rows, kRoom)));
  }
  void put(uint64_t word, Bound& bound) {
    words_.push_back(word);
    if (words_.size() == words_.capacity()) narrow(bound);
  }
  void narrow(Bound& bound) {
    if (words_.size() < static_cast<size_t>(best_rows_)) return;
    const auto last = words_.begin() + best_rows_ - 1;
    std::nth_element(words_.begin(), last, words_.end());
    uint64_t known = bound.load(std::memory_order_relaxed);
    while (*last < known && !bound.compare_exchange_weak(known, *last)) {
    }
    words_.resize(static_cast<size_t>(best_rows_));
  }

 private:
  static constexpr int64_t kRoom = 128;
  int64_t best_rows_;
  std::vector<uint64_t> words_;
};

// In front of the other stages: rows that they may drop say nothing of the bound, so it is only read.
class TopRowsTest final : public RowTest {
 public:
  TopRowsTest(int column, KeyWords words, const Bound& bound)
      : columns_{column}, words_(words), bound_(bound) {}
  const std::vector<int>& columns() const override { return columns_; }
  int32_t select(const std::vector<ColumnView>& values, uint16_t* rows) override {
    const auto count = static_cast<int32_t>(values[0].length);
    uint64_t words[kBlockRows];
    words_.read(values[0], count, words);
    return within(bound_, words, count, rows);
  }

 private:
  std::vector<int> columns_;
  KeyWords words_;
  const Bound& bound_;
};

class TopRows final : public Stage {
 public:
  TopRows(BlockSchema input, const SortSpec& sort, int workers)
      : input_(std::move(input)),
        key_(sort.keys[0].column),
        best_rows_(sort.limit + sort.offset),
        words_(input_.schema->fields[key_].type, sort.keys[0]),
        workers_(workers) {}

  std::string describe() const override { return fmt::format("first {} of the order", best_rows_); }
  bool can_be_sampled() const override { return false; }
  bool only_drops_rows() const override { return true; }
  void mark_read(std::vector<bool>& columns) const override {
    mark_places(input_, {key_}, columns);
  }
  std::unique_ptr<RowTest> make_test() const override {
    const ColumnPlace& place = input_.places[key_];
    if (place.origin != 0) return nullptr;
    return std::make_unique<TopRowsTest>(place.column, words_, bound_);
  }
  bool tests_cheaply() const override { return true; }
  // It narrows as rows come: of files in order, most are not read.
  std::vector<expressions::ExpressionPtr> known_bounds() const override {
    if (input_.places[key_].origin != 0) return {};
    return words_.bounds(source_column(input_, key_), bound_.load(std::memory_order_relaxed));
  }

  std::optional<operators::SortKey> first_key() const override {
    const ColumnPlace& place = input_.places[key_];
    if (place.origin != 0) return std::nullopt;
    operators::SortKey key = words_.key();
    key.column = place.column;
    return key;
  }
  void forget_rows() override {
    for (auto& worker : workers_) {
      if (worker != nullptr) worker->best.narrow(bound_);
      worker.reset();
    }
  }

  Status push(int index, const RowBlock& block) override {
    if (workers_[index] == nullptr) {
      workers_[index] = std::make_unique<Worker>(input_, key_, best_rows_);
    }
    Worker& worker = *workers_[index];
    uint64_t words[kBlockRows];
    uint16_t kept[kBlockRows];
    words_.read(worker.columns.load(block).columns[key_], block.rows, words);
    const int32_t count = within(bound_, words, block.rows, kept);
    for (int32_t i = 0; i < count; ++i) {
      if (words[kept[i]] != kUnknown) worker.best.put(words[kept[i]], bound_);
    }
    return worker.builder.put(block, {kept, count, nullptr}, index, next());
  }

  Status flush(int index) override {
    if (workers_[index] != nullptr) CD_TRY(workers_[index]->builder.flush(index, next()));
    return next().flush(index);
  }

 private:
  struct Worker {
    Worker(const BlockSchema& input, int key, int64_t best_rows)
        : columns(input, {key}), builder(input, nullptr), best(best_rows) {}
    FlatColumns columns;
    BlockBuilder builder;
    BestWords best;
  };

  BlockSchema input_;
  int key_;
  int64_t best_rows_;
  KeyWords words_;
  Bound bound_{std::numeric_limits<uint64_t>::max()};
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

std::unique_ptr<Stage> make_top_rows_stage(const BlockSchema& input,
                                           const SortSpec& sort,
                                           int workers) {
  const DataType& type = input.schema->fields[sort.keys[0].column].type;
  const bool keeps_few = sort.limit > 0 && sort.limit <= kMostRows && sort.offset <= kMostRows;
  if (!keeps_few || !sort.row_index.empty() || word_kind(type) == WordKind::kNone) return nullptr;
  return std::make_unique<TopRows>(input, sort, workers);
}

}  // namespace crossdock::execution
