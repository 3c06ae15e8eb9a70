// "7 1234567": number and digest.
#include "data/channels/channel_proposal.hpp"

#include <charconv>

namespace crossdock::channels {

std::string ChannelProposal::text() const { return fmt::format("{} {}", id, digest); }

Result<ChannelProposal> ChannelProposal::parse(const std::string& text) {
  ChannelProposal proposal;
  const char* const end = text.data() + text.size();
  const auto [blank, no_id] = std::from_chars(text.data(), end, proposal.id);
  if (no_id == std::errc() && blank != end && *blank == ' ') {
    const auto [rest, no_digest] = std::from_chars(blank + 1, end, proposal.digest);
    if (no_digest == std::errc() && rest == end) return proposal;
  }
  return make_error(ErrorCode::kMalformedMessage, "another rank gave a channel as '{}'", text);
}

}  // namespace crossdock::channels
