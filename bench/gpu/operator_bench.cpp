// Operators on GPU 0 against what its memory does in the same run, as JSON lines. One self-contained program.
//
//   crossdock_gpu_operator_bench [--scale 0.01]
//
// Every result is checked before it is timed; a wrong one ends the program with status 1, no GPU with 3. Times are the
// median of five runs after one that is not counted, with memory that the first run has taken.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/device/cuda_calls.hpp"
#include "gpu/bench_kernels.hpp"
#include "gpu/bench_run.hpp"
#include "gpu/peer_kernels.hpp"
#include "operators/device/cuda_runner.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_partition.hpp"

namespace crossdock {
namespace {

constexpr double kPartitionBar = 0.6;
constexpr double kJoinBar = 0.4;
constexpr double kAgainstMergeBar = 2;

struct GroupCase {
  uint64_t groups;
  double bar;
};
constexpr GroupCase kGroupCases[] = {{1'000, 0.7}, {1'000'000, 0.3}, {100'000'000, 0.2}};

class OperatorBench {
 public:
  OperatorBench(std::unique_ptr<operators::CudaRunner> runner, double scale)
      : runner_(std::move(runner)), scale_(scale) {}

  void run() {
    word_ = words(1);
    copy_bytes_per_s_ = copy_rate(scaled(uint64_t{4} << 30));
    measure_random_reads();
    copy_by_kernels();
    count_ways();
    sort_one_digit();
    partition();
    map();
    join();
    for (const GroupCase& group_case : kGroupCases) group(group_case);
  }

 private:
  uint64_t scaled(uint64_t rows) const {
    return std::max<uint64_t>(
        static_cast<uint64_t>(std::llround(static_cast<double>(rows) * scale_)), 1);
  }
  operators::DeviceBuffer words(uint64_t count) {
    return take(operators::DeviceBuffer::words(*runner_, count));
  }
  operators::DeviceBuffer keys(uint64_t rows, uint64_t first, uint64_t distinct) {
    operators::DeviceBuffer buffer = words(rows);
    require_call(launch_keys(buffer.words(), rows, first, distinct, runner_->stream()));
    return buffer;
  }
  operators::DeviceBuffer numbers(uint64_t rows) {
    operators::DeviceBuffer buffer = words(rows);
    const operators::GatherWords work{.to = buffer.words(), .count = rows};
    require(runner_->launch(work, runner_->traits().blocks));
    return buffer;
  }
  uint64_t read_word(const uint64_t* from) {
    return take(operators::read_values<uint64_t>(*runner_, from, 1))[0];
  }
  uint64_t sum_of(const uint64_t* column, uint64_t rows) {
    clear_word();
    require_call(launch_sum(column, rows, sink()));
    return read_word(word_.words());
  }
  void clear_word() {
    const operators::FillWords work{.words = word_.words(), .count = 1};
    require(runner_->launch(work, 1));
  }
  BenchSink sink() const { return {word_.words(), runner_->stream()}; }

  template <class Run>
  double median_s(const Run& run) {
    return median_on_stream(runner_->stream(), run);
  }

  // In as many words as the table of the join has.
  void measure_random_reads() {
    const uint64_t count = scaled(800'000'000);
    const uint64_t reads = scaled(400'000'000);
    const operators::DeviceBuffer table = numbers(count);
    clear_word();
    const double seconds =
        median_s([&] { require_call(launch_random_reads(table.words(), count, reads, sink())); });
    random_per_s_ = static_cast<double>(reads) / seconds;
    fmt::print(
        "{{\"schema_version\": 1, \"bench\": \"gpu-random-reads\", \"table_bytes\": {}, "
        "\"reads\": {}, \"seconds\": {:.6f}, \"reads_per_s\": {:.4g}}}\n",
        count * sizeof(uint64_t),
        reads,
        seconds,
        random_per_s_);
  }

  void print_peer(const char* name, uint64_t rows, uint64_t row_bytes, double seconds) {
    fmt::print(
        "{{\"schema_version\": 1, \"bench\": \"gpu-peer\", \"name\": \"{}\", \"rows\": {}, "
        "\"row_bytes\": {}, \"seconds\": {:.6f}, \"of_copy_rate\": {:.3f}}}\n",
        name,
        rows,
        row_bytes,
        seconds,
        static_cast<double>(row_bytes * rows) / copy_bytes_per_s_ / seconds);
  }

  // A copy by kernels, which the copy rate may or may not be.
  void copy_by_kernels() {
    const uint64_t rows = scaled(400'000'000);
    const operators::DeviceBuffer from = numbers(rows);
    const operators::DeviceBuffer to = words(rows);
    const double seconds = median_s(
        [&] { require_call(launch_cub_copy(from.words(), to.words(), rows, runner_->stream())); });
    require_right(sum_of(to.words(), rows) == sum_of(from.words(), rows), "words of a copy");
    print_peer("CUB transform, a copy", rows, 16, seconds);
  }

  // Of the keys that a partition counts first, per block, all together.
  void count_ways() {
    const uint64_t rows = scaled(400'000'000);
    const operators::DeviceBuffer key = keys(rows, 0, 0);
    const operators::DeviceBuffer counts = words(256);
    const WayCounts ways{{.mix = WordMix::from_seed(1), .ways = 256}, counts.words()};
    PeerScratch scratch;
    require_call(launch_cub_histogram(key.words(), rows, ways, &scratch, runner_->stream()));
    const operators::DeviceBuffer memory =
        take(operators::DeviceBuffer::make(*runner_, scratch.bytes));
    scratch.memory = memory.as<std::byte>();
    const double seconds = median_s([&] {
      require_call(launch_cub_histogram(key.words(), rows, ways, &scratch, runner_->stream()));
    });
    require_right(sum_of(counts.words(), 256) == rows, "keys of all ways");
    print_peer("CUB histogram, 256 bins", rows, 8, seconds);
  }

  // A digit of 8 bits moves the rows that a partition into 256 moves: the peer of that.
  void sort_one_digit() {
    const uint64_t rows = scaled(400'000'000);
    const operators::DeviceBuffer key = keys(rows, 0, 0);
    const operators::DeviceBuffer number = numbers(rows);
    const operators::DeviceBuffer sorted_keys = words(rows);
    const operators::DeviceBuffer sorted_rows = words(rows);
    const operators::DeviceSortWork work{.keys = key.as<int64_t>(),
                                         .rows = number.words(),
                                         .sorted_keys = sorted_keys.as<int64_t>(),
                                         .sorted_rows = sorted_rows.words(),
                                         .count = rows,
                                         .key_bits = 8};
    const double seconds = median_s([&] { require(runner_->sort(work)); });
    require_right(sum_of(sorted_rows.words(), rows) == sum_of(number.words(), rows),
                  "numbers of rows after a sort");
    print_peer("CUB radix sort, 8 bits", rows, 32, seconds);
  }

  // The join's rows, half of which have a partner, in a map of 8-byte slots.
  void map() {
    const uint64_t rows = scaled(200'000'000);
    const operators::DeviceBuffer build_keys = keys(rows, 0, 0);
    const operators::DeviceBuffer probe_keys = keys(rows, rows / 2, 0);
    const operators::DeviceBuffer slots = words(2 * rows);
    const PeerMap peer{slots.words(), 2 * rows, build_keys.words()};
    const double insert_s =
        median_s([&] { require_call(launch_map_insert(peer, rows, runner_->stream())); });
    const auto count = [&] {
      require_call(launch_map_count(peer, probe_keys.words(), rows, sink()));
    };
    clear_word();
    count();
    require_right(read_word(word_.words()) == rows - rows / 2, "pairs of the map");
    const double count_s = median_s(count);
    const double bound_s = 2 * static_cast<double>(rows) / random_per_s_;
    fmt::print(
        "{{\"schema_version\": 1, \"bench\": \"gpu-map\", \"name\": \"8-byte slots\", \"rows\": "
        "{}, "
        "\"insert_s\": {:.6f}, \"count_s\": {:.6f}, \"of_random_bound\": {:.3f}}}\n",
        rows,
        insert_s,
        count_s,
        bound_s / (insert_s + count_s));
    runner_->give_back();
  }

  void partition() {
    const uint64_t rows = scaled(400'000'000);
    const operators::DeviceBuffer key = keys(rows, 0, 0);
    const operators::DeviceBuffer number = numbers(rows);
    const operators::DevicePartitionSpec spec{.key = {key.words(), 8},
                                              .columns = {{key.words(), 8}, {number.words(), 8}},
                                              .rows = rows,
                                              .rule = {.mix = WordMix::from_seed(1), .ways = 256}};
    {
      const operators::DevicePartitions partitions =
          take(operators::partition_on_device(*runner_, spec));
      clear_word();
      require_call(launch_partition_check(partitions.columns[0].words(),
                                          partitions.columns[1].words(),
                                          partitions.offsets.words(),
                                          spec.rule,
                                          sink()));
      require_right(read_word(word_.words()) == 0, "rows in other partitions than their own");
      require_right(read_word(partitions.offsets.words() + 256) == rows, "rows of all partitions");
      require_right(sum_of(partitions.columns[1].words(), rows) == sum_of(number.words(), rows),
                    "numbers of rows after a partition");
    }
    const double seconds = median_s([&] { take(operators::partition_on_device(*runner_, spec)); });
    const double of_copy = 32 * static_cast<double>(rows) / copy_bytes_per_s_ / seconds;
    fmt::print(
        "{{\"schema_version\": 1, \"bench\": \"gpu-partition\", \"rows\": {}, \"row_bytes\": 16, "
        "\"ways\": 256, \"seconds\": {:.6f}, \"predicted_s\": {:.6f}, \"of_copy_rate\": {:.3f}, "
        "\"bar\": {}, \"met\": {}}}\n",
        rows,
        seconds,
        40 * static_cast<double>(rows) / copy_bytes_per_s_,
        of_copy,
        kPartitionBar,
        of_copy >= kPartitionBar);
    runner_->give_back();
  }

  // Unique keys and row numbers on both sides; half of the probe side has a partner.
  void join() {
    const uint64_t rows = scaled(200'000'000);
    const operators::DeviceBuffer build_keys = keys(rows, 0, 0);
    const operators::DeviceBuffer probe_keys = keys(rows, rows / 2, 0);
    const operators::DeviceBuffer ids = numbers(rows);
    const operators::JoinRows build{build_keys.words(), ids.words(), rows};
    const operators::JoinRows probe{probe_keys.words(), ids.words(), rows};
    const uint64_t matches = rows - rows / 2;
    const auto by_hash = [&](uint64_t partition_above_bytes) {
      const operators::DeviceHashTable table = take(operators::DeviceHashTable::build(
          *runner_, build, {.partition_above_bytes = partition_above_bytes}));
      require_right(!table.has_duplicates(), "duplicates of unique keys");
      return take(table.count(probe, operators::DeviceJoinKind::kInner));
    };
    const auto by_sorting = [&] {
      const operators::DeviceSortedSide sorted_build =
          take(operators::DeviceSortedSide::sort(*runner_, build));
      const operators::DeviceSortedSide sorted_probe =
          take(operators::DeviceSortedSide::sort(*runner_, probe));
      return take(operators::count_merged(
          *runner_, sorted_probe, sorted_build, operators::DeviceJoinKind::kInner));
    };
    require_right(by_sorting() == matches, "pairs of the merge join");
    const double merge_s = median_s(by_sorting);
    runner_->give_back();
    const double bound_s = 2 * static_cast<double>(rows) / random_per_s_;
    for (const bool in_pieces : {false, true}) {
      const uint64_t above = in_pieces ? 0 : UINT64_MAX;
      require_right(by_hash(above) == matches, "pairs of the hash join");
      const double seconds = median_s([&] { by_hash(above); });
      fmt::print(
          "{{\"schema_version\": 1, \"bench\": \"gpu-join\", \"rows\": {}, \"row_bytes\": 16, "
          "\"matches\": {}, \"in_pieces\": {}, \"seconds\": {:.6f}, \"random_bound_s\": {:.6f}, "
          "\"of_random_bound\": {:.3f}, \"bar\": {}, \"sort_merge_s\": {:.6f}, "
          "\"against_sort_merge\": {:.2f}, \"against_bar\": {}, \"met\": {}}}\n",
          rows,
          matches,
          in_pieces,
          seconds,
          bound_s,
          bound_s / seconds,
          kJoinBar,
          merge_s,
          merge_s / seconds,
          kAgainstMergeBar,
          bound_s / seconds >= kJoinBar && merge_s / seconds >= kAgainstMergeBar);
      runner_->give_back();
    }
  }

  void group(const GroupCase& group_case) {
    const uint64_t rows = scaled(400'000'000);
    const uint64_t distinct = std::min(group_case.groups, scaled(100'000'000));
    const operators::DeviceBuffer key = keys(rows, 0, distinct);
    const operators::DeviceBuffer value = numbers(rows);
    const operators::DeviceGroupSpec spec{
        .keys = key.words(),
        .rows = rows,
        .aggregates = {{operators::DeviceAggregate::kSum, value.as<int64_t>()}},
        .groups_expected = distinct};
    operators::DeviceGroups grouped = take(operators::group_on_device(*runner_, spec));
    require_right(grouped.groups <= distinct, "more groups than keys");
    require_right(sum_of(grouped.counts(), grouped.groups) == rows, "counts of all groups");
    require_right(sum_of(grouped.column(grouped.first_word[0]), grouped.groups) ==
                      sum_of(value.words(), rows),
                  "sums of all groups");
    grouped.words = operators::DeviceBuffer();
    const double seconds = median_s([&] { take(operators::group_on_device(*runner_, spec)); });
    const double read_s = 16 * static_cast<double>(rows) / copy_bytes_per_s_;
    fmt::print(
        "{{\"schema_version\": 1, \"bench\": \"gpu-group-by\", \"rows\": {}, \"groups\": {}, "
        "\"in_pieces\": {}, \"seconds\": {:.6f}, \"read_s\": {:.6f}, \"of_read\": {:.3f}, "
        "\"bar\": {}, \"met\": {}}}\n",
        rows,
        grouped.groups,
        grouped.is_partitioned,
        seconds,
        read_s,
        read_s / seconds,
        group_case.bar,
        read_s / seconds >= group_case.bar);
    runner_->give_back();
  }

  std::unique_ptr<operators::CudaRunner> runner_;
  double scale_;
  double copy_bytes_per_s_ = 0;
  double random_per_s_ = 0;
  operators::DeviceBuffer word_;
};

int bench_operators(double scale) {
  auto runner = take(operators::CudaRunner::open(0), kNoGpu);
  open_gpu_0();
  OperatorBench(std::move(runner), scale).run();
  return 0;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  double scale = 1;
  if (argc == 3 && std::strcmp(argv[1], "--scale") == 0) scale = std::atof(argv[2]);
  if ((argc != 1 && argc != 3) || !(scale > 0) || scale > 10) {
    std::fprintf(stderr, "usage: crossdock_gpu_operator_bench [--scale <above 0, at most 10>]\n");
    return 2;
  }
  return crossdock::bench_operators(scale);
}
