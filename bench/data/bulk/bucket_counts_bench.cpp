// The exchange of bucket counts in its five forms, between the ranks of mpirun or threads of this process; one JSON
// object per form on stdout, for bench/mpi.
//
//   bucket_counts_bench RANKS TASKS BUCKETS BUFFER_ELEMENTS REPEATS [RANKS_PER_HOST]
//
// Messages and bytes are those of one exchange, counts and starts together, of all ranks, as they were counted, beside
// what the formulas say. Seconds are the median of the repeats, forms in turn; a repeat lasts until the last rank has
// its starts. With RANKS_PER_HOST, ranks of other hosts are reached by puts alone. Under mpirun its ranks count, and
// not RANKS. Exit status 1: bad arguments, an error, or forms that find different starts.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "data/bulk/bucket_counts.hpp"
#include "rank_work.hpp"
#include "table/word_mix.hpp"

namespace crossdock {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kMemoryBytes = int64_t{4} << 30;
constexpr size_t kForms = std::size(model::kBucketForms);

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "bucket_counts_bench: {}\n", text);
  std::exit(1);
}

struct Measured {
  std::vector<double> seconds;
  int64_t messages = 0;
  int64_t bytes = 0;
};

struct Work {
  model::BucketShape shape;
  int repeats = 1;
};

// One repeat of one form; what all ranks sent, and how long the last one took.
Status exchange_once(ranks::Communicator& ranks,
                     bulk::BucketCounts& form,
                     const Work& work,
                     Measured& measured) {
  std::vector<int64_t> counts(static_cast<size_t>(work.shape.tasks * work.shape.buckets));
  std::vector<int64_t> starts(counts.size());
  uint64_t state = 1 + static_cast<uint64_t>(ranks.rank());
  for (int64_t& count : counts) count = static_cast<int64_t>(next_random(state) % 1000);
  CD_TRY(ranks.barrier());
  const ranks::Communicator::Traffic before = ranks.traffic();
  const Clock::time_point begin = Clock::now();
  CD_TRY(form.exchange(counts, starts));
  const auto own_ns = std::chrono::nanoseconds(Clock::now() - begin).count();
  const ranks::Communicator::Traffic after = ranks.traffic();
  CD_ASSIGN(const int64_t slowest_ns, ranks.fold(int64_t{own_ns}, ranks::Fold::kMax));
  // All forms but kScanned put; its collectives are its messages. Barriers of windows are not counted in either.
  const bool puts = after.put_messages > before.put_messages;
  const int64_t sent_here[] = {
      puts ? after.put_messages - before.put_messages
           : after.collective_messages - before.collective_messages,
      puts ? after.put_bytes - before.put_bytes : after.collective_bytes - before.collective_bytes};
  CD_ASSIGN(const std::vector<int64_t> sent, ranks.fold(sent_here, ranks::Fold::kSum));
  int64_t sum = 0;  // of starts, by their places
  for (size_t i = 0; i < starts.size(); ++i)
    sum += starts[i] % 1'000'003 * static_cast<int64_t>(i % 97);
  CD_ASSIGN(const int64_t check, ranks.fold(sum, ranks::Fold::kSum));
  static thread_local int64_t expected = -1;
  if (expected >= 0 && expected != check) {
    return make_error(ErrorCode::kInternal, "two forms find different starts");
  }
  expected = check;
  measured.seconds.push_back(static_cast<double>(slowest_ns) * 1e-9);
  measured.messages = sent[0];
  measured.bytes = sent[1];
  return {};
}

Status run(ranks::Communicator& ranks, const Work& work, std::vector<Measured>& measured) {
  const auto memory = Memory::create(kMemoryBytes);
  std::vector<std::unique_ptr<bulk::BucketCounts>> forms;
  for (const model::BucketForm form : model::kBucketForms) {
    CD_ASSIGN(auto opened, bulk::BucketCounts::open(ranks, work.shape, form, memory));
    forms.push_back(std::move(opened));
  }
  measured.assign(kForms, {});
  for (int repeat = 0; repeat < work.repeats; ++repeat) {
    for (size_t i = 0; i < kForms; ++i) CD_TRY(exchange_once(ranks, *forms[i], work, measured[i]));
  }
  return {};
}

void print(const Work& work, std::vector<Measured>& measured) {
  for (size_t i = 0; i < kForms; ++i) {
    std::vector<double>& seconds = measured[i].seconds;
    std::sort(seconds.begin(), seconds.end());
    const model::BucketTraffic there = model::bucket_traffic(work.shape, model::kBucketForms[i]);
    const int ways = model::kBucketForms[i] == model::BucketForm::kScanned ? 1 : 2;
    fmt::print(
        "{{\"form\": \"{}\", \"ranks\": {}, \"tasks\": {}, \"buckets\": {}, \"buffer_elements\": "
        "{}, "
        "\"messages\": {}, \"predicted_messages\": {}, \"bytes\": {}, \"predicted_bytes\": {}, "
        "\"seconds\": {:.9f}, \"repeats\": {}}}\n",
        model::bucket_form_name(model::kBucketForms[i]),
        work.shape.ranks,
        work.shape.tasks,
        work.shape.buckets,
        work.shape.buffer_elements,
        measured[i].messages,
        ways * there.messages,
        measured[i].bytes,
        ways * there.bytes,
        seconds[seconds.size() / 2],
        work.repeats);
  }
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  using namespace crossdock;
  if (argc < 6) fail("takes RANKS TASKS BUCKETS BUFFER_ELEMENTS REPEATS [RANKS_PER_HOST]");
  Work work;
  work.shape.ranks = std::atoi(argv[1]);
  work.shape.tasks = std::atoi(argv[2]);
  work.shape.buckets = std::atoll(argv[3]);
  work.shape.buffer_elements = std::atoll(argv[4]);
  work.repeats = std::max(1, std::atoi(argv[5]));
  const int ranks_per_host = argc > 6 ? std::atoi(argv[6]) : 0;
  const Status status = run_on_ranks<std::vector<Measured>>(
      work.shape.ranks,
      ranks_per_host,
      [&](ranks::Communicator& ranks, auto& measured) {
        Work of_all = work;
        of_all.shape.ranks = ranks.size();
        return run(ranks, of_all, measured);
      },
      [&](int ranks, auto& measured) {
        work.shape.ranks = ranks;
        print(work, measured);
      });
  if (!status.ok()) fail(status.error().message);
  return 0;
}
