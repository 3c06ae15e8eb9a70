// The patterns of the channels bench as peers do them: which words a rank sends and receives, and if they are right.
//
// Words lie in the order of their destinations, and receivers have memory for all that comes: that is less than a
// channel does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// `words` from `at` on, in the buffer of what is sent or received. What is received begins with word `first` of `peer`.
struct Piece {
  int peer = 0;
  size_t at = 0;
  size_t words = 0;
  size_t first = 0;
};

struct PeerPattern {
  std::vector<Piece> sent, received;  // by peer, at most one each
  size_t received_words = 0;

  void receive(int peer, size_t words, size_t first) {
    received.push_back({peer, received_words, words, first});
    received_words += words;
  }
};

inline uint64_t peer_word(int source, size_t index) {
  return static_cast<uint64_t>(source) << 40 | index;
}

inline size_t part_begin(size_t words, int part, int parts) {
  return words * static_cast<size_t>(part) / static_cast<size_t>(parts);
}

// "exchange", "gather", "scatter", "p2p" or "broadcast" of `words` of each source; nothing is sent by other names.
inline PeerPattern peer_pattern(const std::string& name, int rank, int ranks, size_t words) {
  PeerPattern pattern;
  const bool is_root = rank == 0;
  for (int peer = 0; peer < ranks; ++peer) {
    const size_t begin = part_begin(words, peer, ranks);
    const size_t mine = part_begin(words, rank, ranks);
    if (name == "exchange") {
      pattern.sent.push_back({peer, begin, part_begin(words, peer + 1, ranks) - begin, begin});
      pattern.receive(peer, part_begin(words, rank + 1, ranks) - mine, mine);
    } else if (name == "gather" && is_root && peer != 0) {
      pattern.receive(peer, words, 0);
    } else if (name == "gather" && !is_root && peer == 0) {
      pattern.sent.push_back({0, 0, words, 0});
    } else if (name == "scatter" && is_root && peer != 0) {
      const size_t at = part_begin(words, peer - 1, ranks - 1);
      pattern.sent.push_back({peer, at, part_begin(words, peer, ranks - 1) - at, at});
    } else if (name == "scatter" && !is_root && peer == 0) {
      const size_t at = part_begin(words, rank - 1, ranks - 1);
      pattern.receive(0, part_begin(words, rank, ranks - 1) - at, at);
    } else if (name == "broadcast" || (name == "p2p" && (rank == ranks - 1 || peer == ranks - 1))) {
      if (is_root && peer != 0) pattern.sent.push_back({peer, 0, words, 0});
      if (!is_root && peer == 0) pattern.receive(0, words, 0);
    }
  }
  return pattern;
}

inline std::vector<uint64_t> peer_words(int rank, size_t words) {
  std::vector<uint64_t> sent_words(words);
  for (size_t i = 0; i < words; ++i) sent_words[i] = peer_word(rank, i);
  return sent_words;
}

inline uint64_t wrong_words(const PeerPattern& pattern, const std::vector<uint64_t>& received) {
  uint64_t wrong = 0;
  for (const Piece& piece : pattern.received) {
    for (size_t i = 0; i < piece.words; ++i) {
      if (received[piece.at + i] != peer_word(piece.peer, piece.first + i)) ++wrong;
    }
  }
  return wrong;
}
