// UCX for one NIC: a context that sees no other device, and a worker in it.
//
// UCX would spread one connection over NICs by itself; here each NIC is a link of its own, since only the mover knows
// which link is free.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include <ucp/api/ucp.h>

#include "base/result.hpp"
#include "data/transports/link.hpp"
#include "data/transports/network_devices.hpp"

namespace crossdock::transports {

class UcxLink;

// What stands before every message: whose it is, and for a frame its header. As it is on the wire.
struct UcxNoteHead {
  uint64_t key = 0;
};
struct UcxFrameHead {
  uint64_t key = 0;
  rings::SegmentHeader header;
};
static_assert(sizeof(UcxFrameHead) == 72);

enum UcxMessage : unsigned {
  kUcxFrame = 1,
  kUcxNote = 2,
  kUcxCall = 3,  // the connection from there is made
  kUcxMeet = 4,  // UCX's handshake is through
  kUcxGoodbye = 5
};

// One thread at a time.
class UcxWorker {
 public:
  // CD-603 with UCX's words if the device cannot be used.
  static Result<std::unique_ptr<UcxWorker>> open(const NetworkDevice& device);
  ~UcxWorker();
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;

  ucp_worker_h handle() const { return worker_; }
  const NetworkDevice& device() const { return device_; }
  const std::string& address() const { return address_; }
  int event_fd() const { return event_fd_; }
  // Whether payloads may be sent as UCX_RNDV_THRESH says, instead of as Crossdock thinks best.
  bool user_sets_rendezvous() const { return user_sets_rendezvous_; }

  // Messages with this key are the link's; those with a key that no link has are dropped.
  void listen(uint64_t key, UcxLink* link) { links_[key] = link; }
  // False: nothing happened. Without `events` frames are dropped.
  bool progress(LinkEvents* events);
  // True: event_fd() is readable when something comes.
  bool arm();
  // Ends all of it, with the links: UCX lets go of everything that it has been given. Takes up to 200 ms, while the
  // links close. Nothing but device() and address() may be used then, and progress() and arm(), which find nothing.
  void stop();
  bool is_stopped() const { return worker_ == nullptr; }

 private:
  struct Arrived {  // what UCX passes to a handler
    const void* head;
    size_t head_bytes;
    void* data;  // for a rendezvous, UCX's descriptor
    size_t bytes;
    bool is_rendezvous;
  };
  explicit UcxWorker(const NetworkDevice& device) : device_(device) {}
  void destroy();
  Status start();
  Status make_context(ucp_config_t* config);
  Status check_device() const;
  template <UcxMessage message, auto take>
  Status set_handler();
  UcxLink* link_of(const Arrived& message, size_t head_bytes) const;
  ucs_status_t take_frame(const Arrived& message);
  ucs_status_t take_note(const Arrived& message);
  ucs_status_t take_call(const Arrived& message);
  ucs_status_t take_meet(const Arrived& message);
  ucs_status_t take_goodbye(const Arrived& message);

  NetworkDevice device_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int event_fd_ = -1;
  bool user_sets_rendezvous_ = false;
  LinkEvents* events_ = nullptr;  // within progress()
  std::unordered_map<uint64_t, UcxLink*> links_;
};

}  // namespace crossdock::transports
