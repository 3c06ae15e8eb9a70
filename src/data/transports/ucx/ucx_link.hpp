// A link over UCX: a NIC here, a NIC of a peer, and the endpoint between their workers.
//
// How two ends meet: UCX (1.13) aborts a process that it tells of two endpoints for one, which comes about if both
// sides begin its handshake and one closes its endpoint meanwhile, or that ends while a message of the handshake waits
// for a connection. So both sides make connections first, by a call that needs no handshake; the opener, when its call
// is out and the other's is here, asks to meet, by which UCX shakes hands over connections that are there; and an
// endpoint that has not met is not closed, but goes with its worker. (An RDMA port shakes hands at once: there the
// other side has no endpoint of its own before it is met.) Nothing else is sent before.
//
// Frames are active messages: large ones by rendezvous, so that the payload goes from the sender's segment straight to
// the place that the receiver names, small ones at once. What UCX reads or writes after a call has returned lies in
// records that live until UCX says it is done, also when the link fails; only then is the link reported lost.
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

namespace crossdock::transports {

struct UcxLinkSpec {
  LinkIndex index = 0;
  PeerIndex peer = 0;
  std::string peer_device;      // as the peer's kernel names it
  uint64_t key = 0;             // of what is sent
  int64_t bytes_under_way = 0;  // limit
  bool is_opener = false;
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
  bool takes(uint64_t bytes) const override;
  bool put(const rings::SegmentHeader& header,
           std::span<const std::byte> payload,
           uint64_t token) override;
  bool tell(std::span<const std::byte> note) override;
  void abandon() override;

  // From the worker's callbacks.
  void take_frame(const rings::SegmentHeader& header, const std::byte* payload, LinkEvents& events);
  ucs_status_t fetch_frame(const rings::SegmentHeader& header,
                           void* descriptor,
                           LinkEvents& events);
  void take_note(std::span<const std::byte> note);
  void take_call();
  void take_meet();
  void take_goodbye() { fail(UCS_ERR_CONNECTION_RESET); }

  // The next step towards the other side, where one is due; not from a callback.
  bool has_step() const { return next_step_ != Step::kNone && !worker_.is_stopped(); }
  void take_step();
  // The two sides still shake hands.
  bool is_meeting() const { return !has_met_ && failure_ == UCS_OK; }
  bool is_failing() const { return failure_ != UCS_OK && !is_lost_; }
  // Of a failing link: UCX still works for it though it was asked to stop, for longer than it may.
  bool is_overdue() const;
  const UcxWorker& worker() const { return worker_; }
  // Of a failing link: gets rid of what is under way, a bit at a time; tells lost() when nothing is left. `events`
  // null: no listener is left.
  void settle(LinkEvents* events);
  // Tells the peer, if that can be done at once, that the link is over here. UCX keeps a connection that both sides
  // made until both have closed it, so that the peer would only find out by silence.
  void say_goodbye();
  // Asks that all that was put or noted leaves; null if there is nothing to wait for. To be freed by the caller.
  ucs_status_ptr_t flush();
  void close() { fail(UCS_ERR_CANCELED); }
  // The worker is going. False: UCX has not let go of all that is under way.
  bool close_now();
  // It has gone, and its endpoints with it: of what was under way nothing is.
  void end_with_worker() {
    endpoint_ = nullptr;
    closing_ = nullptr;
  }

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
    UcxMessage message = kUcxNote;
    UcxNoteHead head;
    std::array<std::byte, kNoteBytesMax> bytes;
  };
  struct Fetch {
    UcxLink* link = nullptr;
    rings::SegmentHeader header;
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

  enum class Step : uint8_t { kNone, kMeet, kAnswer, kPart };

  void fail(ucs_status_t status);
  bool make_endpoint();
  void ask_to_meet();
  void have_met();
  bool close_endpoint();
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
  std::string peer_worker_;
  Step next_step_ = Step::kNone;
  bool has_called_ = false;
  bool is_called_ = false;
  bool has_asked_ = false;
  bool has_met_ = false;
  ucs_status_t failure_ = UCS_OK;  // the first
  bool is_lost_ = false;
  std::chrono::steady_clock::time_point lingers_until_;  // before it closes, for the goodbye
  std::chrono::steady_clock::time_point closed_at_;
  int64_t bytes_under_way_ = 0;
  Pool<Put> puts_;
  Pool<Note> notes_;
  Pool<Fetch> fetches_;
};

}  // namespace crossdock::transports
