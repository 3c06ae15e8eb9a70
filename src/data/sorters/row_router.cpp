// Hashes, residues, numbers; ranges are in range_router.cpp.
#include "data/sorters/row_router.hpp"

#include <algorithm>
#include <bit>

#include "data/sorters/decimal_words.hpp"
#include "data/sorters/floor_modulo.hpp"
#include "data/sorters/range_router.hpp"
#include "data/sorters/row_hashes.hpp"
#include "table/key_hash.hpp"

namespace crossdock::sorters {
namespace {

constexpr int kDestinationsMax = 1 << 16;

bool is_integer(const DataType& type) {
  const TypeId id = value_type(type).id;
  return is_signed_integer(id) || is_unsigned_integer(id);
}

bool is_decimal(const DataType& type) { return value_type(type).id == TypeId::kDecimal128; }

// Partition numbers, and what they are assigned to.
class Partitions {
 public:
  explicit Partitions(const RouteSpec& spec)
      : assignment_(spec.assignment),
        count_(assignment_.empty() ? static_cast<uint32_t>(spec.destinations)
                                   : static_cast<uint32_t>(assignment_.size())) {}

  uint32_t count() const { return count_; }
  // The top half of the product: even, and without a division, for any number of partitions.
  uint16_t of_hash(uint64_t hash) const {
    return static_cast<uint16_t>((hash >> 32) * count_ >> 32);
  }
  void assign(std::span<uint16_t> numbers) const {
    if (assignment_.empty()) return;
    for (uint16_t& number : numbers) number = assignment_[number];
  }

 private:
  std::vector<uint16_t> assignment_;
  uint32_t count_;
};

// Calls `call(begin, count, destinations)` block by block.
template <class Call>
void in_blocks(int64_t begin, std::span<uint16_t> destinations, const Call& call) {
  for (size_t done = 0; done < destinations.size(); done += kMaxKeyRows) {
    const size_t count = std::min<size_t>(kMaxKeyRows, destinations.size() - done);
    call(begin + static_cast<int64_t>(done),
         static_cast<int32_t>(count),
         destinations.subspan(done, count));
  }
}

class HashRouter : public RowRouter {
 public:
  HashRouter(const Schema& schema, const RouteSpec& spec)
      : partitions_(spec), hashes_(schema, spec.keys) {}

  Status route(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) override {
    in_blocks(begin, destinations, [&](int64_t first, int32_t count, std::span<uint16_t> out) {
      uint64_t hashes[kMaxKeyRows];
      hashes_.hash(batch, first, count, hashes);
      for (int32_t i = 0; i < count; ++i) out[i] = partitions_.of_hash(hashes[i]);
      partitions_.assign(out);
    });
    return {};
  }

 private:
  Partitions partitions_;
  RowHashes hashes_;
};

// Of a NULL key, whatever its column's type.
uint64_t null_hash() {
  const uint64_t word = 0;
  const uint8_t no_bits = 0;
  ColumnView null;
  null.length = null.null_count = 1;
  null.validity = &no_bits;
  null.values = reinterpret_cast<const uint8_t*>(&word);
  uint64_t hash = 0;
  KeyHasher(parse_arrow_format("l").value(), {KeyForm::kInteger64}, kRouteSeed)
      .hash(null, 0, 1, false, &hash);
  return hash;
}

template <class T>
void residues(const FloorModulo& modulo, const T* values, std::span<uint16_t> out) {
  const uint32_t divisor = modulo.divisor();
  if (std::has_single_bit(divisor)) {
    const auto mask = divisor - 1;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<uint16_t>(static_cast<uint64_t>(values[i]) & mask);
    }
  } else if (std::is_signed_v<T>) {
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = modulo.of_signed(static_cast<uint64_t>(static_cast<int64_t>(values[i])));
    }
  } else {
    for (size_t i = 0; i < out.size(); ++i) out[i] = modulo.of_unsigned(values[i]);
  }
}

class IntegerRouter : public RowRouter {
 public:
  IntegerRouter(const Schema& schema, const RouteSpec& spec)
      : partitions_(spec),
        dictionaries_(schema, spec.keys),
        modulo_(partitions_.count()),
        null_partition_(partitions_.of_hash(null_hash())),
        column_(spec.keys[0]),
        type_(schema.fields[column_].type),
        loader_(type_, {KeyForm::kInteger64}) {}

