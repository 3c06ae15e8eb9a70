#include "data/trace/trace_json.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace crossdock::trace {
namespace {

struct RankNote {
  int rank = 0;
  int64_t at_ns = 0;
  SegmentNote note;
};

auto flow_of(const SegmentNote& note) { return std::tuple(note.channel, note.source, note.outlet); }
auto segment_of(const SegmentNote& note) { return std::tuple(flow_of(note), note.sequence); }

struct Stage {
  const char* name = "";
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int link = -1;  // of what is on one
};

// Stages of a segment in one rank, one right after the other.
struct Visit {
  int rank = 0;
  uint64_t sequence = 0;
  std::vector<Stage> stages;
  int arrow_from = -1;  // among the visits of the flow: where the segment was before

  int64_t begin_ns() const { return stages.front().begin_ns; }
  int64_t end_ns() const { return stages.back().end_ns; }
};

// The notes of one segment, by step, each step's in the order of time.
class SegmentSteps {
 public:
  explicit SegmentSteps(std::span<const RankNote> notes) {
    for (const RankNote& note : notes) steps_[static_cast<size_t>(note.note.step)].push_back(note);
    // No step is later than the one after it; of several, the first is what others wait for.
    int64_t latest = std::numeric_limits<int64_t>::max();
    for (const auto step :
         {SegmentStep::kTaken, SegmentStep::kArrived, SegmentStep::kPut, SegmentStep::kPublished}) {
      auto& all = of(step);
      if (all.empty()) continue;
      latest = all.front().at_ns = std::min(all.front().at_ns, latest);
    }
  }

  // What follows one another goes into one visit; each further use is one of its own.
  void append_visits(std::vector<Visit>& flow) {
    const auto& puts = of(SegmentStep::kPut);
    const auto& arrived = of(SegmentStep::kArrived);
    const auto& taken = of(SegmentStep::kTaken);
    const auto& back = of(SegmentStep::kGivenBack);
    last_ = -1;
    if (!of(SegmentStep::kPublished).empty()) {
      const RankNote* next = first_of({&puts, &arrived, &taken});
      add(flow, of(SegmentStep::kPublished).front(), next, "waits in its ring");
    }
    for (size_t i = 0; i < puts.size(); ++i) {
      const RankNote* next = i + 1 < puts.size() ? &puts[i + 1] : first_of({&arrived});
      add(flow, puts[i], next, "on a link");
    }
    if (!arrived.empty()) add(flow, arrived.front(), first_of({&taken}), "waits for its receiver");
    const int before = last_;
    for (size_t i = 0; i < std::min(taken.size(), back.size()); ++i) {
      if (i > 0) last_ = -1;
      add(flow, taken[i], &back[i], "in use");
      if (i > 0) flow.back().arrow_from = before;
    }
  }

 private:
  using Notes = std::vector<RankNote>;
  Notes& of(SegmentStep step) { return steps_[static_cast<size_t>(step)]; }

  static const RankNote* first_of(std::initializer_list<const Notes*> steps) {
    for (const Notes* notes : steps) {
      if (!notes->empty()) return &notes->front();
    }
    return nullptr;
  }

  // A stage whose end was not noted is not shown.
  void add(std::vector<Visit>& flow, const RankNote& from, const RankNote* to, const char* name) {
    if (to == nullptr) return;
    const bool goes_on = last_ >= 0 && flow[static_cast<size_t>(last_)].rank == from.rank;
    if (!goes_on) {
      flow.push_back(
          {.rank = from.rank, .sequence = from.note.sequence, .stages = {}, .arrow_from = last_});
      last_ = static_cast<int>(flow.size()) - 1;
    }
    Stage stage{.name = name, .begin_ns = from.at_ns, .end_ns = std::max(from.at_ns, to->at_ns)};
    if (from.note.step == SegmentStep::kPut) stage.link = from.note.link;
    std::vector<Stage>& stages = flow[static_cast<size_t>(last_)].stages;
    // A frame that went again after it had arrived.
    if (!stages.empty()) stage.begin_ns = std::max(stage.begin_ns, stages.back().end_ns);
    stage.end_ns = std::max(stage.end_ns, stage.begin_ns);
    stages.push_back(stage);
  }

  Notes steps_[5];
  int last_ = -1;
};

class Writer {
 public:
  explicit Writer(const std::vector<RankNotes>& ranks) {
    for (const RankNotes& rank : ranks) links_[rank.rank] = &rank.links;
  }

  void begin_at(int64_t first_ns) { first_ns_ = first_ns; }

  // Each visit goes to the first track of its rank and flow that is free by then: as many as there are slots.
  void append_flow(const SegmentNote& flow, std::vector<Visit>& visits) {
    std::vector<size_t> order(visits.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return visits[i].begin_ns(); });
    std::map<int, std::vector<std::pair<int, int64_t>>> tracks;  // by rank: number, free from
    std::vector<int> track_of(visits.size());
    for (const size_t i : order) {
      const Visit& visit = visits[i];
      auto& all = tracks[visit.rank];
      auto free = std::ranges::find_if(
          all, [&](const auto& track) { return track.second <= visit.begin_ns(); });
      if (free == all.end()) {
        all.emplace_back(add_track(visit.rank, flow, all.size()), 0);
        free = all.end() - 1;
      }
      free->second = visit.end_ns();
      track_of[i] = free->first;
      for (const Stage& stage : visit.stages) append_stage(flow, visit, stage, free->first);
    }
    for (size_t i = 0; i < visits.size(); ++i) {
      if (visits[i].arrow_from < 0) continue;
      const auto from = static_cast<size_t>(visits[i].arrow_from);
      append_arrow(visits[from], track_of[from], visits[i], track_of[i]);
    }
  }

