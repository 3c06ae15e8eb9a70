#include "data/channels/group_trace.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "data/channels/sent_part.hpp"
#include "data/channels/two_level.hpp"
#include "data/trace/trace_json.hpp"

namespace crossdock::channels {
namespace {

static_assert(trace::kTraceSecondLevel == kSecondLevel);

constexpr size_t kColumns = 4;

// What a row is: the step of a note, or one of these.
constexpr uint64_t kClockRow = 0xFF;  // real time less steady time, notes dropped
// 8 bytes of the name of a link, from where, its size, and which link.
constexpr uint64_t kLinkNameRow = 0xFE;

using Row = std::array<uint64_t, kColumns>;
struct Columns {
  std::array<std::vector<uint64_t>, kColumns> words;

  size_t rows() const { return words[0].size(); }
  void add(const Row& row) {
    for (size_t i = 0; i < kColumns; ++i) words[i].push_back(row[i]);
  }
};

int64_t clock_ns(auto now) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
}

Row row_of(const trace::TimedNote& timed) {
  const trace::SegmentNote& note = timed.note;
  return {static_cast<uint64_t>(timed.at_ns),
          note.channel,
          note.sequence,
          uint64_t{note.source} << 48 | uint64_t{note.outlet} << 32 | uint64_t{note.link} << 16 |
              static_cast<uint64_t>(note.step)};
}

trace::TimedNote note_of(const Row& row) {
  trace::SegmentNote note;
  note.channel = row[1];
  note.sequence = row[2];
  note.source = static_cast<uint16_t>(row[3] >> 48);
  note.outlet = static_cast<uint16_t>(row[3] >> 32);
  note.link = static_cast<uint16_t>(row[3] >> 16);
  note.step = static_cast<trace::SegmentStep>(row[3] & 0xFF);
  return {static_cast<int64_t>(row[0]), note};
}

void add_link_name(Columns& columns, uint64_t link, const std::string& name) {
  for (size_t begin = 0; begin < name.size(); begin += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, name.data() + begin, std::min(sizeof word, name.size() - begin));
    columns.add({word, begin, name.size(), link << 16 | kLinkNameRow});
  }
}

Columns columns_of(const trace::TraceNotes& noted, const DataPlane& plane) {
  Columns columns;
  const int64_t ahead_ns =
      clock_ns(std::chrono::system_clock::now()) - clock_ns(std::chrono::steady_clock::now());
  columns.add({static_cast<uint64_t>(ahead_ns), noted.dropped, 0, kClockRow});
  const std::vector<movers::LinkCounters> links = plane.links();
  for (size_t link = 0; link < links.size(); ++link) add_link_name(columns, link, links[link].name);
  for (const trace::TimedNote& note : noted.notes) columns.add(row_of(note));
  return columns;
}

Result<SchemaPtr> row_schema() {
  CD_ASSIGN(const DataType words, parse_arrow_format("L"));
  auto schema = std::make_shared<Schema>();
  for (const char* name : {"time", "channel", "sequence", "what"}) {
    schema->fields.push_back({.name = name, .type = words, .nullable = false, .metadata = ""});
  }
  return SchemaPtr(std::move(schema));
}

Batch batch_of(const SchemaPtr& schema,
               const std::shared_ptr<const Columns>& columns,
               size_t begin) {
  Batch batch;
  batch.schema = schema;
  batch.rows = std::min(kRowsPerSend, static_cast<int64_t>(columns->rows() - begin));
  for (const std::vector<uint64_t>& words : columns->words) {
    ColumnView view;
    view.length = batch.rows;
    view.values = reinterpret_cast<const uint8_t*>(words.data() + begin);
    batch.columns.push_back(view);
  }
  batch.owner = columns;
  return batch;
}

