// Who owns which partition, where each scatter's segments lie, and how they are found.
#include "data/bulk/segment_window.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <new>
#include <numeric>
#include <queue>
#include <utility>

#include <hwy/cache_control.h>

#include "base/check.hpp"
#include "data/sorters/scatter_kernel.hpp"

namespace crossdock::bulk {
namespace {

// 16 KiB with one carried lane: a put of that size is a good one.
constexpr int64_t kWindowSegmentRows = 1008;
constexpr size_t kSegmentsUnderWay = 64;  // put and not known to have left, of one scatter

int64_t bytes_of_segment(int64_t capacity_rows, int64_t lanes) {
  return static_cast<int64_t>(sizeof(sorters::Segment)) + capacity_rows * 8 * (1 + lanes);
}

int64_t rounded_rows(int64_t rows) {
  return (rows + sorters::kFlushRows - 1) / sorters::kFlushRows * sorters::kFlushRows;
}

// All segments of so many rows.
int64_t bytes_of_segments(int64_t rows, int64_t lanes) {
  const int64_t rest = rows % kWindowSegmentRows;
  return rows / kWindowSegmentRows * bytes_of_segment(kWindowSegmentRows, lanes) +
         (rest == 0 ? 0 : bytes_of_segment(rounded_rows(rest), lanes));
}

struct SegmentPlace {
  int64_t left = 0;     // rows that no segment was opened for
  int64_t open_at = 0;  // of the open segment, in the owner's window
};

// What one worker has in one owner's window.
struct OwnerRange {
  int64_t at = 0;  // of the next segment
  int64_t end = 0;
  int64_t stored = 0;  // bytes written without a put
};

// A table's partitions.
struct Owned {
  ranks::Window* window = nullptr;
  const std::vector<int>* owners = nullptr;  // by partition
  int lanes = 0;
};

// Segments of one worker and table.
class WindowSource : public sorters::SegmentSource {
 public:
  WindowSource(Memory& memory, const Owned& owned, std::vector<OwnerRange> ranges, std::string who)
      : window_(*owned.window),
        owners_(*owned.owners),
        ranges_(std::move(ranges)),
        lanes_(owned.lanes),
        places_(owners_.size()),
        pool_(memory, kWindowSegmentRows, lanes_, std::move(who)) {}

  void expect(size_t partition, int64_t rows) { places_[partition].left = rows; }
  bool was_deceived() const { return was_deceived_; }

  Result<sorters::Segment*> open(uint32_t partition) override {
    SegmentPlace& place = places_[partition];
    OwnerRange& range = ranges_[static_cast<size_t>(owners_[partition])];
    CD_CHECK(place.left > 0, "partition {} has more rows than were counted", partition);
    const int64_t rows = std::min(kWindowSegmentRows, rounded_rows(place.left));
    if (range.at + bytes_of_segment(rows, lanes_) > range.end) return deceived(partition);
    std::byte* const there = window_.direct(owners_[partition]);
    sorters::Segment* segment = nullptr;
    if (there != nullptr) {
      segment = new (there + range.at) sorters::Segment;
    } else {
      CD_ASSIGN(segment, staged());
    }
    segment->rows = 0;
    segment->capacity_rows = static_cast<int32_t>(rows);
    segment->has_carry = lanes_ > 0;
    segment->carried_lanes = lanes_;
    segment->partition = static_cast<int32_t>(partition);
    place.open_at = range.at;
    place.left -= std::min(rows, place.left);
    range.at += bytes_of_segment(rows, lanes_);
    return segment;
  }

  Status close(uint32_t partition, sorters::Segment* segment) override {
    const int owner = owners_[partition];
    const int64_t bytes = bytes_of_segment(segment->capacity_rows, lanes_);
    if (window_.direct(owner) != nullptr) {
      ranges_[static_cast<size_t>(owner)].stored += bytes;
      return {};
    }
    hwy::FlushStream();
    const std::span<const std::byte> whole(reinterpret_cast<const std::byte*>(segment),
                                           static_cast<size_t>(bytes));
    CD_TRY(window_.put(owner, places_[partition].open_at, whole));
    under_way_.emplace_back(owner, segment);
    return {};
  }

