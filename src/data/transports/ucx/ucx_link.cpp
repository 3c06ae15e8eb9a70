// See ucx_link.hpp.
#include "data/transports/ucx/ucx_link.hpp"

#include <cstring>

#include "base/check.hpp"

namespace crossdock {
namespace {

// Smaller payloads go at once: one copy at the receiver costs less than a round trip.
constexpr size_t kRendezvousFromBytes = size_t{16} << 10;
constexpr size_t kPutsMax = 1024;
constexpr size_t kNotesMax = 1024;  // under way; 1 MiB
// What a goodbye may take to leave behind what is under way: a few frames, on a link of 1 Gbit or more.
constexpr std::chrono::milliseconds kLinger{200};

}  // namespace

UcxLink::UcxLink(UcxWorker& worker, LinkNews& news, UcxLinkSpec spec)
    : worker_(worker), news_(news), spec_(std::move(spec)) {}

std::string UcxLink::name() const { return fmt::format("{} to rank {}", device(), spec_.peer); }

void UcxLink::connect(const std::string& peer_worker) {
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer_worker.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &UcxLink::on_error;
  params.err_handler.arg = this;
  const ucs_status_t status = ucp_ep_create(worker_.handle(), &params, &endpoint_);
  if (status != UCS_OK) {
    endpoint_ = nullptr;
    fail(status);
    return;
  }
  send_note(kUcxHello, {});
}

bool UcxLink::put(const SegmentHeader& header, std::span<const std::byte> payload, uint64_t token) {
  const auto bytes = static_cast<int64_t>(payload.size());
  if (failure_ != UCS_OK || puts_.busy() >= kPutsMax) return false;
  if (bytes_under_way_ != 0 && bytes_under_way_ + bytes > spec_.bytes_under_way) return false;
  Put* const put = puts_.take();
  *put = {this, {spec_.key, header}, token, bytes};
  put->head.header.bytes = static_cast<uint32_t>(bytes);
  ucp_request_param_t params = {};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.cb.send = &UcxLink::on_put_done;
  params.user_data = put;
  if (!worker_.user_sets_rendezvous()) {
    params.flags =
        payload.size() < kRendezvousFromBytes ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
  }
  bytes_under_way_ += bytes;
  const ucs_status_ptr_t request = ucp_am_send_nbx(
      endpoint_, kUcxFrame, &put->head, sizeof put->head, payload.data(), payload.size(), &params);
  if (UCS_PTR_IS_ERR(request)) {
    bytes_under_way_ -= bytes;
    puts_.give_back(put);
    fail(UCS_PTR_STATUS(request));
    return false;
  }
  if (request == nullptr) end_put(put, UCS_OK);
  return true;
}

bool UcxLink::tell(std::span<const std::byte> note) {
  CD_CHECK(note.size() <= kNoteBytesMax, "bytes {}", note.size());
  return send_note(kUcxNote, note);
}

bool UcxLink::send_note(UcxMessage message, std::span<const std::byte> bytes) {
  if (failure_ != UCS_OK || notes_.busy() >= kNotesMax) return false;
  Note* const note = notes_.take();
  note->link = this;
  note->head = {spec_.key};
  std::copy(bytes.begin(), bytes.end(), note->bytes.begin());
  ucp_request_param_t params = {};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.cb.send = &UcxLink::on_note_done;
  params.user_data = note;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  const ucs_status_ptr_t request = ucp_am_send_nbx(endpoint_,
                                                   message,
                                                   &note->head,
                                                   sizeof note->head,
                                                   note->bytes.data(),
                                                   bytes.size(),
                                                   &params);
  if (UCS_PTR_IS_ERR(request)) {
    notes_.give_back(note);
    fail(UCS_PTR_STATUS(request));
    return false;
  }
  if (request == nullptr) end_note(note, UCS_OK);
  return true;
}

void UcxLink::take_frame(const SegmentHeader& header,
                         const std::byte* payload,
                         LinkEvents& events) {
  if (failure_ != UCS_OK) return;
  std::byte* const place = events.place(spec_.index, header);
  if (place == nullptr) return;
  if (header.bytes != 0) std::memcpy(place, payload, header.bytes);
  news_.add_placed(spec_.index, header, place);
}

ucs_status_t UcxLink::fetch_frame(const SegmentHeader& header,
                                  void* descriptor,
                                  LinkEvents& events) {
  if (failure_ != UCS_OK) return UCS_OK;
  std::byte* const place = events.place(spec_.index, header);
  if (place == nullptr) return UCS_OK;
  Fetch* const fetch = fetches_.take();
  *fetch = {this, header, place};
  ucp_request_param_t params = {};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.cb.recv_am = &UcxLink::on_fetch_done;
  params.user_data = fetch;
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(worker_.handle(), descriptor, place, header.bytes, &params);
  if (UCS_PTR_IS_ERR(request)) {
    end_fetch(fetch, UCS_PTR_STATUS(request));
  } else if (request == nullptr) {
    end_fetch(fetch, UCS_OK);
  }
  return UCS_INPROGRESS;  // the descriptor is UCX's again
}

void UcxLink::take_note(std::span<const std::byte> note) {
  if (failure_ == UCS_OK) news_.add_noted(spec_.index, note);
}

void UcxLink::abandon() {
  if (failure_ != UCS_OK) return;
  say_goodbye();
  lingers_until_ = std::chrono::steady_clock::now() + kLinger;
  fail(UCS_ERR_TIMED_OUT);
}

void UcxLink::fail(ucs_status_t status) {
  if (failure_ == UCS_OK) failure_ = status;
}

void UcxLink::settle(LinkEvents* events) {
  if (!is_failing()) return;
  if (endpoint_ != nullptr) {
    if (notes_.busy() != 0 && std::chrono::steady_clock::now() < lingers_until_) return;
    ucp_request_param_t params = {};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    closing_ = ucp_ep_close_nbx(endpoint_, &params);
    endpoint_ = nullptr;
    if (UCS_PTR_IS_ERR(closing_)) closing_ = nullptr;
  }
  if (closing_ != nullptr) {
    if (ucp_request_check_status(closing_) == UCS_INPROGRESS) return;
    ucp_request_free(closing_);
    closing_ = nullptr;
  }
  if (puts_.busy() + notes_.busy() + fetches_.busy() != 0) return;
  is_lost_ = true;
  if (events == nullptr) return;
  events->lost(spec_.index,
               make_error(ErrorCode::kAgentLost,
                          "the link {} is over: UCX says \"{}\". The process there has ended, or "
                          "the network between "
                          "is down",
                          name(),
                          ucs_status_string(failure_)));
}

ucs_status_ptr_t UcxLink::flush() {
  if (endpoint_ == nullptr || failure_ != UCS_OK) return nullptr;
  const ucp_request_param_t params = {};
  const ucs_status_ptr_t request = ucp_ep_flush_nbx(endpoint_, &params);
  return UCS_PTR_IS_ERR(request) ? nullptr : request;
}

void UcxLink::end_put(Put* put, ucs_status_t status) {
  bytes_under_way_ -= put->bytes;
  if (status == UCS_OK) {
    news_.add_sent(spec_.index, put->token);
  } else {
    fail(status);
  }
  puts_.give_back(put);
}

void UcxLink::end_note(Note* note, ucs_status_t status) {
  if (status != UCS_OK) fail(status);
  notes_.give_back(note);
}

void UcxLink::end_fetch(Fetch* fetch, ucs_status_t status) {
  if (status == UCS_OK) {
    news_.add_placed(spec_.index, fetch->header, fetch->place);
  } else {
    fail(status);
  }
  fetches_.give_back(fetch);
}

void UcxLink::on_put_done(void* request, ucs_status_t status, void* record) {
  auto* const put = static_cast<Put*>(record);
  put->link->end_put(put, status);
  ucp_request_free(request);
}

void UcxLink::on_note_done(void* request, ucs_status_t status, void* record) {
  auto* const note = static_cast<Note*>(record);
  note->link->end_note(note, status);
  ucp_request_free(request);
}

void UcxLink::on_fetch_done(void* request, ucs_status_t status, size_t, void* record) {
  auto* const fetch = static_cast<Fetch*>(record);
  fetch->link->end_fetch(fetch, status);
  ucp_request_free(request);
}

void UcxLink::on_error(void* self, ucp_ep_h, ucs_status_t status) {
  auto* const link = static_cast<UcxLink*>(self);
  link->lingers_until_ = {};
  link->fail(status);
}

}  // namespace crossdock
