// Values by splitmix64 of a counter; keys of Zipf's law by looking a random number up in the cumulated probabilities.
#include "data/perf/made_rows.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "data/rings/segment_layout.hpp"
#include "table/word_mix.hpp"

namespace crossdock::perf {
namespace {

constexpr int64_t kTableRowsMax = int64_t{1} << 40;
constexpr double kThetaMax = 4;
constexpr int kZipfKeyBits = 20;
constexpr int kGuideBits = 12;
constexpr uint64_t kZipfKeys = uint64_t{1} << kZipfKeyBits;

// Number `counter` of the generator that begins at `seed`.
uint64_t random_at(uint64_t seed, uint64_t counter) {
  constexpr uint64_t kStep = 0x9e37'79b9'7f4a'7c15;  // by which splitmix64 moves its state on
  uint64_t state = seed + counter * kStep;
  return next_random(state);
}

std::string column_name(int column) {
  if (column < 2) return column == 0 ? "key" : "row";
  return fmt::format("value{}", column - 1);
}

Status check_spec(const MadeRowsSpec& spec) {
  if (spec.columns < 2 || spec.columns > static_cast<int>(rings::kSegmentLanesMax)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rows of {} bytes cannot be made\n  limits   16 to {} bytes, in steps of 8\n"
                      "  try      16",
                      8 * spec.columns,
                      8 * rings::kSegmentLanesMax);
  }
  if (spec.table_rows < 1 || spec.table_rows >= kTableRowsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a table of {} rows cannot be made\n  limits   1 to {}",
                      spec.table_rows,
                      kTableRowsMax - 1);
  }
  if (!(spec.zipf_theta >= 0 && spec.zipf_theta <= kThetaMax)) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "zipf={} is no exponent of Zipf's law here\n  limits   0 (all keys alike) to {}"
        "\n  try      1",
        spec.zipf_theta,
        kThetaMax);
  }
  return {};
}

}  // namespace

void RowTotals::add(const RowTotals& other, uint64_t times) {
  rows += times * other.rows;
  sums.resize(std::max(sums.size(), other.sums.size()));
  for (size_t i = 0; i < other.sums.size(); ++i) sums[i] += times * other.sums[i];
}

Result<std::shared_ptr<const MadeRows>> MadeRows::make(const MadeRowsSpec& spec, Memory& memory) {
  CD_TRY(check_spec(spec));
  std::shared_ptr<MadeRows> maker(new MadeRows());
  maker->spec_ = spec;
  CD_ASSIGN(const DataType integers, parse_arrow_format("l"));
  auto schema = std::make_shared<Schema>();
  for (int column = 0; column < spec.columns; ++column) {
    Field field;
    field.name = column_name(column);
    field.type = integers;
    field.nullable = false;
    schema->fields.push_back(field);
  }
  maker->schema_ = std::move(schema);
  if (spec.zipf_theta > 0) CD_TRY(maker->make_zipf(memory));
  return std::shared_ptr<const MadeRows>(std::move(maker));
}

Status MadeRows::make_zipf(Memory& memory) {
  CD_ASSIGN(cumulated_, memory.get(kZipfKeys * sizeof(double), "crossdock perf (keys)"));
  auto* cumulated = cumulated_.as<double>();
  double sum = 0;
  for (uint64_t i = 0; i < kZipfKeys; ++i) {
    sum += std::pow(static_cast<double>(i + 1), -spec_.zipf_theta);
    cumulated[i] = sum;
  }
  for (uint64_t i = 0; i < kZipfKeys; ++i) cumulated[i] /= sum;
  guide_.resize((size_t{1} << kGuideBits) + 1);
  for (size_t i = 0; i < guide_.size(); ++i) {
    const double begin = std::ldexp(static_cast<double>(i), -kGuideBits);
    const double* place = std::upper_bound(cumulated, cumulated + kZipfKeys, begin);
    guide_[i] = static_cast<uint32_t>(place - cumulated);
  }
  return {};
}

uint32_t MadeRows::zipf_rank(uint64_t random) const {
  const auto* cumulated = cumulated_.as<double>();
  const double share = std::ldexp(static_cast<double>(random >> 11), -53);
  const size_t cell = random >> (64 - kGuideBits);
  const size_t end = std::min<size_t>(guide_[cell + 1] + size_t{1}, kZipfKeys);
  const double* place = std::upper_bound(cumulated + guide_[cell], cumulated + end, share);
  return static_cast<uint32_t>(std::min<size_t>(place - cumulated, kZipfKeys - 1));
}

uint64_t MadeRows::key(uint64_t row_word) const {
  const uint64_t random = random_at(spec_.seed, row_word);
  if (spec_.zipf_theta <= 0) return random >> 1;
  // Scrambled, so that frequent keys do not take turns at the destinations.
  return random_at(~spec_.seed, zipf_rank(random)) >> 1;
}

uint64_t MadeRows::value(int source, uint64_t row, int column) const {
  const uint64_t word = row_word(source, row);
  if (column == 0) return key(word);
  if (column == 1) return word;
  return random_at(spec_.seed + static_cast<uint64_t>(column), ~word);
}

Result<Batch> MadeRows::table(int source, Memory& memory) const {
  const auto rows = static_cast<uint64_t>(spec_.table_rows);
  CD_ASSIGN(Block block,
            memory.get(spec_.table_rows * row_bytes(), "crossdock perf (the rows of a source)"));
  Batch batch;
  batch.schema = schema_;
  batch.rows = spec_.table_rows;
  for (int column = 0; column < spec_.columns; ++column) {
    uint64_t* values = block.as<uint64_t>() + static_cast<uint64_t>(column) * rows;
    for (uint64_t row = 0; row < rows; ++row) values[row] = value(source, row, column);
    ColumnView view;
    view.length = batch.rows;
    view.values = reinterpret_cast<const uint8_t*>(values);
    batch.columns.push_back(view);
  }
  batch.owner = std::make_shared<Block>(std::move(block));
  return batch;
}

std::vector<RowTotals> MadeRows::totals(const Batch& table, int64_t rows, int destinations) const {
  const RowTotals none{0, std::vector<uint64_t>(static_cast<size_t>(spec_.columns))};
  std::vector<RowTotals> whole(static_cast<size_t>(destinations), none);
  std::vector<RowTotals> rest = whole;
  const int64_t rest_rows = rows % table.rows;
  const auto* keys = table.columns[0].data<uint64_t>();
  for (int64_t row = 0; row < table.rows; ++row) {
    if (row == rest_rows) rest = whole;
    RowTotals& totals = whole[keys[row] % static_cast<uint64_t>(destinations)];
    ++totals.rows;
    for (size_t column = 0; column < table.columns.size(); ++column) {
      totals.sums[column] += table.columns[column].data<uint64_t>()[row];
    }
  }
  for (size_t i = 0; i < rest.size(); ++i) {
    rest[i].add(whole[i], static_cast<uint64_t>(rows / table.rows));
  }
  return rest;
}

}  // namespace crossdock::perf
