// Asks for all routes over netlink (rtnetlink(7)): the files under /proc/net name only the first of several next hops.
#include "data/transports/routed_interfaces.hpp"

#include <cerrno>
#include <cstring>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <vector>

#include <net/if.h>

#include "base/descriptor.hpp"

namespace crossdock::transports {
namespace {

using Routed = std::set<std::pair<std::string, int>>;

Error cannot_list(int number) {
  return make_error(
      ErrorCode::kProbeFailed, "the network routes cannot be listed: {}", std::strerror(number));
}

void add(int interface, int family, Routed& routed) {
  char name[IF_NAMESIZE] = {};
  if (if_indextoname(static_cast<unsigned>(interface), name) != nullptr)
    routed.emplace(name, family);
}

bool is_gateway(const rtattr* part) {
  return part->rta_type == RTA_GATEWAY || part->rta_type == RTA_VIA;
}

void take_next_hops(rtattr* list, int family, bool is_for_all, Routed& routed) {
  auto left = static_cast<int>(RTA_PAYLOAD(list));
  auto* hop = static_cast<rtnexthop*>(RTA_DATA(list));
  while (left >= static_cast<int>(sizeof *hop) && hop->rtnh_len >= sizeof *hop &&
         hop->rtnh_len <= left) {
    bool is_through = is_for_all;
    auto bytes = static_cast<int>(hop->rtnh_len - sizeof *hop);
    for (rtattr* part = RTNH_DATA(hop); RTA_OK(part, bytes); part = RTA_NEXT(part, bytes)) {
      is_through |= is_gateway(part);
    }
    if (is_through) add(hop->rtnh_ifindex, family, routed);
    left -= static_cast<int>(RTNH_ALIGN(hop->rtnh_len));
    hop = RTNH_NEXT(hop);
  }
}

void take_route(nlmsghdr* message, Routed& routed) {
  auto* const route = static_cast<rtmsg*>(NLMSG_DATA(message));
  if (message->nlmsg_len < NLMSG_LENGTH(sizeof *route) || route->rtm_type != RTN_UNICAST) return;
  const bool is_for_all = route->rtm_dst_len == 0;
  bool is_through = is_for_all;
  int interface = 0;
  auto bytes = static_cast<int>(RTM_PAYLOAD(message));
  for (rtattr* part = RTM_RTA(route); RTA_OK(part, bytes); part = RTA_NEXT(part, bytes)) {
    is_through |= is_gateway(part);
    if (part->rta_type == RTA_OIF) std::memcpy(&interface, RTA_DATA(part), sizeof interface);
    if (part->rta_type == RTA_MULTIPATH)
      take_next_hops(part, route->rtm_family, is_for_all, routed);
  }
  if (is_through && interface != 0) add(interface, route->rtm_family, routed);
}

}  // namespace

Result<Routed> routed_interfaces() {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return cannot_list(errno);
  struct {
    nlmsghdr head;
    rtmsg route;
  } request = {};
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = RTM_GETROUTE;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  if (::send(socket.get(), &request, sizeof request, 0) < 0) return cannot_list(errno);
  Routed routed;
  std::vector<nlmsghdr> buffer((size_t{64} << 10) / sizeof(nlmsghdr));
  while (true) {
    const ssize_t count = ::recv(socket.get(), buffer.data(), buffer.size() * sizeof(nlmsghdr), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return cannot_list(count < 0 ? errno : EPIPE);
    auto left = static_cast<unsigned>(count);
    for (nlmsghdr* one = buffer.data(); NLMSG_OK(one, left); one = NLMSG_NEXT(one, left)) {
      if (one->nlmsg_type == NLMSG_DONE) return routed;
      if (one->nlmsg_type == NLMSG_ERROR) {
        return cannot_list(-static_cast<nlmsgerr*>(NLMSG_DATA(one))->error);
      }
      if (one->nlmsg_type == RTM_NEWROUTE) take_route(one, routed);
    }
  }
}

}  // namespace crossdock::transports
