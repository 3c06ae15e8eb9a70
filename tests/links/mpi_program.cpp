// A program that starts MPI by itself, for one thread, as many do; then opens a communicator, ends it, and goes on with
// MPI. `crossdock_mpi_program [thread]`: the communicator is asked for by another thread, and refused.
#include <cstdio>
#include <mpi.h>
#include <string>
#include <thread>

#include "data/ranks/open_communicator.hpp"
#include "data/ranks/window_rounds.hpp"

namespace crossdock {
namespace {

std::string compute() {
  auto opened = ranks::open_communicator(nullptr, {.shares_memory = false});
  if (!opened.ok()) return opened.error().message;
  const auto memory = Memory::create(int64_t{1} << 30);
  for (int round = 0; round < 3; ++round) {
    const Status status = ranks::put_and_look(*opened.value(), memory, round);
    if (!status.ok()) return status.error().message;
  }
  return "fine";
}

}  // namespace
}  // namespace crossdock

int main(int count, char** words) {
  int level = 0;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &level);
  std::string said;
  if (count > 1) {
    std::thread([&] { said = crossdock::compute(); }).join();
  } else {
    said = crossdock::compute();
  }
  int rank = 0;
  int sum = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  std::printf("rank %d of %d, level %d: %s\n", rank, sum, level, said.c_str());
  std::fflush(stdout);
  MPI_Finalize();
  return said == "fine" ? 0 : 1;
}
