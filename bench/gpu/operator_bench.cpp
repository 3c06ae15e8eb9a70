// Operators on GPU 0 against what its memory does in the same run, as JSON lines. One self-contained program.
//
//   crossdock_gpu_operator_bench [--scale 0.01]
//
// Every result is checked before it is timed; a wrong one ends the program with status 1, no GPU with 3. Times are the
// median of five runs after one that is not counted, with memory that the first run has taken.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/device/cuda_calls.hpp"
#include "gpu/bench_kernels.hpp"
#include "operators/device/cuda_runner.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_partition.hpp"

namespace crossdock {
namespace {

constexpr int kTimedRuns = 5;
constexpr double kPartitionBar = 0.6;
constexpr double kJoinBar = 0.4;
constexpr double kAgainstMergeBar = 2;

struct GroupCase {
  uint64_t groups;
  double bar;
};
constexpr GroupCase kGroupCases[] = {{1'000, 0.7}, {1'000'000, 0.3}, {100'000'000, 0.2}};

[[noreturn]] void end_with(const Error& error, int status) {
  fmt::print(stderr, "{}: {}\n", code_text(error.code), error.message);
  std::exit(status);
}

void require_call(int error) {
  if (error != 0) end_with({ErrorCode::kInternal, cuda_calls::error_text(error)}, 1);
}

template <class T>
T take(Result<T> result) {
  if (!result.ok()) end_with(result.error(), 1);
  return std::move(result.value());
}

void require_right(bool holds, const std::string& what) {
  if (!holds) end_with({ErrorCode::kInternal, "a wrong result: " + what}, 1);
}

class OperatorBench {
 public:
  OperatorBench(std::unique_ptr<CudaRunner> runner, double scale)
      : runner_(std::move(runner)), scale_(scale) {}

  void run() {
    word_ = words(1);
    measure_copies();
    measure_random_reads();
    partition();
    join();
    for (const GroupCase& group_case : kGroupCases) group(group_case);
  }

 private:
  uint64_t scaled(uint64_t rows) const {
    return std::max<uint64_t>(
        static_cast<uint64_t>(std::llround(static_cast<double>(rows) * scale_)), 1);
  }
  DeviceBuffer words(uint64_t count) { return take(DeviceBuffer::words(*runner_, count)); }
  DeviceBuffer keys(uint64_t rows, uint64_t first, uint64_t distinct) {
    DeviceBuffer made = words(rows);
    require_call(launch_keys(made.words(), rows, first, distinct, runner_->stream()));
    return made;
  }
  DeviceBuffer numbers(uint64_t rows) {
    DeviceBuffer made = words(rows);
    const GatherWords work{.to = made.words(), .count = rows};
    if (const Status ran = runner_->launch(work, runner_->traits().blocks); !ran.ok())
      end_with(ran.error(), 1);
    return made;
  }
  uint64_t read_word(const uint64_t* from) {
    return take(read_values<uint64_t>(*runner_, from, 1))[0];
  }
  uint64_t sum_of(const uint64_t* column, uint64_t rows) {
    const uint64_t tiles = tiles_of(rows, kScanTileRows);
    const DeviceBuffer totals = words(tiles + 1);
    const TileTotals work{.words = column, .count = rows, .totals = totals.words()};
    if (const Status ran = runner_->launch(work, runner_->traits().blocks); !ran.ok())
      end_with(ran.error(), 1);
    if (const Status ran = scan_exclusive(*runner_, totals.words(), tiles); !ran.ok())
      end_with(ran.error(), 1);
    return read_word(totals.words() + tiles);
  }
  void clear_word() {
    const FillWords work{.words = word_.words(), .count = 1};
    if (const Status ran = runner_->launch(work, 1); !ran.ok()) end_with(ran.error(), 1);
  }
  BenchSink sink() const { return {word_.words(), runner_->stream()}; }

  template <class Run>
  double median_s(const Run& run) {
    std::vector<double> seconds;
    for (int repeat = 0; repeat <= kTimedRuns; ++repeat) {
      require_call(cuda_calls::wait_stream(runner_->stream()));
      const auto begun = std::chrono::steady_clock::now();
      run();
      require_call(cuda_calls::wait_stream(runner_->stream()));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
      if (repeat != 0) seconds.push_back(took.count());
    }
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2];
  }

  void measure_copies() {
    const uint64_t bytes = scaled(uint64_t{4} << 30);
    const DeviceBuffer from = take(DeviceBuffer::make(*runner_, bytes));
    const DeviceBuffer to = take(DeviceBuffer::make(*runner_, bytes));
    const double seconds = median_s([&] {
      require_call(
          cuda_calls::copy(to.as<std::byte>(), from.as<std::byte>(), bytes, runner_->stream()));
    });
    copy_bytes_per_s_ = 2 * static_cast<double>(bytes) / seconds;
    fmt::print(
        "{{\"schema_version\": 1, \"bench\": \"gpu-copy\", \"bytes\": {}, \"seconds\": {:.6f}, "
        "\"bytes_per_s\": {:.4g}}}\n",
        bytes,
        seconds,
        copy_bytes_per_s_);
  }

  // In as many words as the table of the join has.
  void measure_random_reads() {
    const uint64_t count = scaled(800'000'000);
    const uint64_t reads = scaled(400'000'000);
    const DeviceBuffer table = numbers(count);
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

  void partition() {
    const uint64_t rows = scaled(400'000'000);
    const DeviceBuffer key = keys(rows, 0, 0);
    const DeviceBuffer number = numbers(rows);
    const DevicePartitionSpec spec{.key = {key.words(), 8},
                                   .columns = {{key.words(), 8}, {number.words(), 8}},
                                   .rows = rows,
                                   .rule = {.mix = WordMix::from_seed(1), .ways = 256}};
    {
      const DevicePartitions made = take(partition_on_device(*runner_, spec));
      clear_word();
      require_call(launch_partition_check(made.columns[0].words(),
                                          made.columns[1].words(),
                                          made.offsets.words(),
                                          spec.rule,
                                          sink()));
      require_right(read_word(word_.words()) == 0, "rows in other partitions than their own");
      require_right(read_word(made.offsets.words() + 256) == rows, "rows of all partitions");
      require_right(sum_of(made.columns[1].words(), rows) == sum_of(number.words(), rows),
                    "numbers of rows after a partition");
    }
    const double seconds = median_s([&] { take(partition_on_device(*runner_, spec)); });
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
    const DeviceBuffer build_keys = keys(rows, 0, 0);
    const DeviceBuffer probe_keys = keys(rows, rows / 2, 0);
    const DeviceBuffer ids = numbers(rows);
    const JoinRows build{build_keys.words(), ids.words(), rows};
    const JoinRows probe{probe_keys.words(), ids.words(), rows};
    const uint64_t matches = rows - rows / 2;
    const auto by_hash = [&](uint64_t partition_above_bytes) {
      const DeviceHashTable table = take(DeviceHashTable::build(
          *runner_, build, {.partition_above_bytes = partition_above_bytes}));
      require_right(!table.has_duplicates(), "duplicates of unique keys");
      return take(table.count(probe, DeviceJoinKind::kInner));
    };
    const auto by_sorting = [&] {
      const DeviceSortedSide sorted_build = take(DeviceSortedSide::sort(*runner_, build));
      const DeviceSortedSide sorted_probe = take(DeviceSortedSide::sort(*runner_, probe));
      return take(count_merged(*runner_, sorted_probe, sorted_build, DeviceJoinKind::kInner));
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
    const DeviceBuffer key = keys(rows, 0, distinct);
    const DeviceBuffer value = numbers(rows);
    const DeviceGroupSpec spec{.keys = key.words(),
                               .rows = rows,
                               .aggregates = {{DeviceAggregate::kSum, value.as<int64_t>()}},
                               .groups_expected = distinct};
    DeviceGroups made = take(group_on_device(*runner_, spec));
    require_right(made.groups <= distinct, "more groups than keys");
    require_right(sum_of(made.counts(), made.groups) == rows, "counts of all groups");
    require_right(
        sum_of(made.column(made.first_word[0]), made.groups) == sum_of(value.words(), rows),
        "sums of all groups");
    made.words = DeviceBuffer();
    const double seconds = median_s([&] { take(group_on_device(*runner_, spec)); });
    const double read_s = 16 * static_cast<double>(rows) / copy_bytes_per_s_;
    fmt::print(
        "{{\"schema_version\": 1, \"bench\": \"gpu-group-by\", \"rows\": {}, \"groups\": {}, "
        "\"in_pieces\": {}, \"seconds\": {:.6f}, \"read_s\": {:.6f}, \"of_read\": {:.3f}, "
        "\"bar\": {}, \"met\": {}}}\n",
        rows,
        made.groups,
        made.is_partitioned,
        seconds,
        read_s,
        read_s / seconds,
        group_case.bar,
        read_s / seconds >= group_case.bar);
    runner_->give_back();
  }

  std::unique_ptr<CudaRunner> runner_;
  double scale_;
  double copy_bytes_per_s_ = 0;
  double random_per_s_ = 0;
  DeviceBuffer word_;
};

int bench_operators(double scale) {
  auto opened = CudaRunner::open(0);
  if (!opened.ok()) end_with(opened.error(), 3);
  cuda_calls::GpuFacts facts;
  require_call(cuda_calls::open_gpu(0, &facts));
  fmt::print(
      "{{\"schema_version\": 1, \"bench\": \"gpu-facts\", \"gpu\": \"{}\", "
      "\"multiprocessors\": {}, \"l2_bytes\": {}, \"free_bytes\": {}, \"scale\": {}}}\n",
      facts.name,
      facts.multiprocessors,
      facts.l2_bytes,
      facts.free_bytes,
      scale);
  OperatorBench(std::move(opened.value()), scale).run();
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
