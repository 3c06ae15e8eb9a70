#include "control/controller/meeting_table.hpp"

#include <algorithm>

#include <fmt/ranges.h>

namespace crossdock::control {
namespace {

constexpr size_t kNamedMax = 16;      // ranks in an error
constexpr uint64_t kRankBytes = 256;  // what a rank takes beside what it says

uint64_t bytes_of(const std::string& said) { return said.size() + kRankBytes; }

}  // namespace

Status MeetingTable::check_place(const Meet& request, Rounds::iterator place) {
  Round& round = place->second;
  const auto is_here = [&](const auto& rank) { return calls_.is_pending(rank.second.call); };
  if (round.size != request.size) {
    const auto other = std::ranges::find_if(round.ranks, is_here);
    if (other != round.ranks.end()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "rank {} counts {} ranks in group '{}', and rank {} counts {}; start all "
                        "with the same number, and each job under a name of its own",
                        request.rank,
                        request.size,
                        request.group,
                        other->first,
                        round.size);
    }
    // Left by processes that are gone.
    bytes_ -= round.bytes;
    round = {request.size, {}, 0};
  }
  const auto same = round.ranks.find(request.rank);
  if (same == round.ranks.end() || same->second.request == request.request || !is_here(*same))
    return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "another process is rank {} of group '{}', too; give each rank once, and each "
                    "job that runs at the same time a name of its own",
                    request.rank,
                    request.group);
}

Status MeetingTable::check_room(const Meet& request, const Round& round) {
  const uint64_t more = bytes_of(request.said);
  while (bytes_ + more > kMeetingBytesMax && !finished_.empty()) forget_oldest();
  if (bytes_ + more <= kMeetingBytesMax && round.bytes + more <= kRoundBytesMax) return {};
  return make_error(ErrorCode::kControlLimit,
                    "group '{}' has passed {} bytes in this round, of at most {}, and all groups "
                    "{}, of at most {}; pass less, or come again later",
                    request.group,
                    round.bytes,
                    kRoundBytesMax,
                    bytes_,
                    kMeetingBytesMax);
}

// Whether others of the group begin again. A rank that begins again makes it so, for all rounds that there are.
bool MeetingTable::is_void(const Meet& request) {
  if (request.round != kRoundAgain) {
    const auto again = rounds_.find({request.group, kRoundAgain});
    return again != rounds_.end() && again->second.size == request.size;
  }
  auto place = rounds_.lower_bound({request.group, 0});
  while (place != rounds_.end() && place->first.first == request.group &&
         place->first.second != kRoundAgain) {
    place = end_round(place, Met{std::make_shared<Said::element_type>()});
  }
  return false;
}

MeetingTable::Rounds::iterator MeetingTable::end_round(Rounds::iterator place, const Reply& reply) {
  for (const auto& [number, rank] : place->second.ranks) calls_.reply(rank.call, reply);
  bytes_ -= place->second.bytes;
  return rounds_.erase(place);
}

void MeetingTable::take(CallId call, Meet& request, double now_s) {
  if (const auto known = answers_.find(request.request); known != answers_.end()) {
    return calls_.reply(call, Met{known->second});
  }
  if (is_void(request)) return calls_.reply(call, Met{std::make_shared<Said::element_type>()});
  const auto [place, is_new] = rounds_.try_emplace({request.group, request.round});
  Round& round = place->second;
  if (is_new) round.size = request.size;
  Status status = check_place(request, place);
  if (status.ok()) status = check_room(request, round);
  if (!status.ok()) {
    if (round.ranks.empty()) rounds_.erase(place);
    return calls_.reply(call, status.error());
  }
  Rank& rank = round.ranks[request.rank];
  // A rank that repeats its call waits no longer for the first answer, and for as long as it said first.
  const bool is_repeated = rank.request == request.request;
  calls_.reply(rank.call,
               make_error(ErrorCode::kControllerUnreachable, "the request was repeated"));
  const uint64_t before = rank.request == RequestId() ? 0 : bytes_of(rank.said);
  rank.request = request.request;
  rank.said = std::move(request.said);
  rank.call = call;
  if (!is_repeated) rank.due_s = now_s + request.within_s;
  rank.waits_until_s = 0;
  round.bytes += bytes_of(rank.said) - before;
  bytes_ += bytes_of(rank.said) - before;
  // Whether a rank whose call has broken lives is not known: it says so by repeating.
  const auto waits = [this](const auto& entry) { return calls_.is_pending(entry.second.call); };
  if (round.ranks.size() == round.size && std::ranges::all_of(round.ranks, waits)) {
    finish(place, now_s);
  }
}