  void append_rank(int rank) {
    json_ += fmt::format(
        R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"rank {}"}}}},)"
        "\n"
        R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}},)"
        "\n",
        rank,
        rank,
        rank,
        rank);
  }

  std::string finish(uint64_t notes, uint64_t dropped) {
    if (json_.ends_with(",\n")) json_.resize(json_.size() - 2);
    return fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"notes\":{},\"dropped\":{}}},"
        "\"traceEvents\":[\n{}\n]}}\n",
        notes,
        dropped,
        json_);
  }

 private:
  static int level_of(const SegmentNote& flow) {
    return (flow.channel & kTraceSecondLevel) != 0 ? 2 : 1;
  }
  double us(int64_t at_ns) const { return static_cast<double>(at_ns - first_ns_) / 1e3; }

  int add_track(int rank, const SegmentNote& flow, size_t place) {
    const int number = ++tracks_of_rank_[rank];
    json_ += fmt::format(
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"channel {}{}: {} to {}, track {}"}}}},)"
        "\n"
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}},)"
        "\n",
        rank,
        number,
        flow.channel & ~kTraceSecondLevel,
        level_of(flow) == 2 ? " (level 2)" : "",
        flow.source,
        flow.outlet,
        place + 1,
        rank,
        number,
        number);
    return number;
  }

  void append_stage(const SegmentNote& flow, const Visit& visit, const Stage& stage, int track) {
    json_ += fmt::format(
        R"({{"ph":"X","cat":"segment","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
        R"("args":{{"channel":{},"level":{},"source":{},"outlet":{},"segment":{})",
        stage.name,
        visit.rank,
        track,
        us(stage.begin_ns),
        static_cast<double>(stage.end_ns - stage.begin_ns) / 1e3,
        flow.channel & ~kTraceSecondLevel,
        level_of(flow),
        flow.source,
        flow.outlet,
        visit.sequence);
    if (stage.link >= 0) json_ += fmt::format(R"(,"link":"{}")", link_name(visit.rank, stage.link));
    json_ += "}},\n";
  }

  std::string link_name(int rank, int link) const {
    const auto& names = *links_.at(rank);
    const auto at = static_cast<size_t>(link);
    if (at >= names.size() || names[at].empty()) return fmt::format("{}", link);
    std::string escaped;
    for (const char letter : names[at]) {
      const bool is_plain = static_cast<unsigned char>(letter) >= 0x20;
      if (letter == '"' || letter == '\\') escaped += '\\';
      escaped += is_plain ? letter : ' ';
    }
    return escaped;
  }

  void append_arrow(const Visit& from, int from_track, const Visit& to, int to_track) {
    ++arrows_;
    json_ += fmt::format(
        R"({{"ph":"s","cat":"segment","name":"goes on","id":{},"pid":{},"tid":{},"ts":{:.3f}}},)"
        "\n"
        R"({{"ph":"f","bp":"e","cat":"segment","name":"goes on","id":{},"pid":{},"tid":{},"ts":{:.3f}}},)"
        "\n",
        arrows_,
        from.rank,
        from_track,
        us(from.stages.back().begin_ns),
        arrows_,
        to.rank,
        to_track,
        us(to.begin_ns()));
  }

  std::map<int, const std::vector<std::string>*> links_;
  std::map<int, int> tracks_of_rank_;
  uint64_t arrows_ = 0;
  int64_t first_ns_ = 0;
  std::string json_;
};

}  // namespace

std::string trace_json(const std::vector<RankNotes>& ranks) {
  std::vector<RankNote> notes;
  Writer writer(ranks);
  uint64_t dropped = 0;
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  for (const RankNotes& rank : ranks) {
    writer.append_rank(rank.rank);
    dropped += rank.noted.dropped;
    for (const TimedNote& note : rank.noted.notes) {
      notes.push_back({rank.rank, note.at_ns + rank.behind_ns, note.note});
      first_ns = std::min(first_ns, notes.back().at_ns);
    }
  }
  writer.begin_at(notes.empty() ? 0 : first_ns);
  std::ranges::sort(notes, {}, [](const RankNote& note) {
    return std::tuple(segment_of(note.note), note.at_ns, note.note.step);
  });
  std::vector<Visit> visits;
  for (size_t begin = 0; begin < notes.size();) {
    const auto segment = segment_of(notes[begin].note);
    size_t end = begin;
    while (end < notes.size() && segment_of(notes[end].note) == segment) ++end;
    SegmentSteps(std::span(notes).subspan(begin, end - begin)).append_visits(visits);
    const bool is_last =
        end == notes.size() || flow_of(notes[end].note) != flow_of(notes[begin].note);
    if (is_last) {
      writer.append_flow(notes[begin].note, visits);
      visits.clear();
    }
    begin = end;
  }
  return writer.finish(notes.size(), dropped);
}

}  // namespace crossdock::trace
