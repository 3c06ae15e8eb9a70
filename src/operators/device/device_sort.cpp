#include "operators/device/device_sort.hpp"

#include <algorithm>
#include <bit>

#include "operators/device/device_key_words.hpp"

namespace crossdock::operators {
namespace {

// As wide as their types are.
std::vector<SortField> fields_of(const DeviceSortSpec& spec) {
  std::vector<SortField> fields;
  for (const DeviceSortColumn& column : spec.columns) {
    SortField field{.values = column.values,
                    .is_descending = column.is_descending,
                    .nulls_first = column.nulls_first};
    const auto append = [&](SortPart part, uint32_t bits) {
      field.part = part;
      field.bits = bits;
      fields.push_back(field);
    };
    if (column.values.validity != nullptr) append(SortPart::kPresence, 1);
    if (is_text(column.values.stored)) {
      append(SortPart::kText, 64);
    } else if (column.values.stored == Stored::kInt128) {
      append(SortPart::kHighHalf, 64);
      append(SortPart::kLowHalf, 64);
    } else {
      append(SortPart::kValue, 64);
    }
  }
  return fields;
}

// As wide as values of integers, floats and booleans are apart.
Status narrow_fields(DeviceRunner& runner, uint64_t rows, std::vector<SortField>& fields) {
  std::vector<SortField*> values;
  for (SortField& field : fields)
    if (field.part == SortPart::kValue) values.push_back(&field);
  for (size_t begin = 0; begin < values.size(); begin += kKeyColumnsMax) {
    KeyFields keys;
    for (size_t at = begin; at < std::min(values.size(), begin + kKeyColumnsMax); ++at)
      keys.fields[keys.count++] = {.values = values[at]->values, .order = KeyOrder::kNanLast};
    CD_ASSIGN(const std::vector<WordRange> ranges, measure_keys(runner, keys, rows));
    for (uint32_t at = 0; at < keys.count; ++at) {
      const auto least = static_cast<uint64_t>(ranges[at].least);
      const uint64_t apart =
          ranges[at].is_empty() ? 0 : static_cast<uint64_t>(ranges[at].most) - least;
      values[begin + at]->base = least;
      values[begin + at]->bits = static_cast<uint32_t>(std::bit_width(apart));
    }
  }
  return {};
}

std::vector<SortDigit> digits_of(const std::vector<SortField>& fields) {
  std::vector<SortDigit> digits;
  for (const SortField& field : fields) {
    if (field.bits == 0) continue;  // all are equal
    const bool is_alone =
        field.part == SortPart::kText || digits.empty() || digits.back().is_text();
    if (is_alone || digits.back().bits + field.bits > 64 || digits.back().count == kSortFieldsMax)
      digits.emplace_back();
    SortDigit& digit = digits.back();
    for (uint32_t at = 0; at < digit.count; ++at) digit.fields[at].shift += field.bits;
    digit.fields[digit.count++] = field;
    digit.bits += field.bits;
  }
  return digits;
}

template <class Work>
Status launch_over(DeviceRunner& runner, const Work& work, uint64_t count) {
  return runner.launch(work, grid_of(runner, tiles_of(count, Work::kThreads)));
}

// The words of rows, with room for one more behind them.
Result<DeviceBuffer> gather_words(DeviceRunner& runner,
                                  const uint64_t* from,
                                  const uint64_t* rows,
                                  uint64_t count) {
  CD_ASSIGN(DeviceBuffer to, DeviceBuffer::words(runner, count + 1));
  CD_TRY(launch_over(
      runner, GatherWords{.to = to.words(), .count = count, .from = from, .rows = rows}, count));
  return Result<DeviceBuffer>(std::move(to));
}

// `rows` in the order of words that have so many bits.
Result<DeviceBuffer> sort_words(DeviceRunner& runner,
                                const DeviceBuffer& words,
                                const DeviceBuffer& rows,
                                uint64_t count,
                                uint32_t bits) {
  CD_ASSIGN(const DeviceBuffer sorted_words, DeviceBuffer::words(runner, count));
  CD_ASSIGN(DeviceBuffer sorted, DeviceBuffer::words(runner, count));
  CD_TRY(runner.sort({.keys = words.as<int64_t>(),
                      .rows = rows.words(),
                      .sorted_keys = sorted_words.as<int64_t>(),
                      .sorted_rows = sorted.words(),
                      .count = count,
                      .key_bits = bits}));
  return Result<DeviceBuffer>(std::move(sorted));
}

// Places of a list, in memory of its own but for that of all places.
struct TieList {
  DeviceBuffer places;
  uint64_t count = 0;

  TiedPlaces view() const { return {.places = places.words(), .count = count}; }
};

class TieSorter {
 public:
  TieSorter(DeviceRunner& runner, const DeviceSortSpec& spec)
      : runner_(runner), count_(spec.rows), rows_needed_(std::min(spec.rows_needed, spec.rows)) {}

