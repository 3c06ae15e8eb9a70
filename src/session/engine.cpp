// Engine, tables, and what the public API tells about itself.
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <hwy/highway.h>

#include "session/state.hpp"
#include "table/arrow_export.hpp"
#include "table/arrow_import.hpp"
#include "table/word_mix.hpp"

namespace crossdock {
namespace {

constexpr double kDefaultMemoryShare = 0.8;

// Every setting of the project: environment variable CROSSDOCK_<NAME>, Python and CLI read this.
struct Setting {
  const char* name;
  const char* default_value;
  const char* doc;
};
constexpr Setting kSettings[] = {
    {"threads", "0", "worker threads; 0 = every core this process may use"},
    {"memory", "0", "memory budget such as 8GiB; 0 = 80 % of the machine's memory"},
    {"nvml", "libnvidia-ml.so.1", "library to ask about GPUs; empty = none"},
    {"rank", "", "number of this process in a group that no launcher started"},
    {"ranks", "", "how many processes that group has"},
    {"meet", "", "where they meet: a rendezvous' address, or a folder that all can write to"},
    {"control", "", "agent through which they meet instead, HOST:PORT or unix:/path"},
    {"moves", "auto", "how rows go between ranks: auto, bulk (by puts of MPI) or channels"},
    {"job", "", "name under which they meet, which no other group meets under"},
    {"open_within_s",
     "30",
     "seconds that ranks wait for each other to join, and to open a channel"},
    {"step_within_s",
     "120",
     "seconds that a rank waits for the others in each step of a bulk transfer or a gathering"},
    {"eager_bytes",
     "262144",
     "bytes of the rows of all ranks together up to which they go with what ranks agree on; 0 = "
     "none do"},
    {"plugins", "", "folder of the parts that need system libraries; empty = beside the program"},
    {"debug", "0", "1 = show Python tracebacks of errors on the command line"},
    {"rates",
     "",
     "file of measured rates; empty = in the user's configuration folder, none = built-in"},
    {"control_ca",
     "",
     "file of the authority that signed the certificate of that agent or controller; means TLS"},
    {"control_token", "", "token that calls to a controller or agent carry; never shown"},
};

std::string huge_page_mode() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string word;
  while (file >> word) {
    if (word.size() > 2 && word.front() == '[') return word.substr(1, word.size() - 2);
  }
  return "unknown";
}

}  // namespace

void throw_error(const Error& error) {
  for (const ErrorInfo& info : error_table()) {
    if (info.code == error.code) {
      throw Exception(code_text(error.code), std::string(info.kind), error.message);
    }
  }
  throw Exception(code_text(error.code), "InternalError", error.message);
}

Engine::Engine(EngineOptions options) : state_(std::make_shared<State>()) {
  constexpr int kThreadsMax = 1024;
  if (options.threads < 0 || options.threads > kThreadsMax) {
    throw_error(make_error(ErrorCode::kInvalidArgument,
                           "threads is {}, but must be 0 to {}",
                           options.threads,
                           kThreadsMax));
  }
  constexpr int64_t kMemoryMin = int64_t{16} << 20;
  if (options.memory_bytes != 0 && options.memory_bytes < kMemoryMin) {
    throw_error(make_error(ErrorCode::kInvalidArgument,
                           "memory is {} bytes, but must be at least {} (16 MiB), or 0 for the "
                           "default",
                           options.memory_bytes,
                           kMemoryMin));
  }
  state_->machine = model::probe_machine();
  state_->threads = options.threads > 0 ? options.threads : state_->machine.cores;
  const auto share =
      static_cast<int64_t>(kDefaultMemoryShare * static_cast<double>(state_->machine.memory_bytes));
  state_->memory = Memory::create(options.memory_bytes > 0 ? options.memory_bytes : share);
  std::random_device random;
  state_->seed = (uint64_t{random()} << 32) | random();
}

