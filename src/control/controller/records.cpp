#include "control/controller/records.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace crossdock::control {
namespace {

bool names_these(const std::vector<EndpointId>& sorted, const std::vector<EndpointId>& ids) {
  if (sorted.size() != ids.size()) return false;
  if (sorted == ids) return true;
  std::vector<EndpointId> copy = ids;
  std::ranges::sort(copy);
  return sorted == copy;
}

}  // namespace

std::optional<size_t> ChannelRecord::find_server(std::string_view name) const {
  const auto place = std::ranges::lower_bound(servers, name);
  if (place == servers.end() || *place != name) return std::nullopt;
  return static_cast<size_t>(place - servers.begin());
}

void ChannelRecord::set_ends(std::vector<EndpointId> from, std::vector<EndpointId> to) {
  // Reports name them by id, so requests must be kept like that to be recognised after a restart.
  if (!std::ranges::is_sorted(from)) std::ranges::sort(from);
  if (!std::ranges::is_sorted(to)) std::ranges::sort(to);
  const bool are_equal = from == to;
  sources = std::make_shared<const std::vector<EndpointId>>(std::move(from));
  destinations =
      are_equal ? sources : std::make_shared<const std::vector<EndpointId>>(std::move(to));
}

bool ChannelRecord::is_for(const ChannelRows& rows,
                           const std::vector<EndpointId>& from,
                           const std::vector<EndpointId>& to) const {
  return rows_hash == hash_of(rows) && names_these(*sources, from) &&
         names_these(*destinations, to);
}

uint64_t hash_of(const ChannelRows& rows) {
  uint64_t hash = std::hash<std::string>()(rows.schema);
  for (const uint32_t column : rows.partition_key) {
    hash = std::hash<uint64_t>()((hash ^ column) * 0x9e3779b97f4a7c15u + (hash >> 32));
  }
  return hash;
}

}  // namespace crossdock::control
