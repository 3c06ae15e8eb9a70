// An exchange by puts, for SimGrid's SMPI: every rank puts so many bytes into the window of each other rank, from its
// neighbour on, and rank 0 prints the virtual seconds until all are there.
//
//   put_exchange BYTES_PER_PAIR
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <vector>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = count > 1 ? std::atoi(arguments[1]) : 1 << 20;
  const MPI_Aint whole = static_cast<MPI_Aint>(bytes) * ranks;
  std::vector<char> out(static_cast<size_t>(bytes)), in(static_cast<size_t>(whole));
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(in.data(), whole, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  // Twice: after one fence SMPI (3.32) takes twice the time for a put.
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  const double begin = MPI_Wtime();
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks;
    MPI_Put(out.data(),
            bytes,
            MPI_CHAR,
            to,
            static_cast<MPI_Aint>(bytes) * rank,
            bytes,
            MPI_CHAR,
            window);
  }
  MPI_Win_fence(0, window);
  double took = MPI_Wtime() - begin, longest = 0;
  MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%.9f\n", longest);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