// Of rank 0: what has come of each rank.
class Collected {
 public:
  Collected(Memory& memory, int ranks) : memory_(memory), ahead_ns_(static_cast<size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_.emplace_back();
      ranks_.back().rank = rank;
    }
  }

  Status add(const Received& received) {
    CD_ASSIGN(auto charge, memory_.charge(received.rows.rows * kTraceNoteBytes, "a trace"));
    charges_.push_back(std::move(charge));
    for (int64_t i = 0; i < received.rows.rows; ++i) {
      Row row;
      for (size_t column = 0; column < kColumns; ++column) {
        row[column] = received.rows.columns[column].data<uint64_t>()[i];
      }
      add(ranks_[static_cast<size_t>(received.source)], row);
    }
    return {};
  }

  // Ranks of a host have one clock: the difference is that of the first of them.
  std::string json(const std::vector<int>& host_of_rank) {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto first = static_cast<size_t>(std::ranges::find(host_of_rank, host_of_rank[rank]) -
                                             host_of_rank.begin());
      ranks_[rank].behind_ns = ahead_ns_[first] - ahead_ns_[0];
    }
    return trace::trace_json(ranks_);
  }

 private:
  void add(trace::RankNotes& rank, const Row& row) {
    const uint64_t what = row[3] & 0xFF;
    if (what == kClockRow) {
      ahead_ns_[static_cast<size_t>(rank.rank)] = static_cast<int64_t>(row[0]);
      rank.noted.dropped = row[1];
      return;
    }
    if (what != kLinkNameRow) {
      rank.noted.notes.push_back(note_of(row));
      return;
    }
    const size_t link = row[3] >> 16;
    if (rank.links.size() <= link) rank.links.resize(link + 1);
    std::string& name = rank.links[link];
    name.resize(row[2]);
    std::memcpy(name.data() + row[1], row.data(), std::min(sizeof(uint64_t), row[2] - row[1]));
  }

  Memory& memory_;
  std::vector<std::shared_ptr<const void>> charges_;
  std::vector<trace::RankNotes> ranks_;
  std::vector<int64_t> ahead_ns_;
};

// Rows of this rank go, and at rank 0 those of all come.
Status pass_rows(Channel& channel,
                 int rank,
                 const std::shared_ptr<const Columns>& columns,
                 Collected& collected) {
  CD_ASSIGN(const auto sender, channel.open_sender(rank));
  std::unique_ptr<Receiver> receiver;
  if (rank == 0) {
    CD_ASSIGN(receiver, channel.open_receiver(0));
  }
  bool has_ended = false;
  const auto take = [&]() -> Status {
    if (receiver == nullptr || has_ended) return {};
    CD_ASSIGN(const Received received, receiver->recv());
    has_ended = received.kind == Received::Kind::kEnd;
    if (received.kind == Received::Kind::kRows) return collected.add(received);
    return {};
  };
  for (size_t begin = 0; begin < columns->rows(); begin += size_t{kRowsPerSend}) {
    CD_TRY(sender->send_all(batch_of(channel.layout().schema(), columns, begin), take));
  }
  CD_TRY(sender->flush(take));
  while (receiver != nullptr && !has_ended) {
    CD_TRY(take());
    if (!has_ended) receiver->wait(std::chrono::milliseconds(100));
  }
  return {};
}

}  // namespace

Result<std::string> finish_group_trace(DataPlane& plane, Memory& memory, uint64_t channel_id) {
  const Result<trace::TraceNotes> noted = trace::SegmentTrace::finish();
  ChannelSpec spec;
  spec.id = channel_id;
  CD_ASSIGN(spec.schema, row_schema());
  for (int rank = 0; rank < plane.ranks(); ++rank) spec.source_ranks.push_back(rank);
  spec.destination_ranks = {0};
  spec.route.keys = {0};
  spec.segment.segment_bytes = int64_t{64} << 10;
  spec.slot_bits = 2;
  CD_ASSIGN(const auto channel, plane.create_channel(spec));
  Collected collected(memory, plane.ranks());
  const auto mine = std::make_shared<const Columns>(
      columns_of(noted.ok() ? noted.value() : trace::TraceNotes{}, plane));
  const Status passed = pass_rows(*channel, plane.rank(), mine, collected);
  if (!passed.ok()) {
    channel->close(passed.error());
    return passed.error();
  }
  if (!noted.ok()) return noted.error();
  return plane.rank() == 0 ? collected.json(plane.host_of_rank()) : std::string();
}

Result<std::string> finish_own_trace(const DataPlane& plane) {
  trace::RankNotes notes;
  notes.rank = plane.rank();
  CD_ASSIGN(notes.noted, trace::SegmentTrace::finish());
  for (const movers::LinkCounters& link : plane.links()) notes.links.push_back(link.name);
  return trace::trace_json({notes});
}

}  // namespace crossdock::channels