void MeetingTable::finish(Rounds::iterator place, double now_s) {
  auto all = std::make_shared<std::vector<std::string>>();
  Finished finished{now_s + kKeptS, place->second.bytes, {}};
  for (auto& [number, rank] : place->second.ranks) {
    all->push_back(std::move(rank.said));
    finished.requests.push_back(rank.request);
  }
  const Met met{std::move(all)};
  for (const auto& [number, rank] : place->second.ranks) {
    answers_.emplace(rank.request, met.said);
    calls_.reply(rank.call, met);
  }
  finished_.push_back(std::move(finished));
  rounds_.erase(place);
}

void MeetingTable::forget_oldest() {
  for (const RequestId request : finished_.front().requests) answers_.erase(request);
  bytes_ -= finished_.front().bytes;
  finished_.pop_front();
}

Error MeetingTable::missing(const RoundName& name, const Round& round) const {
  std::vector<uint32_t> absent;
  for (uint32_t rank = 0; rank < round.size && absent.size() < kNamedMax; ++rank) {
    if (!round.ranks.contains(rank)) absent.push_back(rank);
  }
  const size_t count = round.size - round.ranks.size();
  const bool is_restart = name.second == kRoundAgain;
  return make_error(ErrorCode::kAgentLost,
                    "rank{} {}{} of {} did not come in time to {} of group '{}', or gave up; "
                    "look at whether they run, and start all with one name and number of ranks",
                    count == 1 ? "" : "s",
                    fmt::join(absent, ", "),
                    count > absent.size() ? fmt::format(" and {} more", count - absent.size()) : "",
                    round.size,
                    is_restart ? "a new beginning" : fmt::format("round {}", name.second),
                    name.first);
}

// Only in the first round of a name, and in that of a new beginning, may ranks come and go.
Error MeetingTable::left(const RoundName& name, uint32_t rank) {
  return make_error(ErrorCode::kAgentLost,
                    "rank {} left round {} of group '{}': it gave up, is gone, or cannot reach the "
                    "control plane; look at its agent, and begin again what all ranks were doing",
                    rank,
                    name.second,
                    name.first);
}

bool MeetingTable::still_waits(const RoundName& name,
                               const Round& round,
                               Rank& rank,
                               double now_s) {
  if (calls_.is_pending(rank.call)) {
    if (now_s < rank.due_s) return true;
    calls_.reply(rank.call, missing(name, round));
    return false;
  }
  if (rank.waits_until_s == 0) rank.waits_until_s = now_s + kRepeatWithinS;
  return now_s < rank.waits_until_s;
}

void MeetingTable::tick(double now_s) {
  while (!finished_.empty() && finished_.front().until_s <= now_s) forget_oldest();
  for (auto place = rounds_.begin(); place != rounds_.end();) {
    Round& round = place->second;
    // All that give up now get the same error.
    std::vector<uint32_t> gone;
    for (auto& [number, rank] : round.ranks) {
      if (!still_waits(place->first, round, rank, now_s)) gone.push_back(number);
    }
    for (const uint32_t number : gone) {
      const uint64_t less = bytes_of(round.ranks.at(number).said);
      round.bytes -= less;
      bytes_ -= less;
      round.ranks.erase(number);
    }
    const bool is_passing = place->first.second != 0 && place->first.second != kRoundAgain;
    if (round.ranks.empty()) {
      place = rounds_.erase(place);
    } else if (is_passing && !gone.empty()) {
      place = end_round(place, left(place->first, gone.front()));
    } else {
      ++place;
    }
  }
}

}  // namespace crossdock::control
