// The patterns of the channels bench as MPI does them; one JSON object on the standard output of rank 0.
//
//   mpi_peer exchange|gather|scatter|p2p|broadcast BYTES REPEATS
//
// BYTES of every source; peer_pattern.hpp says what is sent. Nothing is partitioned, and what has come
// is not looked at while it is timed. A first run is not timed, and checks every word. Between two ranks p2p goes in
// messages of 1 MiB, 16 under way.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <string>
#include <vector>

#include "peer_pattern.hpp"

namespace {

constexpr size_t kMessageWords = (size_t{1} << 20) / 8;
constexpr size_t kUnderWay = 16;
constexpr int kTag = 1;

struct Peer {
  int rank = 0;
  int ranks = 1;
  PeerPattern pattern;
  std::vector<uint64_t> sent;
  std::vector<uint64_t> received;
};

// Per rank, as MPI wants them.
struct Counts {
  std::vector<int> counts, begins;
  Counts(const std::vector<Piece>& pieces, int ranks)
      : counts(static_cast<size_t>(ranks)), begins(static_cast<size_t>(ranks)) {
    for (const Piece& piece : pieces) {
      counts[static_cast<size_t>(piece.peer)] = static_cast<int>(piece.words);
      begins[static_cast<size_t>(piece.peer)] = static_cast<int>(piece.at);
    }
  }
};

int words_of(const std::vector<Piece>& pieces) {
  return pieces.empty() ? 0 : static_cast<int>(pieces[0].words);
}

void exchange(Peer& peer) {
  const Counts out(peer.pattern.sent, peer.ranks), in(peer.pattern.received, peer.ranks);
  MPI_Alltoallv(peer.sent.data(),
                out.counts.data(),
                out.begins.data(),
                MPI_UINT64_T,
                peer.received.data(),
                in.counts.data(),
                in.begins.data(),
                MPI_UINT64_T,
                MPI_COMM_WORLD);
}

void gather(Peer& peer) {
  const Counts in(peer.pattern.received, peer.ranks);
  MPI_Gatherv(peer.sent.data(),
              words_of(peer.pattern.sent),
              MPI_UINT64_T,
              peer.received.data(),
              in.counts.data(),
              in.begins.data(),
              MPI_UINT64_T,
              0,
              MPI_COMM_WORLD);
}

void scatter(Peer& peer) {
  const Counts out(peer.pattern.sent, peer.ranks);
  MPI_Scatterv(peer.sent.data(),
               out.counts.data(),
               out.begins.data(),
               MPI_UINT64_T,
               peer.received.data(),
               words_of(peer.pattern.received),
               MPI_UINT64_T,
               0,
               MPI_COMM_WORLD);
}

void p2p(Peer& peer) {
  const bool sends = !peer.pattern.sent.empty();
  std::vector<MPI_Request> requests;
  for (const Piece& piece : sends ? peer.pattern.sent : peer.pattern.received) {
    for (size_t at = 0; at < piece.words; at += kMessageWords) {
      const auto words = static_cast<int>(std::min(kMessageWords, piece.words - at));
      MPI_Request& request = requests.emplace_back();
      if (sends) {
        MPI_Isend(&peer.sent[at], words, MPI_UINT64_T, piece.peer, kTag, MPI_COMM_WORLD, &request);
      } else {
        MPI_Irecv(
            &peer.received[at], words, MPI_UINT64_T, piece.peer, kTag, MPI_COMM_WORLD, &request);
      }
      if (requests.size() < kUnderWay) continue;
      MPI_Wait(&requests.front(), MPI_STATUS_IGNORE);
      requests.erase(requests.begin());
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void broadcast(Peer& peer) {
  const bool is_root = peer.rank == 0;
  auto& data = is_root ? peer.sent : peer.received;
  MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_UINT64_T, 0, MPI_COMM_WORLD);
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
  const size_t words = static_cast<size_t>(std::atoll(argv[2])) / 8;
  peer.pattern = peer_pattern(pattern, peer.rank, peer.ranks, words);
  peer.sent = peer_words(peer.rank, words);
  peer.received.resize(peer.pattern.received_words);
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
      const uint64_t mine = wrong_words(peer.pattern, peer.received);
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
