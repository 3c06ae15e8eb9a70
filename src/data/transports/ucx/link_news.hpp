// What happened on the links of a transport while UCX was making progress, kept until UCX has returned: a listener
// may then use the links at once, which UCX would not allow from within its callbacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/transports/link.hpp"

namespace crossdock::transports {

// One thread. Holds what one turn of progress brought, which UCX bounds by what it reads from a socket at once.
class LinkNews {
 public:
  void add_placed(LinkIndex link, const rings::SegmentHeader& header, std::byte* payload) {
    items_.push_back({Kind::kPlaced, link, header, payload, 0});
  }
  void add_placed_with_sum(LinkIndex link,
                           const rings::SegmentHeader& header,
                           std::byte* payload,
                           uint32_t checksum) {
    items_.push_back({Kind::kPlacedWithSum, link, header, payload, checksum});
  }
  void add_noted(LinkIndex link, std::span<const std::byte> note) {
    items_.push_back({Kind::kNoted, link, {}, nullptr, note.size()});
    note_bytes_.insert(note_bytes_.end(), note.begin(), note.end());
  }
  void add_sent(LinkIndex link, uint64_t token) {
    items_.push_back({Kind::kSent, link, {}, nullptr, token});
  }
  bool is_empty() const { return items_.empty(); }

  // Tells what is there now; what is added meanwhile waits for the next time. False if there was nothing.
  bool tell(LinkEvents& events) {
    if (items_.empty()) return false;
    items_.swap(said_);
    note_bytes_.swap(said_bytes_);
    std::span<const std::byte> bytes = said_bytes_;
    for (const Item& item : said_) {
      switch (item.kind) {
        case Kind::kPlaced:
          events.placed(item.link, item.header, item.payload);
          break;
        case Kind::kPlacedWithSum:
          events.placed_with_sum(
              item.link, item.header, item.payload, static_cast<uint32_t>(item.value));
          break;
        case Kind::kNoted:
          events.noted(item.link, bytes.first(item.value));
          bytes = bytes.subspan(item.value);
          break;
        case Kind::kSent:
          events.sent(item.link, item.value);
          break;
      }
    }
    said_.clear();
    said_bytes_.clear();
    return true;
  }

 private:
  enum class Kind : uint8_t { kPlaced, kPlacedWithSum, kNoted, kSent };
  struct Item {
    Kind kind;
    LinkIndex link;
    rings::SegmentHeader header;
    std::byte* payload;
    uint64_t value;  // bytes of the note, the token, or the checksum
  };
  std::vector<Item> items_, said_;
  std::vector<std::byte> note_bytes_, said_bytes_;
};

}  // namespace crossdock::transports
