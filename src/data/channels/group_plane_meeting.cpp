// How a process meets the other ranks: what they have to agree on, which of them share memory, and links between hosts.
#include <algorithm>
#include <unistd.h>

#include "data/channels/group_plane.hpp"
#include "data/ranks/agreement.hpp"

namespace crossdock::channels {
namespace {

constexpr char kBetween = '\n';

// As an error names this process.
std::string own_place() {
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format(
      "process {} of {}", ::getpid(), host[0] == '\0' ? "a host without a name" : host);
}

}  // namespace

// Ranks that chose otherwise would wait for each other in ways that the others do not know.
Status GroupPlane::compare_settings(const TransportChoice& choice) {
  const std::string choices = fmt::format("transports=\"{}\", checksums={}, lost_after_s={}",
                                          choice.text(),
                                          settings_.checksums,
                                          settings_.lost_after_s);
  CD_ASSIGN(std::vector<std::string> all,
            ranks::agree(*group_, choices + kBetween + own_place(), open_within()));
  std::vector<std::string> places;
  for (std::string& said : all) {
    const size_t end = std::min(said.find(kBetween), said.size());
    places.push_back(said.substr(std::min(end + 1, said.size())));
    said.resize(end);
  }
  losses_.set_places(std::move(places));
  return ranks::check_same(all, "all ranks of a group join it with the same");
}

// Every rank takes part in every gather, also one that cannot go on.
Status GroupPlane::meet() {
  const auto choice = TransportChoice::parse(settings_.transports);
  if (!choice.ok()) return ranks::agree(*group_, choice.error(), open_within()).error();
  CD_TRY(compare_settings(choice.value()));
  group_->set_liveness([this](int other) { return losses_.check(other); });
  if (choice.value().shm) {
    CD_TRY(meet_neighbours());
  } else {
    for (int other = 0; other < ranks(); ++other) host_of_rank_.push_back(other);
  }
  const bool is_one_host =
      std::count(host_of_rank_.begin(), host_of_rank_.end(), host_of_rank_.front()) == ranks();
  if (is_one_host) return {};
  if (choice.value().joins_hosts()) return meet_hosts();
  return make_error(ErrorCode::kInvalidArgument,
                    "{} ranks are on several hosts, and the transport 'shm' joins those of one; "
                    "allow 'tcp' or 'ucx', or say 'auto'",
                    ranks());
}

Status GroupPlane::meet_neighbours() {
  Result<std::string> address = std::string();
  auto listening = transports::Neighbours::listen(rank());
  if (listening.ok()) {
    neighbours_ = std::move(listening.value());
    address = neighbours_->address();
  } else {
    address = listening.error();
  }
  CD_ASSIGN(const std::vector<std::string> addresses,
            ranks::agree(*group_, address, open_within()));
  const auto beside = neighbours_->connect(addresses, step_within());
  // A host is known by the first of its ranks.
  Result<std::string> host = std::string();
  if (beside.ok()) {
    int first = rank();
    for (const transports::PeerIndex peer : beside.value())
      first = std::min(first, static_cast<int>(peer));
    host = fmt::format("{}", first);
  } else {
    host = beside.error();
  }
  CD_ASSIGN(const std::vector<std::string> hosts, ranks::agree(*group_, host, open_within()));
  for (const std::string& of_rank : hosts) host_of_rank_.push_back(std::atoi(of_rank.c_str()));
  return {};
}

Status GroupPlane::meet_hosts() {
  HostLinks::Events events;
  events.on_failure = [this](uint64_t channel, const Error& cause) {
    take_failure(channel, cause);
  };
  events.on_lost_rank = [this](transports::PeerIndex rank, const Error& cause) {
    lose(static_cast<int>(rank), cause);
  };
  CD_ASSIGN(host_links_, HostLinks::open(*group_, settings_, host_of_rank_, std::move(events)));
  return {};
}

}  // namespace crossdock::channels