  // All segments are closed. Says in the owners' windows which bytes no rank has written.
  Status end() {
    for (size_t owner = 0; owner < ranges_.size(); ++owner) {
      const OwnerRange& range = ranges_[owner];
      const int rank = static_cast<int>(owner);
      std::byte* const there = window_.direct(rank);
      if (range.at < range.end && there != nullptr) {
        new (there + range.at) sorters::Segment(unused(range));
      } else if (range.at < range.end) {
        unused_.push_back(unused(range));
        CD_TRY(window_.put(rank, range.at, std::as_bytes(std::span(&unused_.back(), 1))));
      }
      if (range.stored != 0) window_.note_stored(rank, range.stored);
    }
    return {};
  }

 private:
  Error deceived(uint32_t partition) {
    was_deceived_ = true;
    return make_error(
        ErrorCode::kTooManyRows, "partition {} has more rows than a sample said", partition);
  }

  // As many whole segments as there was room for and none was opened.
  sorters::Segment unused(const OwnerRange& range) const {
    sorters::Segment mark;
    mark.partition = -static_cast<int32_t>((range.end - range.at) /
                                           bytes_of_segment(kWindowSegmentRows, lanes_));
    return mark;
  }

  // A segment here; when enough are under way, those again that have left.
  Result<sorters::Segment*> staged() {
    if (free_.empty() && under_way_.size() >= kSegmentsUnderWay) {
      std::vector<int> owners;
      for (const auto& [owner, segment] : under_way_) {
        owners.push_back(owner);
        free_.push_back(segment);
      }
      under_way_.clear();
      std::sort(owners.begin(), owners.end());
      owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
      for (const int owner : owners) CD_TRY(window_.flush_local(owner));
    }
    if (free_.empty()) return pool_.get();
    sorters::Segment* const segment = free_.back();
    free_.pop_back();
    return segment;
  }

  ranks::Window& window_;
  const std::vector<int>& owners_;
  std::vector<OwnerRange> ranges_;  // by owner
  const int lanes_;
  std::vector<SegmentPlace> places_;     // by partition
  std::deque<sorters::Segment> unused_;  // there until the fence
  bool was_deceived_ = false;
  sorters::SegmentPool pool_;
  std::vector<std::pair<int, sorters::Segment*>> under_way_;
  std::vector<sorters::Segment*> free_;
};

}  // namespace

int64_t rows_per_sample(int64_t rows, int partitions) {
  constexpr int64_t kSampledOf = 16;
  constexpr int64_t kFullSegmentsMin = 8;  // so that one that is not full is half of a sixteenth
  return rows / partitions >= kFullSegmentsMin * kWindowSegmentRows ? kSampledOf : 1;
}

std::vector<int> deal_in_order(const std::vector<int64_t>& weights, int ranks) {
  // One row more of each, so that partitions without rows are dealt, too.
  const auto count = static_cast<int64_t>(weights.size());
  const int64_t total = std::accumulate(weights.begin(), weights.end(), count);
  std::vector<int> owners;
  int64_t before = 0;
  for (const int64_t weight : weights) {
    // The rank in whose share of all rows the middle of the partition lies.
    const double middle = static_cast<double>(before) + static_cast<double>(weight + 1) / 2;
    const auto rank = static_cast<int>(middle * ranks / static_cast<double>(total));
    owners.push_back(std::min(rank, ranks - 1));
    before += weight + 1;
  }
  return owners;
}

std::vector<int> deal_partitions(const std::vector<int64_t>& weights, int ranks) {
  std::vector<int> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return weights[static_cast<size_t>(a)] > weights[static_cast<size_t>(b)];
  });
  using Load = std::pair<int64_t, int>;  // rows, rank
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (int rank = 0; rank < ranks; ++rank) least.emplace(0, rank);
  std::vector<int> owners(weights.size());
  for (const int partition : order) {
    const auto [rows, rank] = least.top();
    least.pop();
    owners[static_cast<size_t>(partition)] = rank;
    // One more, so that partitions without rows do not all come to one rank.
    least.emplace(rows + weights[static_cast<size_t>(partition)] + 1, rank);
  }
  return owners;
}

