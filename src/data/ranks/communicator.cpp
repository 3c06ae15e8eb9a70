// Collectives over messages, and what becomes of a rank that does not come.
#include "data/ranks/communicator.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

#include "data/ranks/agreement.hpp"

namespace crossdock::ranks {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAsked{1'000};  // for an answer, when a rank has not come
constexpr size_t kNamedMax = 16;
constexpr int kPeersAtOnce = 64;
constexpr size_t kErrorBytes = 4'000;
// So few ranks send what they have to all others at once: more messages, but one wait in place of log2 n, and a wait
// costs a change of processes where ranks share cores.
constexpr int kFewRanks = 8;
constexpr size_t kFewValues = 4'096;  // of a fold: more of them are worth the tree
// Of each string of a gathering, what travels with its length. Most are no longer, and then have come in one step.
constexpr size_t kFirstBytes = 1'016;
constexpr int kFirstBytesRanks = 64;  // of more, only the lengths come first

std::span<const std::byte> bytes_of(std::span<const int64_t> values) {
  return std::as_bytes(values);
}

// False: the sum passes 64 bits.
bool fold_into(std::span<int64_t> values, std::span<const int64_t> others, Fold how) {
  bool fits = true;
  for (size_t i = 0; i < values.size(); ++i) {
    if (how == Fold::kMin) {
      values[i] = std::min(values[i], others[i]);
    } else if (how == Fold::kMax) {
      values[i] = std::max(values[i], others[i]);
    } else if (__builtin_add_overflow(values[i], others[i], &values[i])) {
      fits = false;
    }
  }
  return fits;
}

Error sum_too_large() {
  return make_error(ErrorCode::kValueOutOfRange,
                    "a sum over ranks passes 64 bits; sum numbers that are smaller");
}

std::string named(const std::vector<int>& ranks) {
  const size_t count = std::min(ranks.size(), kNamedMax);
  const std::string rest =
      ranks.size() > count ? fmt::format(" and {} more", ranks.size() - count) : "";
  return fmt::format(
      "rank{} {}{}",
      ranks.size() == 1 ? "" : "s",
      fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count), ", "),
      rest);
}

}  // namespace

void Communicator::set_over(const Error& cause) {
  puts_->is_over.store(true, std::memory_order_relaxed);
  if (!over_.has_value()) over_ = cause;
}

void Communicator::give_up(const Error& cause) {
  if (over_.has_value()) return;  // all know it, or we heard it
  set_over(cause);
  const Note note{Note::Kind::kGivesUp, calls_, error_text(cause, kNoteTextBytesMax)};
  for (int other = 0; other < size(); ++other) {
    if (other != rank()) tell(other, note);
  }
}

Error Communicator::unlike_lengths(int from, size_t came, size_t expected) {
  return make_error(ErrorCode::kMalformedMessage,
                    "rank {} sent {} bytes where {} were expected: all ranks make the same calls "
                    "in the same order, with as many values",
                    from,
                    came,
                    expected);
}

Error Communicator::left_error(int from) const {
  return make_error(ErrorCode::kAgentLost,
                    "rank {} has left, and rank {} waits for it (call {}): all ranks make the same "
                    "calls before any of them goes",
                    from,
                    rank(),
                    calls_);
}

void Communicator::heard(int from, const Note& note) {
  switch (note.kind) {
    case Note::Kind::kAsks:
      tell(from, {Note::Kind::kAnswers, calls_, ""});
      break;
    case Note::Kind::kAnswers:
      if (!calls_of_.empty()) calls_of_[static_cast<size_t>(from)] = note.calls;
      break;
    case Note::Kind::kLeft:
      left_.resize(static_cast<size_t>(size()));
      left_[static_cast<size_t>(from)] = true;
      break;
    case Note::Kind::kGivesUp:
      const Error cause = error_of_text(note.text);
      set_over(make_error(ErrorCode::kAgentLost,
                          "rank {} cannot go on: {} {}",
                          from,
                          code_text(cause.code),
                          cause.message));
      break;
  }
}

bool Communicator::enough() const {
  return over_.has_value() || (!calls_of_.empty() && std::ranges::count(calls_of_, -1) == 0);
}

Status Communicator::start(milliseconds at_most) {
  if (over_.has_value()) return *over_;
  end_ = Clock::now() + at_most;
  waits_ = at_most;
  ++calls_;
  if (watch_) watch_(calls_);
  return {};
}

