#include "operators/device/device_gather.hpp"

#include "operators/device/device_key_words.hpp"

namespace crossdock::operators {
namespace {

uint32_t grid_of_chosen(const DeviceRunner& runner, uint64_t rows) {
  return grid_of(runner, tiles_of(rows, kGatherTileRows));
}

Status gather_bits(DeviceRunner& runner, GatherBits work, DeviceBuffer& to, uint64_t& zero_count) {
  CD_ASSIGN(to, DeviceBuffer::make(runner, tiles_of(work.chosen.count, 8)));
  CD_ASSIGN(const DeviceBuffer zeros, DeviceBuffer::words(runner, 1));
  work.to = to.as<uint8_t>();
  work.zeros = zeros.words();
  CD_TRY(runner.launch(FillWords{.words = zeros.words(), .count = 1}, 1));
  CD_TRY(runner.launch(work, grid_of_chosen(runner, work.chosen.count)));
  return runner.read(&zero_count, zeros.words(), sizeof(zero_count));
}

Status gather_strings(DeviceRunner& runner,
                      const DeviceValues& from,
                      const ChosenRows& chosen,
                      DeviceColumnData& gathered) {
  const uint32_t blocks = grid_of_chosen(runner, chosen.count);
  CD_ASSIGN(DeviceBuffer offsets, DeviceBuffer::words(runner, chosen.count + 1));
  CD_TRY(runner.launch(GatherTextSizes{.from = from, .chosen = chosen, .sizes = offsets.words()},
                       blocks));
  CD_TRY(runner.scan({.words = offsets.words(), .count = chosen.count}));
  CD_TRY(runner.read(&gathered.text_bytes, offsets.words() + chosen.count, sizeof(uint64_t)));
  GatherTextBytes work{.from = from, .chosen = chosen, .offsets = offsets.words()};
  if (from.stored == Stored::kBytes32) {
    if (gathered.text_bytes > INT32_MAX) {
      return make_error(ErrorCode::kTooManyRows,
                        "strings of {} bytes come together in one column, and its offsets have 32 "
                        "bits; cast it to large_utf8 or large_binary, or take fewer rows at once",
                        gathered.text_bytes);
    }
    CD_ASSIGN(gathered.values, DeviceBuffer::make(runner, (chosen.count + 1) * sizeof(int32_t)));
    work.narrow_offsets = gathered.values.as<int32_t>();
  }
  CD_ASSIGN(gathered.bytes, DeviceBuffer::make(runner, gathered.text_bytes));
  work.to = gathered.bytes.as<uint8_t>();
  CD_TRY(runner.launch(work, blocks));
  if (from.stored == Stored::kBytes64) gathered.values = std::move(offsets);
  return {};
}

}  // namespace

Result<DeviceColumnData> gather_column_on_device(DeviceRunner& runner,
                                                 const DeviceGatherSpec& spec) {
  CD_TRY(check_device_values(spec.from));
  const DeviceValues& from = spec.from;
  const ChosenRows chosen{.rows = spec.rows, .count = spec.count};
  DeviceColumnData gathered;
  gathered.stored = from.stored;
  gathered.rows = spec.count;
  if (from.validity != nullptr || spec.can_miss) {
    CD_TRY(gather_bits(runner,
                       {.from = from.validity, .first = from.first, .chosen = chosen},
                       gathered.validity,
                       gathered.null_count));
    if (gathered.null_count == 0) gathered.validity = DeviceBuffer();
  }
  if (is_text(from.stored)) {
    CD_TRY(gather_strings(runner, from, chosen, gathered));
  } else if (from.stored == Stored::kBit) {
    uint64_t falses = 0;
    CD_TRY(gather_bits(
        runner,
        {.from = static_cast<const uint8_t*>(from.values), .first = from.first, .chosen = chosen},
        gathered.values,
        falses));
  } else {
    const auto width_bytes = static_cast<uint32_t>(stored_bytes(from.stored));
    CD_ASSIGN(gathered.values, DeviceBuffer::make(runner, spec.count * width_bytes));
    CD_TRY(runner.launch(GatherFixed{.from = from,
                                     .chosen = chosen,
                                     .width_bytes = width_bytes,
                                     .to = gathered.values.as<std::byte>(),
                                     .is_key = spec.is_key},
                         grid_of_chosen(runner, spec.count)));
  }
  return Result<DeviceColumnData>(std::move(gathered));
}

}  // namespace crossdock::operators