struct SegmentWindow::State {
  ranks::Communicator* ranks = nullptr;
  std::shared_ptr<Memory> memory;
  std::string who;
  SegmentLoad load;
  std::vector<int> owners;
  // Where this rank's part of a table begins in each rank's window: by table, by rank.
  std::vector<std::vector<int64_t>> begins;
  // Where the parts of a table end in the own window: by table, by source; they begin where the one before ends.
  std::vector<std::vector<int64_t>> ends;
  std::shared_ptr<ranks::Window> window;
  std::vector<std::vector<std::unique_ptr<WindowSource>>> sources;  // by table, by worker

  size_t tables() const { return load.rows.size(); }
  size_t size() const { return static_cast<size_t>(ranks->size()); }
  int lanes(size_t table) const { return load.carried_lanes[table]; }

  std::vector<int64_t> room_of(size_t table, const std::vector<int64_t>& counted) const;
  Status agree_on_owners(size_t partitions);
  Status agree_on_places();
  void make_sources(size_t table);
  Status find(ArrivedSegments& arrived) const;
  int64_t unused_at(size_t table, int64_t at, int64_t end) const;
  Result<const sorters::Segment*> segment_at(size_t table, int64_t at, int64_t end) const;
};

// The histogram of all ranks says who owns what; counts of both tables weigh alike.
Status SegmentWindow::State::agree_on_owners(size_t partitions) {
  std::vector<int64_t> mine(tables() * partitions);
  for (size_t table = 0; table < tables(); ++table) {
    for (const std::vector<int64_t>& of_worker : load.rows[table]) {
      for (size_t p = 0; p < partitions; ++p) {
        mine[table * partitions + p] += of_worker[p] * load.sampled_of[table];
      }
    }
  }
  CD_ASSIGN(const std::vector<int64_t> all, ranks->fold(mine, ranks::Fold::kSum));
  std::vector<int64_t> weights(partitions);
  for (size_t table = 0; table < tables(); ++table) {
    for (size_t p = 0; p < partitions; ++p) weights[p] += all[table * partitions + p];
  }
  owners = load.in_order ? deal_in_order(weights, ranks->size())
                         : deal_partitions(weights, ranks->size());
  return {};
}

// Bytes by owner: what the rows of a worker take, or, after a sample, are all but sure to take.
std::vector<int64_t> SegmentWindow::State::room_of(size_t table,
                                                   const std::vector<int64_t>& counted) const {
  std::vector<int64_t> room(size());
  const int64_t sampled_of = load.sampled_of[table];
  if (sampled_of == 1) {
    for (size_t p = 0; p < owners.size(); ++p) {
      room[static_cast<size_t>(owners[p])] += bytes_of_segments(counted[p], lanes(table));
    }
    return room;
  }
  std::vector<int64_t> seen(size()), partitions(size());
  for (size_t p = 0; p < owners.size(); ++p) {
    seen[static_cast<size_t>(owners[p])] += counted[p];
    ++partitions[static_cast<size_t>(owners[p])];
  }
  for (size_t rank = 0; rank < size(); ++rank) {
    // Rows that lie together are alike, so the deviation of independent ones is given eight times, and a percent.
    const double rows = static_cast<double>(seen[rank]) + 8 * std::sqrt(seen[rank]) +
                        0.01 * static_cast<double>(seen[rank]);
    const auto full =
        static_cast<int64_t>(rows * static_cast<double>(sampled_of)) / kWindowSegmentRows;
    // Of each partition one segment is not full.
    room[rank] = (full + 1 + partitions[rank]) * bytes_of_segment(kWindowSegmentRows, lanes(table));
  }
  return room;
}

