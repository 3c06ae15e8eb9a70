// A link over UCX: a NIC here, a NIC of a peer, and the endpoint between their workers.
//
// Frames are active messages: large ones by rendezvous, so that the payload goes from the sender's segment straight to
// the place that the receiver names, small ones at once. What UCX reads or writes after a call has returned lies in
// records that live until UCX says it is done, also when the link fails; only then is the link told lost.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include "base/result.hpp"
#include "data/transports/link.hpp"
#include "data/transports/ucx/link_news.hpp"
#include "data/transports/ucx/ucx_worker.hpp"

namespace crossdock {

struct UcxLinkSpec {
  LinkIndex index = 0;
  PeerIndex peer = 0;
  std::string peer_device;      // as the peer's kernel names it
  uint64_t key = 0;             // of what is sent
  int64_t bytes_under_way = 0;  // limit
};

// One thread.
class UcxLink : public Link {
 public:
  UcxLink(UcxWorker& worker, LinkNews& news, UcxLinkSpec spec);

  // `peer_worker`: UCX's address of it. A link that cannot be connected is a lost one, since another may do.
  void connect(const std::string& peer_worker);

  PeerIndex peer() const override { return spec_.peer; }
  std::string name() const override;
  std::string device() const override { return worker_.device().kernel_name(); }
  std::string peer_device() const override { return spec_.peer_device; }
  double rate_bytes_per_s() const override { return worker_.device().rate_bytes_per_s; }
  bool put(const SegmentHeader& header,
           std::span<const std::byte> payload,
           uint64_t token) override;
  bool tell(std::span<const std::byte> note) override;
  void abandon() override;

  // From the worker's callbacks.
  void take_frame(const SegmentHeader& header, const std::byte* payload, LinkEvents& events);
  ucs_status_t fetch_frame(const SegmentHeader& header, void* descriptor, LinkEvents& events);
  void take_note(std::span<const std::byte> note);
  void take_goodbye() { fail(UCS_ERR_CONNECTION_RESET); }

  bool is_failing() const { return failure_ != UCS_OK && !is_lost_; }
  // Of a failing link: gets rid of what is under way, a bit at a time; tells lost() when nothing is left. `events`
  // null: nobody is left to tell.
  void settle(LinkEvents* events);
  // Tells the peer, if that can be done at once, that the link is over here. UCX keeps a connection that both sides
  // made until both have closed it, so that the peer would only find out by silence.
  void say_goodbye() { send_note(kUcxGoodbye, {}); }
  // Asks that all that was put or told leaves; null if there is nothing to wait for. To be freed by the caller.
  ucs_status_ptr_t flush();
  void close() { fail(UCS_ERR_CANCELED); }

 private:
  // Records of what UCX works on; made once, used again.
  struct Put {
    UcxLink* link = nullptr;
    UcxFrameHead head;
    uint64_t token = 0;
    int64_t bytes = 0;
  };
  struct Note {
    UcxLink* link = nullptr;
    UcxNoteHead head;
    std::array<std::byte, kNoteBytesMax> bytes;
  };
  struct Fetch {
    UcxLink* link = nullptr;
    SegmentHeader header;
    std::byte* place = nullptr;
  };
  template <class Record>
  struct Pool {
    std::vector<std::unique_ptr<Record>> all;
    std::vector<Record*> free;

    size_t busy() const { return all.size() - free.size(); }
    Record* take() {
      if (free.empty()) free.push_back(all.emplace_back(std::make_unique<Record>()).get());
      Record* const record = free.back();
      free.pop_back();
      return record;
    }
    void give_back(Record* record) { free.push_back(record); }
  };

  void fail(ucs_status_t status);
  bool send_note(UcxMessage message, std::span<const std::byte> note);
  void end_put(Put* put, ucs_status_t status);
  void end_note(Note* note, ucs_status_t status);
  void end_fetch(Fetch* fetch, ucs_status_t status);
  static void on_put_done(void* request, ucs_status_t status, void* record);
  static void on_note_done(void* request, ucs_status_t status, void* record);
  static void on_fetch_done(void* request, ucs_status_t status, size_t bytes, void* record);
  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status);

  UcxWorker& worker_;
  LinkNews& news_;
  UcxLinkSpec spec_;
  ucp_ep_h endpoint_ = nullptr;
  ucs_status_ptr_t closing_ = nullptr;
  ucs_status_t failure_ = UCS_OK;  // the first
  bool is_lost_ = false;
  std::chrono::steady_clock::time_point lingers_until_;  // before it closes, for the goodbye
  int64_t bytes_under_way_ = 0;
  Pool<Put> puts_;
  Pool<Note> notes_;
  Pool<Fetch> fetches_;
};

}  // namespace crossdock
