// Buffers of (address, value): before the pull request and after it.
#include <algorithm>

#include "data/bulk/bucket_forms.hpp"

namespace crossdock::bulk {
namespace {

std::span<const std::byte> bytes_of(const void* data, int64_t bytes) {
  return {static_cast<const std::byte*>(data), static_cast<size_t>(bytes)};
}

}  // namespace

BufferedCounts::BufferedCounts(ranks::Communicator& ranks,
                               const model::BucketShape& shape,
                               model::BucketForm form)
    : BucketCounts(ranks, shape),
      form_(form),
      pieces_(static_cast<size_t>(shape.tasks)),
      buffer_(static_cast<size_t>(std::min(shape.buffer_elements, shape.buckets * shape.tasks))) {
  form == model::BucketForm::kTaskBuffers ? plan_task_pieces() : plan_chunk_pieces();
}

// Every task has its own counts for every owner, and begins with the first.
void BufferedCounts::plan_task_pieces() {
  for (int task = 0; task < shape_.tasks; ++task) {
    for (int owner = 0; owner < shape_.ranks; ++owner) {
      if (owned(owner) == 0) continue;
      pieces_[static_cast<size_t>(task)].push_back(
          {owner, owned_begin(owner), owned_begin(owner + 1), task, 1, task * owned(owner)});
    }
  }
}

// Task t has chunk t of the buckets, of all tasks; chunks lie with different owners, so tasks do not meet there.
void BufferedCounts::plan_chunk_pieces() {
  for (int task = 0; task < shape_.tasks; ++task) {
    const int64_t chunk_begin = model::part_begin(shape_.buckets, shape_.tasks, task);
    const int64_t chunk_end = model::part_begin(shape_.buckets, shape_.tasks, task + 1);
    for (int owner = 0; owner < shape_.ranks; ++owner) {
      const int64_t begin = std::max(chunk_begin, owned_begin(owner));
      const int64_t end = std::min(chunk_end, owned_begin(owner + 1));
      if (begin >= end) continue;
      const int64_t place = (begin - owned_begin(owner)) * shape_.tasks;
      pieces_[static_cast<size_t>(task)].push_back({owner, begin, end, 0, shape_.tasks, place});
    }
  }
}

Status BufferedCounts::open_windows(const std::shared_ptr<Memory>& memory) {
  constexpr int64_t kBytes = model::kBucketElementBytes;
  const int64_t owned_counts = owned(rank()) * shape_.ranks * shape_.tasks;
  CD_ASSIGN(inbox_, ranks_->open_window(owned_counts * kBytes, memory, "bucket counts"));
  CD_ASSIGN(
      outbox_,
      ranks_->open_window(shape_.buckets * shape_.tasks * kBytes, memory, "the starts of buckets"));
  Result<Block> table =
      memory->get(owned_counts * model::kBucketCountBytes, "sums of bucket counts");
  CD_TRY(ranks_->agree(table.ok() ? Status() : Status(table.error())));
  table_ = std::move(table.value());
  return {};
}

// Tasks take turns, a buffer each, as threads would that send at one pace. The buffer is used again at once.
Status BufferedCounts::send_counts(std::span<const int64_t> counts) {
  struct Turn {
    size_t piece = 0;
    int64_t element = 0;
  };
  std::vector<Turn> turns(pieces_.size());
  for (bool is_sending = true; is_sending;) {
    is_sending = false;
    for (size_t task = 0; task < turns.size(); ++task) {
      Turn& turn = turns[task];
      if (turn.piece == pieces_[task].size()) continue;
      const Piece& piece = pieces_[task][turn.piece];
      const int64_t elements =
          std::min<int64_t>(shape_.buffer_elements, piece.elements() - turn.element);
      Place place(piece, turn.element);
      const int64_t first_bucket = owned_begin(piece.owner);
      for (int64_t i = 0; i < elements; ++i, place.step(piece)) {
        const int64_t from = place.task * shape_.buckets + place.bucket;
        buffer_[static_cast<size_t>(i)] = {address_of(place, first_bucket, rank()),
                                           counts[static_cast<size_t>(from)]};
      }
      const int64_t at = rank() * owned(piece.owner) * shape_.tasks + piece.place + turn.element;
      CD_TRY(bring(*inbox_,
                   piece.owner,
                   at * model::kBucketElementBytes,
                   bytes_of(buffer_.data(), elements * model::kBucketElementBytes),
                   count_traffic_));
      CD_TRY(inbox_->flush_local(piece.owner));
      turn.element += elements;
      if (turn.element == piece.elements()) turn = {turn.piece + 1, 0};
      is_sending = true;
    }
  }
  return inbox_->fence();
}

// The way back is the way there: the same pieces, in the same buffers.
Status BufferedCounts::send_starts() {
  const auto* table = table_.as<int64_t>();
  for (int source = 0; source < shape_.ranks; ++source) {
    for (const std::vector<Piece>& of_task : pieces_) {
      for (const Piece& piece : of_task) {
        if (piece.owner != rank()) continue;
        for (int64_t first = 0; first < piece.elements(); first += shape_.buffer_elements) {
          const int64_t elements =
              std::min<int64_t>(shape_.buffer_elements, piece.elements() - first);
          Place place(piece, first);
          for (int64_t i = 0; i < elements; ++i, place.step(piece)) {
            buffer_[static_cast<size_t>(i)] = {
                place.task * shape_.buckets + place.bucket,
                table[address_of(place, owned_begin(rank()), source)]};
          }
          const int64_t at = owned_begin(rank()) * shape_.tasks + piece.place + first;
          CD_TRY(bring(*outbox_,
                       source,
                       at * model::kBucketElementBytes,
                       bytes_of(buffer_.data(), elements * model::kBucketElementBytes),
                       start_traffic_));
          CD_TRY(outbox_->flush_local(source));
        }
      }
    }
  }
  return outbox_->fence();
}

Status BufferedCounts::exchange(std::span<const int64_t> counts, std::span<int64_t> starts) {
  CD_TRY(send_counts(counts));
  auto* table = table_.as<int64_t>();
  const int64_t owned_counts = owned(rank()) * shape_.ranks * shape_.tasks;
  const auto* came = reinterpret_cast<const Element*>(inbox_->data());
  for (int64_t i = 0; i < owned_counts; ++i) table[came[i].address] = came[i].value;
  int64_t sum = 0;
  for (int64_t i = 0; i < owned_counts; ++i) sum += table[i];
  CD_ASSIGN(int64_t start, base_of(sum));
  for (int64_t i = 0; i < owned_counts; ++i) {
    const int64_t count = table[i];
    table[i] = start;
    start += count;
  }
  CD_TRY(send_starts());
  const auto* back = reinterpret_cast<const Element*>(outbox_->data());
  for (size_t i = 0; i < starts.size(); ++i) {
    starts[static_cast<size_t>(back[i].address)] = back[i].value;
  }
  return {};
}

}  // namespace crossdock::bulk
