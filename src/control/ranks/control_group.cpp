#include "control/ranks/control_group.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "control/protocol/check.hpp"

namespace crossdock::control {
namespace {

using std::chrono::milliseconds;

// A controller that is restarted is back by then; longer would keep a program waiting for one that is not.
constexpr double kUnreachableS = 6;
// From the controller's last moment of waiting until its answer is here.
constexpr double kAnswerS = 5;
constexpr std::chrono::seconds kAsksAfter{1};

double seconds_until(std::chrono::steady_clock::time_point end) {
  const auto left = end - std::chrono::steady_clock::now();
  return std::max(1e-3, std::chrono::duration<double>(left).count());
}

// What a rank says in the first round, and of whom.
constexpr char kBetween = ' ';

}  // namespace

ControlGroup::ControlGroup(const ranks::ControlMeeting& meeting,
                           std::shared_ptr<ControlClient> client)
    : address_(meeting.address),
      job_(meeting.job),
      rank_(meeting.rank),
      size_(meeting.ranks),
      client_(std::move(client)) {}

Result<std::unique_ptr<ranks::RankGroup>> ControlGroup::make(const ranks::ControlMeeting& meeting) {
  if (meeting.ranks < 1 || meeting.rank < 0 || meeting.rank >= meeting.ranks ||
      meeting.ranks > static_cast<int>(kGroupRanksMax)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rank {} of {}: ranks count from 0, and there are 1 to {} of them",
                      meeting.rank,
                      meeting.ranks,
                      kGroupRanksMax);
  }
  if (meeting.job.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a group that meets through the control plane needs a name of its own; give "
                      "CROSSDOCK_JOB, or join_group(job=...)");
  }
  ClientSettings settings;
  settings.address = meeting.address;
  settings.security = {meeting.uses_tls,
                       meeting.ca_pem,
                       meeting.certificate_pem,
                       meeting.key_pem,
                       meeting.token,
                       meeting.is_insecure};
  CD_ASSIGN(auto client, ControlClient::make(std::move(settings)));
  return std::unique_ptr<ranks::RankGroup>(new ControlGroup(meeting, std::move(client)));
}

Result<std::vector<std::string>> ControlGroup::say(const std::string& group,
                                                   uint64_t round,
                                                   const std::string& mine,
                                                   Clock::time_point end) {
  Meet request;
  request.request = make_request_id();
  request.group = group;
  request.rank = static_cast<uint32_t>(rank_);
  request.size = static_cast<uint32_t>(size_);
  request.round = round;
  request.said = mine;
  request.within_s = seconds_until(end);
  ControlClient::Patience patience;
  patience.within_s = request.within_s + kAnswerS;
  patience.unreachable_s = std::min(kUnreachableS, request.within_s);
  // The round may be through, and its answer on the way, when a rank that was in it has ended.
  const Clock::time_point asks_at = Clock::now() + kAsksAfter;
  Status alive;
  patience.is_interrupted = [&] {
    if (Clock::now() < asks_at) return false;
    for (int other = 0; other < size_ && alive.ok(); ++other) {
      if (other != rank_) alive = check_alive(other);
    }
    return !alive.ok();
  };
  const Result<Reply> asked = client_->call(request, patience);
  if (!alive.ok()) return alive.error();
  if (!asked.ok()) return asked.error();
  const Reply& reply = asked.value();
  const auto* met = std::get_if<Met>(&reply);
  const bool is_void = met != nullptr && met->said->empty();
  if (met == nullptr || (!is_void && met->said->size() != static_cast<size_t>(size_))) {
    return make_error(ErrorCode::kMalformedMessage,
                      "{} answered for {} ranks of group '{}', which has {}",
                      address_,
                      met == nullptr ? 0 : met->said->size(),
                      group,
                      size_);
  }
  return *met->said;
}

// A random number and the agent's name of every rank.
Status ControlGroup::meet(Clock::time_point end) {
  const double within_s = seconds_until(end);
  CD_ASSIGN(Reply asked,
            client_->call(AskServer{}, ControlClient::Patience{within_s, kUnreachableS, {}}));
  auto server = std::get<ServerIs>(std::move(asked));
  const std::string mine = text_of(make_request_id()) + kBetween + server.name;
  CD_ASSIGN(const auto all, say(job_, 0, mine, end));
  const auto has_agent = [](const std::string& said) { return !said.ends_with(kBetween); };
  for (size_t other = 0; other < all.size(); ++other) {
    if (has_agent(all[other]) == has_agent(mine)) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "rank {} speaks to an agent and rank {} to the controller itself; give every "
                      "rank the address of the agent on its machine",
                      has_agent(mine) ? static_cast<size_t>(rank_) : other,
                      has_agent(mine) ? other : static_cast<size_t>(rank_));
  }
  if (has_agent(mine)) {
    planner_ = std::make_unique<ControlPlanner>(*this, client_, std::move(server));
  }
  group_ = all[0].substr(0, all[0].find(kBetween));
  return {};
}

// A rank that comes, from whatever round, goes on in rounds that no rank has been in.
Status ControlGroup::meet_again(Clock::time_point end) {
  const RequestId drawn = make_request_id();
  const auto mine = static_cast<uint32_t>(drawn.low) & 0x7fff'ffff;
  CD_ASSIGN(const auto all, say(group_, kRoundAgain, std::to_string(mine), end));
  uint32_t life = 0;
  const std::string& first = all[0];
  const auto [at, problem] = std::from_chars(first.data(), first.data() + first.size(), life);
  if (problem != std::errc() || at != first.data() + first.size()) {
    return make_error(
        ErrorCode::kMalformedMessage, "rank 0 gave the number of a new beginning as '{}'", first);
  }
  round_ = uint64_t{life} << 32;
  return {};
}

Result<std::vector<std::string>> ControlGroup::gather(const std::string& mine,
                                                      milliseconds at_most) {
  CD_TRY(home_.check(fmt::format("rank {} of job \"{}\"", rank_, job_)));
  const bool is_first = std::exchange(is_beginning_, false);
  if (!apart_.ok() && !is_first) {
    return make_error(apart_.error().code,
                      "job '{}' at {} is over until all ranks begin something new: {}",
                      job_,
                      address_,
                      apart_.error().message);
  }
  const Clock::time_point end = Clock::now() + at_most;
  const auto pass = [&]() -> Result<std::vector<std::string>> {
    if (group_.empty()) CD_TRY(meet(end));
    if (!apart_.ok()) CD_TRY(meet_again(end));
    auto all = say(group_, round_ + 1, mine, end);
    while (is_first && all.ok() && all.value().empty() && Clock::now() < end) {
      CD_TRY(meet_again(end));
      all = say(group_, round_ + 1, mine, end);
    }
    if (!all.ok() || !all.value().empty()) return all;
    return make_error(ErrorCode::kAgentLost,
                      "another rank of job '{}' could not reach the control plane, and has begun "
                      "again; begin again what all ranks were doing",
                      job_);
  };
  auto all = pass();
  // No rank knows one yet that has not met the others: it may come again.
  apart_ = all.ok() || group_.empty() ? Status() : Status(all.error());
  if (all.ok()) ++round_;
  return all;
}

}  // namespace crossdock::control