  Status route(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) override {
    const ColumnView& column = batch.columns[column_];
    in_blocks(begin, destinations, [&](int64_t first, int32_t count, std::span<uint16_t> out) {
      route_values(column, first, out);
      uint8_t valid[kMaxKeyRows];
      if (loader_.load_valid(column, first, count, valid)) {
        for (int32_t i = 0; i < count; ++i) out[i] = valid[i] != 0 ? out[i] : null_partition_;
      }
      partitions_.assign(out);
    });
    dictionaries_.keep_those_of(batch, destinations.size());
    return {};
  }

 private:
  void route_values(const ColumnView& column, int64_t first, std::span<uint16_t> out) {
    switch (type_.id) {
      case TypeId::kInt32:
        return residues(modulo_, column.data<int32_t>() + first, out);
      case TypeId::kInt64:
        return residues(modulo_, column.data<int64_t>() + first, out);
      case TypeId::kUInt32:
        return residues(modulo_, column.data<uint32_t>() + first, out);
      case TypeId::kUInt64:
        return residues(modulo_, column.data<uint64_t>() + first, out);
      default:
        break;
    }
    uint64_t words[kMaxKeyRows];
    loader_.load(column, first, static_cast<int32_t>(out.size()), words);
    if (is_signed_integer(value_type(type_).id)) {
      residues(modulo_, reinterpret_cast<const int64_t*>(words), out);
    } else {
      residues(modulo_, words, out);
    }
  }

  Partitions partitions_;
  KnownDictionaries dictionaries_;
  FloorModulo modulo_;
  uint16_t null_partition_;
  int column_;
  DataType type_;
  KeyLoader loader_;
};

// Decimals that are integers go where integers go.
class DecimalRouter : public RowRouter {
 public:
  DecimalRouter(const Schema& schema, const RouteSpec& spec)
      : partitions_(spec),
        modulo_(partitions_.count()),
        key_(spec.keys[0], schema.fields[spec.keys[0]].type),
        column_(spec.keys[0]),
        type_(schema.fields[column_].type) {}

  Status route(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) override {
    in_blocks(begin, destinations, [&](int64_t first, int32_t count, std::span<uint16_t> out) {
      DecimalWord words[kMaxKeyRows];
      uint8_t valid[kMaxKeyRows];
      read_decimals(type_,
                    batch.columns[column_],
                    first,
                    std::span(words, static_cast<size_t>(count)),
                    valid);
      uint64_t hashes[kMaxKeyRows];
      key_.hash(batch, first, count, false, hashes);
      for (int32_t i = 0; i < count; ++i) out[i] = number(words[i], valid[i] != 0, hashes[i]);
      partitions_.assign(out);
    });
    return {};
  }

 private:
  uint16_t number(DecimalWord word, bool is_valid, uint64_t hash) const {
    if (!is_valid || word.sort == DecimalSort::kFraction) return partitions_.of_hash(hash);
    return word.sort == DecimalSort::kNegative ? modulo_.of_signed(word.word)
                                               : modulo_.of_unsigned(word.word);
  }

  Partitions partitions_;
  FloorModulo modulo_;
  KeyOfRows key_;
  int column_;
  DataType type_;
};

class NumberRouter : public RowRouter {
 public:
  NumberRouter(const Schema& schema, const RouteSpec& spec)
      : dictionaries_(schema, spec.keys),
        destinations_(static_cast<uint64_t>(spec.destinations)),
        column_(spec.keys[0]),
        field_(schema.fields[column_]),
        loader_(field_.type, {KeyForm::kInteger64}) {}

  Status route(const Batch& batch, int64_t begin, std::span<uint16_t> destinations) override {
    Status status;
    const ColumnView& column = batch.columns[column_];
    in_blocks(begin, destinations, [&](int64_t first, int32_t count, std::span<uint16_t> out) {
      uint64_t words[kMaxKeyRows];
      uint8_t valid[kMaxKeyRows];
      loader_.load(column, first, count, words);
      if (loader_.load_valid(column, first, count, valid)) {
        for (int32_t i = 0; i < count; ++i) words[i] |= valid[i] != 0 ? 0 : kNoNumber;
      }
      bool any_beyond = false;
      for (int32_t i = 0; i < count; ++i) {
        any_beyond |= words[i] >= destinations_;
        out[i] = static_cast<uint16_t>(words[i]);
      }
      if (any_beyond && status.ok()) status = first_beyond(column, first, words, count);
    });
    dictionaries_.keep_those_of(batch, destinations.size());
    return status;
  }