// A window holds its tables one behind the other, and of each what the ranks send, rank 0 first.
Status SegmentWindow::State::agree_on_places() {
  std::vector<int64_t> to(size() * tables());  // bytes, by rank and table
  for (size_t table = 0; table < tables(); ++table) {
    for (const std::vector<int64_t>& of_worker : load.rows[table]) {
      const std::vector<int64_t> room = room_of(table, of_worker);
      for (size_t rank = 0; rank < size(); ++rank) to[rank * tables() + table] += room[rank];
    }
  }
  CD_ASSIGN(const std::vector<int64_t> below, ranks->exclusive_sum(to));
  CD_ASSIGN(const std::vector<int64_t> all, ranks->fold(to, ranks::Fold::kSum));
  CD_ASSIGN(const std::vector<int64_t> from, ranks->all_to_all(to));
  begins.assign(tables(), std::vector<int64_t>(size()));
  ends.assign(tables(), std::vector<int64_t>(size()));
  for (size_t rank = 0; rank < size(); ++rank) {
    int64_t before = 0;
    for (size_t table = 0; table < tables(); ++table) {
      begins[table][rank] = before + below[rank * tables() + table];
      before += all[rank * tables() + table];
    }
  }
  int64_t bytes = 0;
  for (size_t table = 0; table < tables(); ++table) {
    for (size_t rank = 0; rank < size(); ++rank) {
      bytes += from[rank * tables() + table];
      ends[table][rank] = bytes;
    }
  }
  CD_ASSIGN(window, ranks->open_window(bytes, memory, who));
  return {};
}

// What a worker sends to a rank lies behind what the workers before it send there.
void SegmentWindow::State::make_sources(size_t table) {
  std::vector<int64_t> at = begins[table];
  const Owned owned{window.get(), &owners, lanes(table)};
  for (const std::vector<int64_t>& counted : load.rows[table]) {
    const std::vector<int64_t> room = room_of(table, counted);
    std::vector<OwnerRange> ranges(size());
    for (size_t rank = 0; rank < size(); ++rank) {
      ranges[rank] = {at[rank], at[rank] + room[rank], 0};
      at[rank] += room[rank];
    }
    auto source = std::make_unique<WindowSource>(*memory, owned, std::move(ranges), who);
    const bool is_sampled = load.sampled_of[table] != 1;
    for (size_t p = 0; p < counted.size(); ++p) {
      source->expect(p, is_sampled ? INT64_MAX / 2 : counted[p]);
    }
    sources[table].push_back(std::move(source));
  }
}

SegmentWindow::SegmentWindow(std::unique_ptr<State> state) : state_(std::move(state)) {}
SegmentWindow::~SegmentWindow() = default;

Result<std::unique_ptr<SegmentWindow>> SegmentWindow::open(ranks::Communicator& ranks,
                                                           std::shared_ptr<Memory> memory,
                                                           SegmentLoad load,
                                                           std::string who) {
  auto state = std::make_unique<State>();
  state->ranks = &ranks;
  state->memory = std::move(memory);
  state->who = std::move(who);
  state->load = std::move(load);
  CD_TRY(state->agree_on_owners(state->load.rows.at(0).at(0).size()));
  CD_TRY(state->agree_on_places());
  state->sources.resize(state->tables());
  for (size_t table = 0; table < state->tables(); ++table) state->make_sources(table);
  return std::unique_ptr<SegmentWindow>(new SegmentWindow(std::move(state)));
}

sorters::SegmentSource& SegmentWindow::source(int table, int worker) {
  return *state_->sources[static_cast<size_t>(table)][static_cast<size_t>(worker)];
}