// A rank that waits answers with the calls that it has begun; who does not answer is elsewhere.
Error Communicator::missing() {
  calls_of_.assign(static_cast<size_t>(size()), -1);
  calls_of_[static_cast<size_t>(rank())] = calls_;
  for (int other = 0; other < size(); ++other) {
    if (other != rank()) tell(other, {Note::Kind::kAsks, calls_, ""});
  }
  listen(Clock::now() + kAsked);
  if (over_.has_value()) return *over_;
  std::vector<int> missing;
  for (int other = 0; other < size(); ++other) {
    if (calls_of_[static_cast<size_t>(other)] < calls_) missing.push_back(other);
  }
  calls_of_.clear();
  if (missing.empty()) {
    return make_error(ErrorCode::kAgentLost,
                      "what ranks tell each other did not arrive within {:.3g} s, though all of {} "
                      "are there: look at the network between them",
                      static_cast<double>(waits_.count()) * 1e-3,
                      size());
  }
  return make_error(ErrorCode::kAgentLost,
                    "{} of {} did not come within {:.3g} s to what all ranks do together (call {} "
                    "of rank {}): look at their output; ranks whose work between two steps differs "
                    "much need a larger step_within_s",
                    named(missing),
                    size(),
                    static_cast<double>(waits_.count()) * 1e-3,
                    calls_,
                    rank());
}

Status Communicator::run(std::span<const Outgoing> out, std::span<const Incoming> in) {
  if (over_.has_value()) return *over_;
  if (out.empty() && in.empty()) return {};
  for (const Outgoing& message : out) {
    ++collective_messages_;
    collective_bytes_ += static_cast<int64_t>(message.bytes.size());
  }
  const Result<bool> done = transfer(out, in, end_);
  if (done.ok() && done.value()) return {};
  if (over_.has_value()) return *over_;
  const Error cause = done.ok() ? missing() : done.error();
  give_up(cause);
  return *over_;
}

// Everything to every rank in one step.
Status Communicator::gather_at_once(std::span<const std::byte> mine,
                                    std::span<const size_t> sizes,
                                    std::span<std::byte> all) {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  size_t begin = 0;
  for (int other = 0; other < size(); ++other) {
    const std::span<std::byte> part = all.subspan(begin, sizes[static_cast<size_t>(other)]);
    begin += part.size();
    if (other == rank()) {
      std::ranges::copy(mine, part.begin());
      continue;
    }
    out.push_back({other, mine});
    in.push_back({other, part});
  }
  return run(out, in);
}

// Bruck's: after step k each rank has the parts of 2^(k+1) ranks, from its own on; at the end they are turned.
Status Communicator::gather_bytes(std::span<const std::byte> mine,
                                  std::span<const size_t> sizes,
                                  std::span<std::byte> all) {
  const int ranks = size();
  if (ranks <= kFewRanks) return gather_at_once(mine, sizes, all);
  std::vector<size_t> begins(static_cast<size_t>(ranks) + 1, 0);  // from this rank on
  const auto at = [&](int i) { return static_cast<size_t>((rank() + i) % ranks); };
  for (int i = 0; i < ranks; ++i) {
    begins[static_cast<size_t>(i) + 1] = begins[static_cast<size_t>(i)] + sizes[at(i)];
  }
  std::vector<std::byte> turned(all.size());
  std::ranges::copy(mine, turned.begin());
  for (int have = 1; have < ranks; have *= 2) {
    const auto come = static_cast<size_t>(std::min(have, ranks - have));
    const auto first = static_cast<size_t>(have);
    const Outgoing out{static_cast<int>(at(ranks - have)), {turned.data(), begins[come]}};
    const Incoming in{static_cast<int>(at(have)),
                      {turned.data() + begins[first], begins[first + come] - begins[first]}};
    CD_TRY(run({&out, 1}, {&in, 1}));
  }
  size_t to = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto from = static_cast<size_t>((rank - this->rank() + ranks) % ranks);
    const size_t bytes = sizes[static_cast<size_t>(rank)];
    std::copy_n(turned.begin() + static_cast<std::ptrdiff_t>(begins[from]),
                bytes,
                all.begin() + static_cast<std::ptrdiff_t>(to));
    to += bytes;
  }
  return {};
}

Status Communicator::progress() {
  if (!over_.has_value()) listen(Clock::now());
  if (over_.has_value()) return *over_;
  return {};
}