 private:
  static constexpr uint64_t kNoNumber = uint64_t{1} << 63;  // above all destinations

  Error first_beyond(const ColumnView& column,
                     int64_t first,
                     const uint64_t* words,
                     int32_t count) {
    int32_t at = 0;
    while (at + 1 < count && words[at] < destinations_) ++at;
    uint64_t value = 0;
    uint8_t valid = 1;
    loader_.load(column, first + at, 1, &value);
    const bool is_null = loader_.load_valid(column, first + at, 1, &valid) && valid == 0;
    return make_error(ErrorCode::kValueOutOfRange,
                      "row {} names destination {} in column \"{}\", and there are destinations 0 "
                      "to {}; send to one of these, or route by hash",
                      first + at,
                      is_null ? "NULL"
                      : is_signed_integer(value_type(field_.type).id)
                          ? std::to_string(static_cast<int64_t>(value))
                          : std::to_string(value),
                      field_.name,
                      destinations_ - 1);
  }

  KnownDictionaries dictionaries_;
  uint64_t destinations_;
  int column_;
  Field field_;
  KeyLoader loader_;
};

Status check_assignment(const RouteSpec& spec) {
  const std::vector<uint16_t>& assignment = spec.assignment;
  if (assignment.empty()) return {};
  if (spec.by == RouteBy::kExplicit) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "{} partitions are assigned, but the rows name their destinations themselves; "
        "leave the assignment out",
        assignment.size());
  }
  if (!std::has_single_bit(assignment.size()) || assignment.size() > size_t{kDestinationsMax}) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} partitions are assigned; their number is a power of two up to {}",
                      assignment.size(),
                      kDestinationsMax);
  }
  const auto largest = std::max_element(assignment.begin(), assignment.end());
  if (*largest < spec.destinations) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "partition {} is assigned to destination {}, and there are destinations 0 to "
                    "{}",
                    largest - assignment.begin(),
                    *largest,
                    spec.destinations - 1);
}

Status check_spec(const Schema& schema, const RouteSpec& spec) {
  if (spec.destinations < 1 || spec.destinations > kDestinationsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} destinations are wanted; there are 1 to {}",
                      spec.destinations,
                      kDestinationsMax);
  }
  if (spec.keys.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rows are to be routed by 0 columns; name 1 or more");
  }
  for (const int key : spec.keys) {
    if (key >= 0 && key < schema.column_count()) continue;
    return make_error(ErrorCode::kUnknownColumn,
                      "column {} is to route rows, and there are columns 0 to {}",
                      key,
                      schema.column_count() - 1);
  }
  if (spec.by != RouteBy::kExplicit) return check_assignment(spec);
  const Field& field = schema.fields[spec.keys[0]];
  if (spec.keys.size() != 1 || !is_integer(field.type)) {
    return make_error(ErrorCode::kUnsupportedType,
                      "destinations are named by one column of integers, not by {} columns of "
                      "which \"{}\" is {}; cast it, or route by hash",
                      spec.keys.size(),
                      field.name,
                      type_name(field.type));
  }
  return check_assignment(spec);
}

// There is no choice, so no key is read.
class OneDestination : public RowRouter {
 public:
  Status route(const Batch&, int64_t, std::span<uint16_t> destinations) override {
    std::fill(destinations.begin(), destinations.end(), uint16_t{0});
    return {};
  }
};

}  // namespace

Result<std::unique_ptr<RowRouter>> RowRouter::make(SchemaPtr schema, RouteSpec spec) {
  CD_TRY(check_spec(*schema, spec));
  const DataType& first = schema->fields[spec.keys[0]].type;
  const bool is_one = spec.keys.size() == 1;
  std::unique_ptr<RowRouter> router;
  if (spec.by == RouteBy::kRange) return make_range_router(std::move(schema), std::move(spec));
  if (spec.by == RouteBy::kExplicit) {
    router = std::make_unique<NumberRouter>(*schema, spec);
  } else if (spec.destinations == 1) {
    router = std::make_unique<OneDestination>();
  } else if (spec.by == RouteBy::kKey && is_one && is_integer(first)) {
    router = std::make_unique<IntegerRouter>(*schema, spec);
  } else if (spec.by == RouteBy::kKey && is_one && is_decimal(first)) {
    router = std::make_unique<DecimalRouter>(*schema, spec);
  } else {
    router = std::make_unique<HashRouter>(*schema, spec);
  }
  return router;
}

}  // namespace crossdock::sorters
