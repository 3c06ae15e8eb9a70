#include "data/channels/local_channel.hpp"

#include "data/channels/channel_receiver.hpp"
#include "data/channels/channel_sender.hpp"

namespace crossdock::channels {

LocalChannel::~LocalChannel() {
  if (core_->is_copy()) return;
  const bool is_news = !core_->is_through();
  core_->close(make_error(ErrorCode::kChannelClosed,
                          "channel {} was deleted on rank {} before all its rows were taken",
                          id(),
                          core_->rank()),
               is_news);
  core_->retire();
}

Result<bool> LocalChannel::is_ready() const {
  CD_TRY(core_->check());
  return core_->is_attached();
}

Error LocalChannel::not_here(const char* end, int number, const std::vector<int>& ranks) const {
  if (number < 0 || number >= static_cast<int>(ranks.size())) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {} has {}s 0 to {}, and {} is asked for",
                      id(),
                      end,
                      ranks.size() - 1,
                      number);
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "{} {} of channel {} is on rank {}; open it there, this is rank {}",
                    end,
                    number,
                    id(),
                    ranks[static_cast<size_t>(number)],
                    core_->rank());
}

Result<std::unique_ptr<Sender>> LocalChannel::open_sender(int source) {
  CD_TRY(core_->check());
  const ChannelSpec& spec = core_->plan().spec();
  const auto& ranks = spec.source_ranks;
  if (source < 0 || source >= static_cast<int>(ranks.size()) || core_->source(source) == nullptr) {
    return not_here("source", source, ranks);
  }
  SourceEnd& end = *core_->source(source);
  int opened = end.senders_opened.load();
  do {
    if (opened == spec.senders_per_source) {
      return make_error(ErrorCode::kInvalidArgument,
                        "source {} of channel {} has {} senders, and all were opened; ask for more "
                        "with senders_per_source",
                        source,
                        id(),
                        opened);
    }
  } while (!end.senders_opened.compare_exchange_weak(opened, opened + 1));
  return ChannelSender::make(core_, end);
}

Result<std::unique_ptr<Receiver>> LocalChannel::open_receiver(int destination) {
  CD_TRY(core_->check());
  const auto& ranks = core_->plan().spec().destination_ranks;
  if (destination < 0 || destination >= static_cast<int>(ranks.size()) ||
      core_->outlet_of(destination) == nullptr) {
    return not_here("destination", destination, ranks);
  }
  OutletEnd& end = *core_->outlet_of(destination);
  end.receivers[static_cast<size_t>(core_->cursor_of(destination))].fetch_add(1);
  return std::unique_ptr<Receiver>(std::make_unique<ChannelReceiver>(core_, end, destination));
}

}  // namespace crossdock::channels