Status Communicator::barrier() {
  CD_TRY(start(limit_));
  return gather_bytes({}, std::vector<size_t>(static_cast<size_t>(size()), 0), {});
}

Result<std::vector<int64_t>> Communicator::all_gather(std::span<const int64_t> mine) {
  CD_TRY(start(limit_));
  std::vector<int64_t> all(mine.size() * static_cast<size_t>(size()));
  const std::vector<size_t> sizes(static_cast<size_t>(size()), mine.size_bytes());
  CD_TRY(gather_bytes(bytes_of(mine), sizes, std::as_writable_bytes(std::span(all))));
  return all;
}

// A first part of all, with their lengths, and then what is left of the longer ones.
Result<std::vector<std::string>> Communicator::gather(const std::string& mine,
                                                      milliseconds at_most) {
  CD_TRY(start(at_most));
  const auto ranks = static_cast<size_t>(size());
  const size_t first_bytes = size() <= kFirstBytesRanks ? kFirstBytes : 0;
  const auto first_of = [&](const std::string& bytes) {
    return std::min(bytes.size(), first_bytes);
  };
  const auto length = static_cast<int64_t>(mine.size());
  std::string head(sizeof length + first_bytes, '\0');
  std::memcpy(head.data(), &length, sizeof length);
  std::copy_n(mine.begin(), first_of(mine), head.begin() + sizeof length);
  std::string heads(head.size() * ranks, '\0');
  CD_TRY(gather_bytes(std::as_bytes(std::span(head)),
                      std::vector<size_t>(ranks, head.size()),
                      std::as_writable_bytes(std::span(heads))));
  std::vector<std::string> parts;
  std::vector<size_t> left;
  size_t left_bytes = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const char* const theirs = heads.data() + rank * head.size();
    int64_t bytes = 0;
    std::memcpy(&bytes, theirs, sizeof bytes);
    std::string& part = parts.emplace_back(static_cast<size_t>(bytes), '\0');
    std::copy_n(theirs + sizeof bytes, first_of(part), part.begin());
    left.push_back(part.size() - first_of(part));
    left_bytes += left.back();
  }
  if (left_bytes == 0) return parts;
  std::string rest(left_bytes, '\0');
  CD_TRY(gather_bytes(std::as_bytes(std::span(mine)).subspan(first_of(mine)),
                      left,
                      std::as_writable_bytes(std::span(rest))));
  auto from = rest.begin();
  for (std::string& part : parts) {
    const auto begin = part.begin() + static_cast<std::ptrdiff_t>(first_of(part));
    const std::ptrdiff_t bytes = part.end() - begin;
    std::copy_n(from, bytes, begin);
    from += bytes;
  }
  return parts;
}

Result<std::vector<int64_t>> Communicator::all_to_all(std::span<const int64_t> blocks) {
  const int ranks = size();
  if (blocks.size() % static_cast<size_t>(ranks) != 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} values cannot be divided among {} ranks; pass as many for each",
                      blocks.size(),
                      ranks);
  }
  CD_TRY(start(limit_));
  const size_t each = blocks.size() / static_cast<size_t>(ranks);
  std::vector<int64_t> come(blocks.size());
  const auto block = [&](auto& values, int rank) {
    return std::span(values).subspan(static_cast<size_t>(rank) * each, each);
  };
  std::ranges::copy(block(blocks, rank()), block(come, rank()).begin());
  for (int first = 1; first < ranks; first += kPeersAtOnce) {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (int i = first; i < std::min(ranks, first + kPeersAtOnce); ++i) {
      const int to = (rank() + i) % ranks;
      const int from = (rank() - i + ranks) % ranks;
      out.push_back({to, std::as_bytes(block(blocks, to))});
      in.push_back({from, std::as_writable_bytes(block(come, from))});
    }
    CD_TRY(run(out, in));
  }
  return come;
}

// Hillis and Steele's: after step k each rank has the sum of itself and the 2^(k+1) - 1 ranks below it.
Result<std::vector<int64_t>> Communicator::exclusive_sum(std::span<const int64_t> values) {
  CD_TRY(start(limit_));
  // The last value tells of sums that do not fit.
  std::vector<int64_t> below(values.size() + 1, 0);
  std::vector<int64_t> with_own(values.begin(), values.end());
  with_own.push_back(0);
  std::vector<int64_t> come(with_own.size());
  for (int reach = 1; reach < size(); reach *= 2) {
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    if (rank() + reach < size()) out.push_back({rank() + reach, bytes_of(with_own)});
    if (rank() >= reach) in.push_back({rank() - reach, std::as_writable_bytes(std::span(come))});
    CD_TRY(run(out, in));
    if (in.empty()) continue;
    if (!fold_into(below, come, Fold::kSum)) below.back() = 1;
    if (!fold_into(with_own, come, Fold::kSum)) with_own.back() = 1;
  }
  if (below.back() != 0) return sum_too_large();
  below.pop_back();
  return below;
}