// Bytes from here that a worker had room for and did not write; 0 where there is something.
int64_t SegmentWindow::State::unused_at(size_t table, int64_t at, int64_t end) const {
  const int64_t segment_bytes = bytes_of_segment(kWindowSegmentRows, lanes(table));
  if (end - at < segment_bytes) return 0;
  const auto* mark = reinterpret_cast<const sorters::Segment*>(window->data() + at);
  if (mark->capacity_rows != 0 || mark->partition >= 0) return 0;
  const int64_t bytes = -int64_t{mark->partition} * segment_bytes;
  return bytes <= end - at ? bytes : 0;
}

Result<const sorters::Segment*> SegmentWindow::State::segment_at(size_t table,
                                                                 int64_t at,
                                                                 int64_t end) const {
  const auto* segment = reinterpret_cast<const sorters::Segment*>(window->data() + at);
  const bool is_whole =
      end - at >= static_cast<int64_t>(sizeof(sorters::Segment)) && segment->capacity_rows > 0 &&
      segment->capacity_rows <= kWindowSegmentRows && segment->rows > 0 &&
      segment->rows <= segment->capacity_rows && segment->carried_lanes == lanes(table) &&
      segment->partition >= 0 && static_cast<size_t>(segment->partition) < owners.size() &&
      owners[static_cast<size_t>(segment->partition)] == ranks->rank() &&
      bytes_of_segment(segment->capacity_rows, lanes(table)) <= end - at;
  if (is_whole) return segment;
  return make_error(ErrorCode::kInternal,
                    "{}: there is no segment of this rank at byte {} of {} of its window",
                    who,
                    at,
                    window->bytes());
}

Status SegmentWindow::State::find(ArrivedSegments& arrived) const {
  std::vector<int> places(owners.size(), -1);
  for (size_t p = 0; p < owners.size(); ++p) {
    if (owners[p] != ranks->rank()) continue;
    places[p] = static_cast<int>(arrived.partitions.size());
    arrived.partitions.push_back(static_cast<int>(p));
  }
  int64_t at = 0;
  for (size_t table = 0; table < tables(); ++table) {
    arrived.lists.emplace_back(arrived.partitions.size());
    arrived.rows.push_back(0);
    for (const int64_t end : ends[table]) {
      while (at < end) {
        const int64_t unused = unused_at(table, at, end);
        if (unused > 0) {
          at += unused;
          continue;
        }
        CD_ASSIGN(const sorters::Segment* const segment, segment_at(table, at, end));
        const int place = places[static_cast<size_t>(segment->partition)];
        // Lists are of segments that scatters fill; these are full, and only read.
        arrived.lists[table][static_cast<size_t>(place)].push_back(
            const_cast<sorters::Segment*>(segment));
        arrived.rows[table] += segment->rows;
        at += bytes_of_segment(segment->capacity_rows, lanes(table));
      }
    }
  }
  return {};
}

Result<std::optional<ArrivedSegments>> SegmentWindow::finish(const Status& mine) {
  bool was_deceived = false;
  Status ended = mine;
  for (const auto& of_table : state_->sources) {
    for (const auto& source : of_table) {
      was_deceived |= source->was_deceived();
      if (ended.ok()) ended = source->end();
    }
  }
  CD_TRY(state_->window->fence());
  state_->sources.clear();
  ranks::Communicator& ranks = *state_->ranks;
  CD_ASSIGN(const int64_t deceived, ranks.fold(int64_t{was_deceived}, ranks::Fold::kMax));
  const bool counts_as_deceived =
      was_deceived && !mine.ok() && mine.error().code == ErrorCode::kTooManyRows;
  CD_TRY(ranks.agree(counts_as_deceived ? Status() : ended));
  if (deceived != 0) {
    state_->window.reset();  // room for the next
    return std::optional<ArrivedSegments>();
  }
  ArrivedSegments arrived;
  CD_TRY(ranks.agree(state_->find(arrived)));
  arrived.window = std::move(state_->window);
  return std::optional<ArrivedSegments>(std::move(arrived));
}

int64_t SegmentWindow::bytes() const { return state_->window->bytes(); }

}  // namespace crossdock::bulk