  Status sort(std::vector<SortField> fields) {
    CD_ASSIGN(rows_, number_rows(runner_, count_));
    if (count_ < 2 || rows_needed_ == 0) return {};
    CD_TRY(narrow_fields(runner_, count_, fields));
    for (const SortDigit& digit : digits_of(fields)) {
      CD_ASSIGN(TieList list, ties());
      if (list.count == 0) return {};
      CD_TRY(sort_ties(digit, std::move(list)));
    }
    return {};
  }
  DeviceBuffer take_rows() { return std::move(rows_); }

 private:
  // By a digit; of strings by those behind it, too.
  Status sort_ties(SortDigit digit, TieList list) {
    while (list.count != 0) {
      CD_ASSIGN(DeviceBuffer words, DeviceBuffer::words(runner_, list.count));
      CD_ASSIGN(const DeviceBuffer order, place_rows(digit, list, words));
      if (!digit.is_text()) return {};
      CD_ASSIGN(list,
                remaining(list, {.digit = digit, .words = words.words(), .order = order.words()}));
      digit.first_byte += kSortTextBytes;
    }
    return {};
  }

  Result<DeviceBuffer> place_rows(const SortDigit& digit,
                                  const TieList& list,
                                  const DeviceBuffer& words) {
    PlaceRows work{
        .tied = list.view(), .words = words.words(), .rows = rows_.words(), .ends = ends_.words()};
    DeviceBuffer taken;
    DeviceBuffer ties;
    if (work.tied.places != nullptr) {
      CD_ASSIGN(taken, gather_words(runner_, rows_.words(), work.tied.places, list.count));
      CD_ASSIGN(ties, gather_words(runner_, ends_.words(), work.tied.places, list.count));
      CD_TRY(runner_.scan({.words = ties.words(), .count = list.count}));
      work.taken = taken.words();
      work.ties = ties.words();
    }
    CD_TRY(launch_over(
        runner_,
        ReadSortWords{
            .digit = digit, .rows = work.taken, .count = list.count, .words = words.words()},
        list.count));
    CD_ASSIGN(DeviceBuffer order, number_rows(runner_, list.count));
    CD_ASSIGN(order, sort_words(runner_, words, order, list.count, digit.bits));
    if (work.ties != nullptr) {
      CD_ASSIGN(const DeviceBuffer numbers,
                gather_words(runner_, ties.words(), order.words(), list.count));
      const auto bits = static_cast<uint32_t>(std::bit_width(list.count));
      CD_ASSIGN(order, sort_words(runner_, numbers, order, list.count, bits));
    }
    work.order = order.words();
    CD_TRY(launch_over(runner_, work, list.count));
    return Result<DeviceBuffer>(std::move(order));
  }

  // Places of a list that are tied still.
  Result<TieList> remaining(const TieList& list, MarkTies work) {
    CD_ASSIGN(const DeviceBuffer stays, DeviceBuffer::words(runner_, list.count));
    work.tied = list.view();
    work.ends = ends_.words();
    work.stays = stays.words();
    CD_TRY(launch_over(runner_, work, list.count));
    TieList tied;
    CD_ASSIGN(tied.places, DeviceBuffer::words(runner_, list.count));
    CD_ASSIGN(const DeviceBuffer kept, DeviceBuffer::words(runner_, 1));
    CD_TRY(runner_.select({.flags = stays.words(),
                           .values = work.tied.places,
                           .count = list.count,
                           .selected = tied.places.words(),
                           .selected_count = kept.words()}));
    CD_TRY(runner_.read(&tied.count, kept.words(), sizeof(tied.count)));
    return Result<TieList>(std::move(tied));
  }

  // At first all places; then those that are tied, up to the end of the tie that the last of the wanted rows is in.
  Result<TieList> ties() {
    TieList all;
    all.count = count_;
    if (ends_.words() == nullptr) {
      CD_ASSIGN(ends_, DeviceBuffer::words(runner_, count_));
      return Result<TieList>(std::move(all));
    }
    if (rows_needed_ < count_) {
      const TieEnds ends{.ends = ends_.words(), .first = rows_needed_ - 1};
      CD_ASSIGN(const std::vector<WordRange> range,
                measure_ranges(runner_, {ends}, count_ - ends.first));
      all.count = static_cast<uint64_t>(range[0].least) + 1;
    }
    return remaining(all, {});
  }

  DeviceRunner& runner_;
  const uint64_t count_;
  const uint64_t rows_needed_;
  DeviceBuffer rows_;  // by place
  DeviceBuffer ends_;  // by place: whether a tie ends there
};

}  // namespace

Result<DeviceBuffer> sort_on_device(DeviceRunner& runner, const DeviceSortSpec& spec) {
  for (const DeviceSortColumn& column : spec.columns) CD_TRY(check_device_values(column.values));
  TieSorter sorter(runner, spec);
  CD_TRY(sorter.sort(fields_of(spec)));
  return sorter.take_rows();
}

}  // namespace crossdock::operators
