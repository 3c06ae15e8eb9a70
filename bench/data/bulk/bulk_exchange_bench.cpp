// Rows of two int64, a key and a row number as in the paper's section 5.1, that the ranks of mpirun (or threads of this
// process) exchange by a hash of the key; one JSON object per form on stdout, for bench/mpi.
//
//   bulk_exchange_bench RANKS ROWS REPEATS FORMS [RANKS_PER_HOST]
//
// ROWS are of each rank. FORMS are words with commas between them: an order of puts (phases, fill) and, behind a slash,
// auto, always or never for packing: phases/auto,fill/never. They take turns. A run begins when all ranks are there,
// and lasts until the last one has its rows; seconds of a phase are those of the rank that it took longest. Sums of
// keys and numbers that came are compared with those that were sent. With RANKS_PER_HOST, ranks of other hosts are
// reached by puts alone. Under mpirun its ranks count, and not RANKS. Exit status 1: bad arguments, an error, or sums
// that differ.
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/team.hpp"
#include "data/bulk/bulk_exchange.hpp"
#include "rank_work.hpp"

namespace crossdock {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t kMemoryBytes = int64_t{16} << 30;
constexpr const char* kPhases[] = {"histogram", "window", "network partition", "arrival"};
constexpr const char* kParts[] = {"partition", "put", "flush", "wait"};

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "bulk_exchange_bench: {}\n", text);
  std::exit(1);
}

struct Form {
  std::string name;
  bulk::BulkOptions options;
};

struct Work {
  int64_t rows = 0;
  int repeats = 1;
  std::vector<Form> forms;
};

// Of one form: of all ranks together, but for seconds, which are the most of any rank.
struct Measured {
  std::vector<double> seconds;
  std::vector<std::vector<double>> phases;  // by run: kPhases, then kParts
  int64_t bytes = 0;
  int64_t messages = 0;
  int64_t plain_row_bytes = 0;
  int64_t sent_row_bytes = 0;
  std::string packing;
  std::string order;
};

std::vector<Form> read_forms(std::string_view text) {
  std::vector<Form> forms;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    Form form{std::string(word), {}};
    const size_t slash = word.find('/');
    const std::string_view order = word.substr(0, slash);
    const std::string_view packing =
        slash == std::string_view::npos ? "auto" : word.substr(slash + 1);
    if ((order != "phases" && order != "fill") ||
        (packing != "auto" && packing != "always" && packing != "never")) {
      fail(fmt::format("no form is named '{}'", word));
    }
    form.options.order =
        order == "fill" ? bulk::PutOrderKind::kAsTheyFill : bulk::PutOrderKind::kPhases;
    if (packing == "always") form.options.packing = bulk::BulkPacking::kAlways;
    if (packing == "never") form.options.packing = bulk::BulkPacking::kNever;
    forms.push_back(std::move(form));
  }
  return forms;
}

// Keys are those of all ranks' rows, each once, in no order; a number is the row's, in its rank.
struct Rows {
  std::vector<int64_t> keys;
  std::vector<int64_t> numbers;
  Table table;
};

void make_rows(int rank, int ranks, int64_t count, Rows& rows) {
  // A prime that divides no number of rows that is below it: its multiples modulo that number are all of them.
  constexpr int64_t kStep = 2'654'435'761;
  const int64_t all = count * ranks;
  for (int64_t i = 0; i < count; ++i) {
    rows.keys.push_back((rank * count + i) % all * (kStep % all) % all);
    rows.numbers.push_back(i);
  }
  auto schema = std::make_shared<Schema>();
  Batch batch;
  for (const std::vector<int64_t>* values : {&rows.keys, &rows.numbers}) {
    Field field;
    field.name = values == &rows.keys ? "key" : "row";
    field.type = parse_arrow_format("l").value();
    field.nullable = false;
    schema->fields.push_back(std::move(field));
    ColumnView column;
    column.length = count;
    column.values = reinterpret_cast<const uint8_t*>(values->data());
    batch.columns.push_back(column);
  }
  batch.schema = schema;
  batch.rows = count;
  rows.table = {schema, {batch}, count};
}

// Of keys and numbers, modulo 2^64.
std::pair<int64_t, int64_t> sums_of(const Table& table) {
  uint64_t sums[2] = {0, 0};
  for (const Batch& batch : table.batches) {
    for (size_t column = 0; column < 2; ++column) {
      const auto* values = batch.columns[column].data<int64_t>();
      for (int64_t i = 0; i < batch.rows; ++i) {
        sums[column] += static_cast<uint64_t>(values[i]) * (column == 0 ? 1 : 3);
      }
    }
  }
  return {static_cast<int64_t>(sums[0] % (uint64_t{1} << 40)),
          static_cast<int64_t>(sums[1] % (uint64_t{1} << 40))};
}

Status check_sums(ranks::Communicator& ranks, const Table& sent, const Table& come) {
  // Of all ranks: a rank's sum modulo 2^40 adds up to less than 2^63, and all of it is known modulo 2^40.
  const auto [sent_keys, sent_numbers] = sums_of(sent);
  const auto [come_keys, come_numbers] = sums_of(come);
  const int64_t mine[] = {sent_keys, sent_numbers, come_keys, come_numbers, sent.rows, come.rows};
  CD_ASSIGN(const std::vector<int64_t> all, ranks.fold(mine, ranks::Fold::kSum));
  constexpr int64_t kModulus = int64_t{1} << 40;
  if (all[0] % kModulus == all[2] % kModulus && all[1] % kModulus == all[3] % kModulus &&
      all[4] == all[5]) {
    return {};
  }
  return make_error(
      ErrorCode::kInternal, "{} rows were sent, and {} came, or others", all[4], all[5]);
}

