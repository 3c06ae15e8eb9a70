// Endpoints of ranks, and what they leave open.
#include "data/channels/channel_ranks.hpp"

#include <filesystem>

#include "data/channels/channel_rows.hpp"

namespace crossdock::channels {
namespace {

constexpr int64_t kBatchRows = 1000;

std::vector<int64_t> keys_of(int source, int batch) {
  std::vector<int64_t> keys;
  for (int64_t at = 0; at < kBatchRows; ++at) {
    keys.push_back((int64_t{source} * 1'000'003 + batch * 7919 + at * 13) % 1'000'000);
  }
  return keys;
}

// Takes what there is; true at the end.
Result<bool> take_some(Receiver& receiver, Tally& taken) {
  while (true) {
    CD_ASSIGN(const Received got, receiver.recv());
    if (got.kind == Received::Kind::kEnd) return true;
    if (got.kind == Received::Kind::kNothing) return false;
    taken.rows += got.rows.rows;
    const int64_t* keys = got.rows.columns[0].data<int64_t>();
    for (int64_t row = 0; row < got.rows.rows; ++row) {
      taken.key_sum += static_cast<uint64_t>(keys[row]);
    }
  }
}

}  // namespace

ChannelSpec endpoints_on(const std::vector<int>& ranks) {
  ChannelSpec spec;
  spec.id = 1;
  spec.schema = rows_schema(RowKind::kKeys);
  spec.source_ranks = spec.destination_ranks = ranks;
  spec.route.keys = {0};
  spec.segment.segment_bytes = 2048;
  spec.slot_bits = 1;
  return spec;
}

Status use_endpoint(Channel& channel, int endpoint, int batches, Tally& taken) {
  CD_ASSIGN(const auto sender, channel.open_sender(endpoint));
  CD_ASSIGN(const auto receiver, channel.open_receiver(endpoint));
  bool has_ended = false;
  const auto drain = [&]() -> Status {
    CD_ASSIGN(has_ended, take_some(*receiver, taken));
    return {};
  };
  for (int batch = 0; batch != batches; ++batch) {
    CD_TRY(sender->send_all(make_rows(RowKind::kKeys, keys_of(endpoint, batch % 1000)), drain));
  }
  CD_TRY(sender->flush(drain));
  while (!has_ended) {
    CD_TRY(drain());
    if (!has_ended) receiver->wait(std::chrono::seconds(5));
  }
  return {};
}

Tally expected_tally(int sources, int destinations, int endpoint, int batches, bool is_broadcast) {
  Tally tally;
  for (int source = 0; source < sources; ++source) {
    for (int batch = 0; batch < batches; ++batch) {
      for (const int64_t key : keys_of(source, batch % 1000)) {
        if (!is_broadcast && key % destinations != endpoint) continue;
        ++tally.rows;
        tally.key_sum += static_cast<uint64_t>(key);
      }
    }
  }
  return tally;
}

std::multiset<std::string> open_descriptors() {
  std::multiset<std::string> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the descriptor of this loop itself
    std::string leads_to = std::filesystem::read_symlink(entry.path(), gone).string();
    leads_to = leads_to.substr(0, leads_to.find_first_of("0123456789"));
    if (!gone && !leads_to.starts_with("/proc")) open.insert(leads_to);
  }
  return open;
}

}  // namespace crossdock::channels
