// One measurement of a pattern over channels; one JSON object on the standard output of each rank, for bench/channels.
// That of rank 0 is the report; those of others say what went over their links.
//
//   perf_bench PATTERN [bytes=N] [endpoints=N] [blocks=N] [segment=N] [slots=BITS] [columns=N] [zipf=THETA] [repeats=N]
//              [transports=LIST] [batch=ROWS] [table=BYTES] [memory=BYTES] [rounds=N] [static=0|1] [mark=FILE]
//
// Each repeat opens a channel, uses it and closes it. With several rounds all of that is done again, and the report is
// that of the last; resident_bytes are those of rank 0 after each round. grown_bytes are a rank's peak less what it had
// before, memory_here_bytes the most that its budget was charged with, channel_here_bytes of these its part of a
// channel. static=1: every flow keeps to one path.
// mark: a file that rank 0 makes when the first timed run is about to start, for those who mean to disturb it.
//
// Ranks find each other by what started them (CROSSDOCK_RANK, CROSSDOCK_RANKS, CROSSDOCK_MEET); without that it is one
// process alone. Exit status 1: bad arguments, an error of the data plane, or a wrong row.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/channels/data_plane.hpp"
#include "data/perf/run_perf.hpp"

namespace crossdock {
namespace {

constexpr int64_t kMemoryBytes = int64_t{8} << 30;
constexpr uint64_t kFirstChannel = 1;

struct Arguments {
  perf::PerfOptions options;
  channels::DataPlaneSettings settings;
  int64_t memory_bytes = kMemoryBytes;
  int rounds = 1;
  int is_static = 0;
  std::string mark;
};

Error bad(std::string_view argument) {
  return make_error(
      ErrorCode::kInvalidArgument, "{}: see the head of perf_bench.cpp for arguments", argument);
}

template <class T>
Status read(std::string_view argument, T& number) {
  const std::string_view text = argument.substr(argument.find('=') + 1);
  const char* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || at != end) return bad(argument);
  return {};
}

Status read_argument(std::string_view argument, Arguments& into) {
  const std::string_view name = argument.substr(0, argument.find('='));
  perf::PerfOptions& options = into.options;
  if (name == "bytes") return read(argument, options.bytes_per_source);
  if (name == "endpoints") return read(argument, options.endpoints_per_rank);
  if (name == "blocks") return read(argument, options.blocks);
  if (name == "segment") return read(argument, options.segment_bytes);
  if (name == "slots") return read(argument, options.slot_bits);
  if (name == "columns") return read(argument, options.columns);
  if (name == "zipf") return read(argument, options.zipf_theta);
  if (name == "repeats") return read(argument, options.repeats);
  if (name == "batch") return read(argument, options.batch_rows);
  if (name == "table") return read(argument, options.table_bytes);
  if (name == "memory") return read(argument, into.memory_bytes);
  if (name == "rounds") return read(argument, into.rounds);
  if (name == "static") return read(argument, into.is_static);
  if (name == "transports") {
    into.settings.transports = argument.substr(argument.find('=') + 1);
    return {};
  }
  if (name == "mark") {
    into.mark = argument.substr(argument.find('=') + 1);
    return {};
  }
  return bad(argument);
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// The most that the process has had resident, since it was started.
int64_t resident_peak_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    int64_t kib = 0;
    if (word == "VmHWM:" && file >> kib) return kib << 10;
  }
  return 0;
}

// Of this rank, since its data plane was opened.
std::string links_text(const std::vector<movers::LinkCounters>& links) {
  std::vector<std::string> rows;
  for (const movers::LinkCounters& link : links) {
    rows.push_back(
        fmt::format("{{\"name\": \"{}\", \"bytes_sent\": {}, \"resent\": {}, \"duplicates\": {}, "
                    "\"is_lost\": {}}}",
                    link.name,
                    link.bytes_sent,
                    link.resent,
                    link.duplicates,
                    link.is_lost));
  }
  return fmt::format("[{}]", fmt::join(rows, ", "));
}

void print(const perf::PerfReport& report,
           const std::vector<int64_t>& resident,
           const std::string& process_times) {
  fmt::print(
      "{{\"samples_s\": [{}], \"wrong_rows\": {}, \"endpoints\": {}, \"row_bytes\": {}, "
      "\"rows_per_source\": {}, \"segments\": {}, \"refused\": {}, \"waited_share\": {}, "
      "\"channel_bytes\": {}, \"memory_peak_bytes\": {}, \"predicted_s\": {}, \"bound\": \"{}\", "
      "\"copy_bytes_per_s\": {}, \"resident_bytes\": [{}], {}}}\n",
      fmt::join(report.seconds, ", "),
      report.wrong_rows,
      report.endpoints,
      report.row_bytes,
      report.rows_per_source,
      report.segments,
      report.refused,
      report.waited_share,
      report.channel_bytes,
      report.memory_peak_bytes,
      report.predicted_s,
      report.bound,
      report.copy_bytes_per_s,
      fmt::join(resident, ", "),
      process_times);
}

// What each rank says of itself.
std::string own_text(const perf::PerfReport& report,
                     int64_t memory_bytes,
                     int64_t grown_bytes,
                     const std::vector<movers::LinkCounters>& links) {
  return fmt::format(
      "\"channel_here_bytes\": {}, \"memory_here_bytes\": {}, \"grown_bytes\": {}, \"links\": {}",
      report.channel_here_bytes,
      memory_bytes,
      grown_bytes,
      links_text(links));
}

Status run(int count, char** words) {
  if (count < 2) return bad("no pattern");
  Arguments arguments;
  CD_ASSIGN(arguments.options.pattern, perf::parse_pattern(words[1]));
  for (int i = 2; i < count; ++i) CD_TRY(read_argument(words[i], arguments));
  std::shared_ptr<ranks::RankGroup> group;
  if (std::getenv("CROSSDOCK_RANK") != nullptr || std::getenv("PMIX_RANK") != nullptr) {
    CD_ASSIGN(group, ranks::join_environment());
  }
  arguments.settings.static_paths = arguments.is_static != 0;
  const auto memory = Memory::create(arguments.memory_bytes);
  CD_ASSIGN(const auto plane, channels::DataPlane::open(memory, group, arguments.settings));
  uint64_t next_channel = kFirstChannel;
  const CancelFlag cancel;
  perf::PerfContext context{plane.get(), group.get(), memory, &next_channel, &cancel};
  context.on_timed_run = [&](int run) {
    if (run == 0 && plane->rank() == 0 && !arguments.mark.empty()) std::ofstream(arguments.mark);
  };
  perf::PerfReport report;
  std::vector<int64_t> resident;
  const int64_t before = resident_bytes();
  for (int round = 0; round < arguments.rounds; ++round) {
    CD_ASSIGN(report, perf::run_perf(context, arguments.options));
    resident.push_back(resident_bytes());
    if (report.wrong_rows == 0) continue;
    return make_error(ErrorCode::kInternal, "{} rows are wrong", report.wrong_rows);
  }
  const std::string process_times =
      own_text(report, memory->peak_bytes(), resident_peak_bytes() - before, plane->links());
  if (plane->rank() == 0) {
    print(report, resident, process_times);
  } else {
    fmt::print("{{{}}}\n", process_times);
  }
  return {};
}

}  // namespace
}  // namespace crossdock

int main(int count, char** words) {
  const crossdock::Status status = crossdock::run(count, words);
  if (status.ok()) return 0;
  fmt::print(stderr,
             "perf_bench: {} {}\n",
             crossdock::code_text(status.error().code),
             status.error().message);
  return 1;
}