Status exchange_once(ranks::Communicator& ranks,
                     const bulk::BulkContext& context,
                     const Table& table,
                     const Form& form,
                     Measured& measured) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks.size(); ++rank) all.push_back(rank);
  sorters::RouteSpec rule{sorters::RouteBy::kHash, {0}, ranks.size()};
  CD_TRY(ranks.barrier());
  const Clock::time_point begin = Clock::now();
  CD_ASSIGN(const bulk::BulkResult come,
            bulk::bulk_exchange(context, table, {&rule, {}, all}, form.options));
  const auto total_ns = std::chrono::nanoseconds(Clock::now() - begin).count();
  std::vector<int64_t> slowest = {total_ns};
  for (const char* name : kPhases) {
    double seconds = 0;
    for (const bulk::BulkPhase& phase : come.facts.phases) {
      if (phase.name == name) seconds += phase.seconds;
    }
    slowest.push_back(static_cast<int64_t>(seconds * 1e9));
  }
  for (const char* name : kParts) {
    double seconds = 0;
    for (const bulk::BulkPhase& phase : come.facts.phases) {
      for (const auto& [part, part_s] : phase.parts) seconds += part == name ? part_s : 0;
    }
    slowest.push_back(static_cast<int64_t>(seconds * 1e9));
  }
  CD_ASSIGN(const std::vector<int64_t> most, ranks.fold(slowest, ranks::Fold::kMax));
  const int64_t sent[] = {come.facts.bytes_sent, come.facts.messages};
  CD_ASSIGN(const std::vector<int64_t> in_all, ranks.fold(sent, ranks::Fold::kSum));
  CD_TRY(check_sums(ranks, table, *come.table));
  std::vector<double> seconds;
  for (const int64_t ns : most) seconds.push_back(static_cast<double>(ns) * 1e-9);
  measured.seconds.push_back(seconds[0]);
  measured.phases.emplace_back(seconds.begin() + 1, seconds.end());
  measured.bytes = in_all[0];
  measured.messages = in_all[1];
  measured.plain_row_bytes = come.facts.plain_row_bytes;
  measured.sent_row_bytes = come.facts.sent_row_bytes;
  measured.packing = come.facts.packing;
  measured.order = come.facts.order;
  return {};
}

// One run of each form that does not count, then the repeats.
Status run(ranks::Communicator& ranks, const Work& work, std::vector<Measured>& measured) {
  Rows rows;
  make_rows(ranks.rank(), ranks.size(), work.rows, rows);
  Team team(1);
  const bulk::BulkContext context{&ranks, &team, Memory::create(kMemoryBytes)};
  measured.assign(work.forms.size(), {});
  for (int repeat = -1; repeat < work.repeats; ++repeat) {
    for (size_t i = 0; i < work.forms.size(); ++i) {
      CD_TRY(exchange_once(ranks, context, rows.table, work.forms[i], measured[i]));
      if (repeat < 0) measured[i] = {};
    }
  }
  return {};
}

void print(const Work& work, int ranks, const std::vector<Measured>& measured) {
  for (size_t i = 0; i < work.forms.size(); ++i) {
    const Measured& form = measured[i];
    std::vector<std::string> phases;
    for (size_t phase = 0; phase < std::size(kPhases) + std::size(kParts); ++phase) {
      std::vector<double> samples;
      for (const std::vector<double>& run : form.phases) samples.push_back(run[phase]);
      phases.push_back(fmt::format(
          "\"{}\": [{:.9f}]",
          phase < std::size(kPhases) ? kPhases[phase] : kParts[phase - std::size(kPhases)],
          fmt::join(samples, ", ")));
    }
    fmt::print(
        "{{\"form\": \"{}\", \"ranks\": {}, \"rows_per_rank\": {}, \"samples_s\": [{:.9f}], "
        "\"phases_s\": {{{}}}, \"bytes_sent\": {}, \"messages\": {}, \"plain_row_bytes\": {}, "
        "\"sent_row_bytes\": {}, \"packing\": \"{}\", \"order\": \"{}\"}}\n",
        work.forms[i].name,
        ranks,
        work.rows,
        fmt::join(form.seconds, ", "),
        fmt::join(phases, ", "),
        form.bytes,
        form.messages,
        form.plain_row_bytes,
        form.sent_row_bytes,
        form.packing,
        form.order);
  }
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  using namespace crossdock;
  if (argc < 5) fail("takes RANKS ROWS REPEATS FORMS [RANKS_PER_HOST]");
  Work work;
  const int ranks = std::atoi(argv[1]);
  work.rows = std::atoll(argv[2]);
  work.repeats = std::max(1, std::atoi(argv[3]));
  work.forms = read_forms(argv[4]);
  const int ranks_per_host = argc > 5 ? std::atoi(argv[5]) : 0;
  if (work.rows < 1 || work.rows > 1'000'000'000) fail("takes 1 to 1,000,000,000 rows");
  const Status status = run_on_ranks<std::vector<Measured>>(
      ranks,
      ranks_per_host,
      [&](ranks::Communicator& communicator, auto& measured) {
        return run(communicator, work, measured);
      },
      [&](int count, const auto& measured) { print(work, count, measured); });
  if (!status.ok()) fail(status.error().message);
  return 0;
}