int Engine::threads() const { return state_->threads; }
int64_t Engine::memory_limit_bytes() const { return state_->memory->limit_bytes(); }
int64_t Engine::memory_used_bytes() const { return state_->memory->used_bytes(); }
int64_t Engine::memory_peak_bytes() const { return state_->memory->peak_bytes(); }
void Engine::trim() { state_->memory->trim(); }

ArrowTable ArrowTable::from_stream(const Engine&, ArrowArrayStream* stream) {
  auto state = std::make_shared<State>();
  state->table = value_or_throw(import_stream(stream));
  ArrowTable table;
  table.state_ = std::move(state);
  return table;
}

ArrowTable ArrowTable::with_columns_of(const ArrowTable& other) const {
  const Table& left = *state_->table;
  const Table& right = *other.state_->table;
  if (left.rows != right.rows) {
    throw_error(make_error(ErrorCode::kInvalidArgument,
                           "tables of {} and of {} rows do not go side by side",
                           left.rows,
                           right.rows));
  }
  for (const Field& field : right.schema->fields) {
    for (const Field& known : left.schema->fields) {
      if (known.name != field.name) continue;
      throw_error(
          make_error(ErrorCode::kDuplicateColumn, "both tables have a column '{}'", field.name));
    }
  }
  auto state = std::make_shared<State>();
  state->table = std::make_shared<Table>(side_by_side(left, right));
  return ArrowTable(std::move(state));
}

ArrowTable ArrowTable::with_changing_values() const {
  auto state = std::make_shared<State>();
  auto table = std::make_shared<Table>(*state_->table);
  table->values_may_change = true;
  state->table = std::move(table);
  return ArrowTable(std::move(state));
}

int64_t ArrowTable::rows() const { return state_->table->rows; }
int64_t ArrowTable::batches() const { return static_cast<int64_t>(state_->table->batches.size()); }

int64_t ArrowTable::bytes() const {
  int64_t bytes = 0;
  for (const Batch& batch : state_->table->batches) bytes += buffer_bytes(batch);
  return bytes;
}

std::vector<std::string> ArrowTable::column_names() const {
  std::vector<std::string> names;
  for (const Field& field : state_->table->schema->fields) names.push_back(field.name);
  return names;
}

void ArrowTable::export_schema(ArrowSchema* out) const {
  crossdock::export_schema(*state_->table->schema, out);
}

void ArrowTable::export_stream(ArrowArrayStream* out) const {
  const TablePtr table = state_->table;
  size_t next = 0;
  crossdock::export_stream(
      table->schema,
      [table, next]() mutable -> Result<std::optional<Batch>> {
        if (next == table->batches.size()) return std::optional<Batch>();
        return std::optional<Batch>(table->batches[next++]);
      },
      out);
}

std::vector<ErrorDescription> error_descriptions() {
  std::vector<ErrorDescription> all;
  for (const ErrorInfo& info : error_table()) {
    all.push_back({code_text(info.code), std::string(info.kind), std::string(info.summary)});
  }
  return all;
}

std::vector<SettingDescription> setting_descriptions() {
  std::vector<SettingDescription> all;
  for (const Setting& setting : kSettings) {
    all.push_back({setting.name, setting.default_value, setting.doc});
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> build_info() {
  return {
      {"version", CROSSDOCK_VERSION},
      {"compiler", "g++ " __VERSION__},
      {"build_type", CROSSDOCK_BUILD_TYPE},
      {"sanitizers", CROSSDOCK_SANITIZERS},
      {"fmt",
       fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)},
      {"simd", simd_target_name()}};
}

MachineDescription machine_description() {
  const model::Machine machine = model::probe_machine();
  return {machine.cores,
          machine.l1d_bytes,
          machine.l2_bytes,
          machine.l3_bytes,
          machine.memory_bytes,
          huge_page_mode(),
          simd_target_name()};
}

}  // namespace crossdock
