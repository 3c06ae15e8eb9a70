// The patterns of the channels bench as MPI does them; one JSON object on the standard output of rank 0.
//
//   mpi_peer exchange|gather|scatter|p2p|broadcast BYTES REPEATS
//
// BYTES of every source, in memory and already in the order of their destinations; receivers have memory for all of it.
// So it does less than a channel: nothing is partitioned, and nobody looks at what has come while it is timed. A first
// run is not timed, and checks every word. Between two ranks p2p goes in messages of 1 MiB, 16 under way.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <string>
#include <vector>

namespace {

constexpr size_t kMessageWords = (size_t{1} << 20) / 8;
constexpr size_t kUnderWay = 16;
constexpr int kTag = 1;

struct Peer {
  int rank = 0;
  int ranks = 1;
  size_t words = 0;  // of a source
  std::vector<uint64_t> sent;
  std::vector<uint64_t> received;
};

uint64_t value(int source, size_t index) { return static_cast<uint64_t>(source) << 40 | index; }

// Words of each of `parts` parts of `words`, and where they begin.
struct Parts {
  std::vector<int> counts, begins;
  Parts(size_t words, int parts) {
    for (int i = 0; i < parts; ++i) {
      const auto begin = words * static_cast<size_t>(i) / static_cast<size_t>(parts);
      const auto end = words * static_cast<size_t>(i + 1) / static_cast<size_t>(parts);
      counts.push_back(static_cast<int>(end - begin));
      begins.push_back(static_cast<int>(begin));
    }
  }
};

// Rank 0 takes no part; the others share `words`.
Parts parts_of_others(size_t words, int ranks) {
  Parts parts(words, ranks - 1);
  parts.counts.insert(parts.counts.begin(), 0);
  parts.begins.insert(parts.begins.begin(), 0);
  return parts;
}

void exchange(Peer& peer) {
  const Parts out(peer.words, peer.ranks);
  const int mine = out.counts[static_cast<size_t>(peer.rank)];
  std::vector<int> counts(static_cast<size_t>(peer.ranks), mine), begins;
  for (int i = 0; i < peer.ranks; ++i) begins.push_back(i * mine);
  peer.received.resize(static_cast<size_t>(mine) * static_cast<size_t>(peer.ranks));
  MPI_Alltoallv(peer.sent.data(),
                out.counts.data(),
                out.begins.data(),
                MPI_UINT64_T,
                peer.received.data(),
                counts.data(),
                begins.data(),
                MPI_UINT64_T,
                MPI_COMM_WORLD);
}

void gather(Peer& peer) {
  const auto words = static_cast<int>(peer.words);
  std::vector<int> counts(static_cast<size_t>(peer.ranks), words), begins{0};
  counts[0] = 0;
  for (int i = 1; i < peer.ranks; ++i) begins.push_back((i - 1) * words);
  if (peer.rank == 0) peer.received.resize(peer.words * static_cast<size_t>(peer.ranks - 1));
  MPI_Gatherv(peer.sent.data(),
              peer.rank == 0 ? 0 : words,
              MPI_UINT64_T,
              peer.received.data(),
              counts.data(),
              begins.data(),
              MPI_UINT64_T,
              0,
              MPI_COMM_WORLD);
}

void scatter(Peer& peer) {
  const Parts parts = parts_of_others(peer.words, peer.ranks);
  const int mine = parts.counts[static_cast<size_t>(peer.rank)];
  peer.received.resize(static_cast<size_t>(mine));
  MPI_Scatterv(peer.sent.data(),
               parts.counts.data(),
               parts.begins.data(),
               MPI_UINT64_T,
               peer.received.data(),
               mine,
               MPI_UINT64_T,
               0,
               MPI_COMM_WORLD);
}

void p2p(Peer& peer) {
  const int last = peer.ranks - 1;
  if (peer.rank != 0 && peer.rank != last) return;
  if (peer.rank == last) peer.received.resize(peer.words);
  std::vector<MPI_Request> requests;
  for (size_t at = 0; at < peer.words; at += kMessageWords) {
    const auto words = static_cast<int>(std::min(kMessageWords, peer.words - at));
    requests.emplace_back();
    if (peer.rank == 0) {
      MPI_Isend(&peer.sent[at], words, MPI_UINT64_T, last, kTag, MPI_COMM_WORLD, &requests.back());
    } else {
      MPI_Irecv(&peer.received[at], words, MPI_UINT64_T, 0, kTag, MPI_COMM_WORLD, &requests.back());
    }
    if (requests.size() < kUnderWay) continue;
    MPI_Wait(&requests.front(), MPI_STATUS_IGNORE);
    requests.erase(requests.begin());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void broadcast(Peer& peer) {
  peer.received.resize(peer.words);
  uint64_t* const data = peer.rank == 0 ? peer.sent.data() : peer.received.data();
  MPI_Bcast(data, static_cast<int>(peer.words), MPI_UINT64_T, 0, MPI_COMM_WORLD);
}

uint64_t wrong_in(const Peer& peer, size_t at, size_t count, int source, size_t first) {
  uint64_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    if (peer.received[at + i] != value(source, first + i)) ++wrong;
  }
  return wrong;
}

uint64_t wrong_words(const Peer& peer, const std::string& pattern) {
  const auto rank = static_cast<size_t>(peer.rank);
  uint64_t wrong = 0;
  if (pattern == "exchange") {
    const Parts out(peer.words, peer.ranks);
    const auto count = static_cast<size_t>(out.counts[rank]);
    const auto first = static_cast<size_t>(out.begins[rank]);
    for (int source = 0; source < peer.ranks; ++source) {
      wrong += wrong_in(peer, static_cast<size_t>(source) * count, count, source, first);
    }
  } else if (pattern == "gather") {
    for (int source = 1; peer.rank == 0 && source < peer.ranks; ++source) {
      const size_t at = static_cast<size_t>(source - 1) * peer.words;
      wrong += wrong_in(peer, at, peer.words, source, 0);
    }
  } else if (pattern == "scatter") {
    const Parts parts = parts_of_others(peer.words, peer.ranks);
    const auto count = static_cast<size_t>(parts.counts[rank]);
    wrong += wrong_in(peer, 0, count, 0, static_cast<size_t>(parts.begins[rank]));
  } else if (pattern == "broadcast" ? peer.rank != 0 : peer.rank == peer.ranks - 1) {
    wrong += wrong_in(peer, 0, peer.words, 0, 0);
  }
  return wrong;
}

using Act = void (*)(Peer&);

Act act_of(const std::string& pattern) {
  if (pattern == "exchange") return exchange;
  if (pattern == "gather") return gather;
  if (pattern == "scatter") return scatter;
  if (pattern == "p2p") return p2p;
  return pattern == "broadcast" ? broadcast : nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string pattern = argc > 1 ? argv[1] : "";
  const Act act = act_of(pattern);
  if (argc != 4 || act == nullptr) {
    std::fprintf(stderr, "mpi_peer: PATTERN BYTES REPEATS\n");
    return 2;
  }
  Peer peer;
  MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &peer.ranks);
  peer.words = static_cast<size_t>(std::atoll(argv[2])) / 8;
  for (size_t i = 0; i < peer.words; ++i) peer.sent.push_back(value(peer.rank, i));
  const int repeats = std::atoi(argv[3]);
  uint64_t wrong = 0;
  std::string samples;
  for (int run = -1; run < repeats; ++run) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    act(peer);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;
    if (run < 0) {
      const uint64_t mine = wrong_words(peer, pattern);
      MPI_Allreduce(&mine, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    } else {
      samples += (samples.empty() ? "" : ", ") + std::to_string(seconds);
    }
  }
  if (peer.rank == 0)
    std::printf("{\"samples_s\": [%s], \"wrong_rows\": %llu}\n",
                samples.c_str(),
                static_cast<unsigned long long>(wrong));
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
