#include "data/transports/mpi/mpi_core.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>

namespace crossdock::transports {
namespace {

MpiCore* the_core = nullptr;  // lives as long as the process: exit handlers use it

constexpr std::chrono::seconds kFinalizeWithin{10};
std::atomic<bool> has_finalized = false;

// MPICH between hosts now and then does not come back from MPI_Finalize, although all ranks are there: nothing that a
// program did is lost then, but its job would never end.
void exit_without_mpi(int status, int rank) {
  std::this_thread::sleep_for(kFinalizeWithin);
  if (has_finalized.load()) return;
  const std::string line = fmt::format(
      "crossdock: MPI_Finalize did not end within {} s after all ranks had come to it; "
      "rank {} ends without it\n",
      kFinalizeWithin.count(),
      rank);
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(status);  // no reader is left
  std::fflush(nullptr);
  _exit(status);
}

// The loader of this plugin does not show its symbols to others; parts that MPI loads look for its own among all.
void show_symbols() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &info) == 0) return;
  if (info.dli_fname != nullptr) dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

// Over TCP Open MPI announces messages above its eager limit, and waits for an answer before it sends them. On a link
// that is full both ways the answers stand behind the rows of others. Stages are put at once with a limit above theirs
// (docs/transports.md has the rates). What the environment or mpirun --mca says stays. Other MPIs do not look.
void send_stages_at_once() {
  constexpr int kKeepsOthers = 0;
  for (const char* name : {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_max_send_size"}) {
    setenv(name, "1048576", kKeepsOthers);
  }
}

int free_kept(MPI_Comm, int, void* core, void*) {
  static_cast<MpiCore*>(core)->free_all();
  return MPI_SUCCESS;
}

Error is_over() {
  return make_error(ErrorCode::kInvalidArgument,
                    "MPI has ended in this process (MPI_Finalize); compute before that");
}

}  // namespace

Status MpiCore::check(int code, const char* what, int rank) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return make_error(
      ErrorCode::kProbeFailed, "MPI cannot {} (rank {}): {}", what, rank, text.data());
}

Result<MpiCore*> MpiCore::get() {
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  if (the_core == nullptr) {
    auto core = std::unique_ptr<MpiCore>(new MpiCore());
    CD_TRY(core->start());
    the_core = core.release();
  }
  CD_TRY(the_core->lock());
  return the_core;
}

Status MpiCore::start() {
  int is_started = 0;
  int is_finished = 0;
  MPI_Finalized(&is_finished);
  if (is_finished != 0) return is_over();
  MPI_Initialized(&is_started);
  if (is_started == 0) {
    show_symbols();
    send_stages_at_once();
    // Calls are made one at a time, whatever threads they come from; some ways that Open MPI has to put are not for
    // threads at once (osc/pt2pt).
    CD_TRY(check(
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level_), "start", /*rank=*/-1));
    on_exit(&MpiCore::finish, nullptr);  // glibc's: with the status that the process ends with
  } else {
    MPI_Query_thread(&level_);
  }
  // MPI_Finalize deletes the attributes of this communicator before anything else.
  int key = MPI_KEYVAL_INVALID;
  CD_TRY(check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &free_kept, &key, nullptr),
               "make an attribute",
               /*rank=*/-1));
  return check(MPI_Comm_set_attr(MPI_COMM_SELF, key, this), "set an attribute", /*rank=*/-1);
}

Result<std::unique_lock<std::mutex>> MpiCore::lock() {
  CD_TRY(home_.check("MPI"));
  std::unique_lock held(mutex_);
  int is_finished = 0;
  MPI_Finalized(&is_finished);
  if (is_finished != 0) return is_over();
  if (level_ < MPI_THREAD_SERIALIZED) {
    int is_main = 0;
    MPI_Is_thread_main(&is_main);
    if (is_main == 0) {
      return make_error(
          ErrorCode::kInvalidArgument,
          "this program has started MPI for one thread only, and this is another "
          "one; start it with MPI_Init_thread(..., MPI_THREAD_SERIALIZED, ...) or more");
    }
  }
  return held;
}

void MpiCore::free_all() {
  if (broken_.load(std::memory_order_relaxed)) return;
  for (const std::shared_ptr<MpiWin>& win : wins_) {
    MPI_Win_unlock_all(win->win);
    MPI_Win_free(&win->win);
  }
  wins_.clear();
  for (MPI_Comm& comm : comms_) MPI_Comm_free(&comm);
  comms_.clear();
}

void MpiCore::finish(int status, void*) {
  int is_finished = 0;
  MPI_Finalized(&is_finished);
  const bool is_ours = the_core->home_.is_here();
  if (is_finished != 0 || !is_ours || the_core->broken_.load(std::memory_order_relaxed)) return;
  if (status != 0 && the_core->open_communicators_.load(std::memory_order_relaxed) > 0) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);  // ranks that still work are waited for without a limit
  std::thread(&exit_without_mpi, status, rank).detach();
  MPI_Finalize();
  has_finalized = true;
}

}  // namespace crossdock::transports