// Least or largest values: of few ranks all fold what all have.
Status Communicator::fold_at_once(std::span<int64_t> values, Fold how) {
  const auto ranks = static_cast<size_t>(size());
  std::vector<int64_t> all(values.size() * ranks);
  CD_TRY(gather_at_once(bytes_of(values),
                        std::vector<size_t>(ranks, values.size_bytes()),
                        std::as_writable_bytes(std::span(all))));
  for (size_t rank = 0; rank < ranks; ++rank) {
    fold_into(values, std::span(all).subspan(rank * values.size(), values.size()), how);
  }
  return {};
}

Status Communicator::fold_up(std::span<int64_t> values, Fold how) {
  const bool is_of_ends =
      how != Fold::kSum;  // sums are of counts, with traffic by the model's formulas
  if (is_of_ends && size() <= kFewRanks && values.size() <= kFewValues)
    return fold_at_once(values, how);
  std::vector<int64_t> come(values.size());
  const bool sums = how == Fold::kSum;  // the last value tells of sums that do not fit
  for (int bit = 1; bit < size(); bit *= 2) {
    if ((rank() & bit) != 0) {
      const Outgoing out{rank() - bit, std::as_bytes(values)};
      CD_TRY(run({&out, 1}, {}));
      break;
    }
    if (rank() + bit >= size()) continue;
    const Incoming in{rank() + bit, std::as_writable_bytes(std::span(come))};
    CD_TRY(run({}, {&in, 1}));
    if (!fold_into(values, come, how) && sums) values.back() = 1;
  }
  return broadcast(0, std::as_writable_bytes(values));
}

// A binomial tree, of ranks counted from the root.
Status Communicator::broadcast(int root, std::span<std::byte> bytes) {
  const int ranks = size();
  const int place = (rank() - root + ranks) % ranks;
  const auto rank_at = [&](int other) { return (other + root) % ranks; };
  int bit = 1;
  while (bit < ranks && (place & bit) == 0) bit *= 2;
  if (place != 0) {
    const Incoming in{rank_at(place - bit), bytes};
    CD_TRY(run({}, {&in, 1}));
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (place + bit >= ranks) continue;
    const Outgoing out{rank_at(place + bit), bytes};
    CD_TRY(run({&out, 1}, {}));
  }
  return {};
}

Result<std::vector<int64_t>> Communicator::fold(std::span<const int64_t> values, Fold how) {
  CD_TRY(start(limit_));
  std::vector<int64_t> folded(values.begin(), values.end());
  if (how == Fold::kSum) folded.push_back(0);
  CD_TRY(fold_up(folded, how));
  if (how != Fold::kSum) return folded;
  const bool fits = folded.back() == 0;
  folded.pop_back();
  if (!fits) return sum_too_large();
  return folded;
}

Result<int64_t> Communicator::fold(int64_t value, Fold how) {
  CD_ASSIGN(const std::vector<int64_t> folded, fold(std::span<const int64_t>(&value, 1), how));
  return folded[0];
}

Status Communicator::agree(const Status& mine) {
  CD_ASSIGN(const int64_t first, fold(mine.ok() ? size() : rank(), Fold::kMin));
  if (first == size()) return {};
  std::string text(kErrorBytes, '\0');
  if (first == rank()) std::ranges::copy(error_text(mine.error(), kErrorBytes), text.begin());
  CD_TRY(broadcast(static_cast<int>(first), std::as_writable_bytes(std::span(text))));
  if (!mine.ok()) return mine.error();
  const Error theirs = error_of_text(text.substr(0, text.find('\0')));
  return Error{theirs.code, fmt::format("rank {}: {}", first, theirs.message)};
}

Communicator::Traffic Communicator::traffic() const {
  return {puts_->messages.load(std::memory_order_relaxed),
          puts_->bytes.load(std::memory_order_relaxed),
          collective_messages_,
          collective_bytes_};
}

}  // namespace crossdock::ranks
