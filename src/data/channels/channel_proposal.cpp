// "7 1234567": number and digest.
#include "data/channels/channel_proposal.hpp"

#include "base/text_fields.hpp"

namespace crossdock::channels {

std::string ChannelProposal::text() const { return fmt::format("{} {}", id, digest); }

Result<ChannelProposal> ChannelProposal::parse(const std::string& text) {
  ChannelProposal proposal;
  const auto fields = fields_of(text, ' ');
  if (fields.size() == 2 && read_number(fields[0], proposal.id) &&
      read_number(fields[1], proposal.digest)) {
    return proposal;
  }
  return make_error(ErrorCode::kMalformedMessage, "another rank gave a channel as '{}'", text);
}

}  // namespace crossdock::channels
