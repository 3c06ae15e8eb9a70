#include "data/transports/ucx/ucx_link.hpp"

#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "data/rings/wire_segment.hpp"

namespace crossdock::transports {
namespace {

// Smaller payloads go at once: one copy at the receiver costs less than a round trip. Over TCP there is that copy in
// any case, and questions and answers of a rendezvous wait behind the data of the other direction: an exchange among 4
// hosts with 2 links of 200 Mbit each takes 0.76 s with it, 0.5 s without.
constexpr size_t kAskFromBytesRdma = size_t{16} << 10;
constexpr size_t kAskFromBytesTcp = (size_t{1} << 20) + 1;
constexpr size_t kPutsMax = 1024;
constexpr size_t kNotesMax = 1024;  // under way; 1 MiB
// What a goodbye may take to leave behind what is under way: a few frames, on a link of 1 Gbit or more.
constexpr std::chrono::milliseconds kLinger{200};
// What UCX may take to let go of what is under way when its endpoint has been closed by force: a turn or two, if all is
// well.
constexpr std::chrono::seconds kSettleMax{5};

}  // namespace

UcxLink::UcxLink(UcxWorker& worker, LinkNews& news, UcxLinkSpec spec)
    : worker_(worker), news_(news), spec_(std::move(spec)) {}

std::string UcxLink::name() const { return fmt::format("{} to rank {}", device(), spec_.peer); }

void UcxLink::connect(const std::string& peer_worker) {
  peer_worker_ = peer_worker;
  const bool is_called_first = worker_.device().is_rdma && !spec_.is_opener;
  if (!is_called_first && make_endpoint()) send_note(kUcxCall, {});
}

bool UcxLink::make_endpoint() {
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer_worker_.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &UcxLink::on_error;
  params.err_handler.arg = this;
  const ucs_status_t status = ucp_ep_create(worker_.handle(), &params, &endpoint_);
  if (status == UCS_OK) return true;
  endpoint_ = nullptr;
  fail(status);
  return false;
}

void UcxLink::take_call() {
  is_called_ = true;
  ask_to_meet();
}

void UcxLink::ask_to_meet() {
  const bool is_ready = has_called_ && (is_called_ || worker_.device().is_rdma);
  if (is_ready && spec_.is_opener && !has_asked_) next_step_ = Step::kMeet;
  has_asked_ |= next_step_ == Step::kMeet;
}

void UcxLink::take_meet() {
  if (spec_.is_opener || has_met_) return;
  next_step_ = Step::kAnswer;
}

void UcxLink::have_met() {
  has_met_ = true;
  if (failure_ != UCS_OK) next_step_ = Step::kPart;  // given up meanwhile
}

void UcxLink::take_step() {
  switch (std::exchange(next_step_, Step::kNone)) {
    case Step::kMeet:
      send_note(kUcxMeet, {});
      break;
    case Step::kAnswer:
      if (endpoint_ != nullptr || (failure_ == UCS_OK && make_endpoint())) have_met();
      break;
    case Step::kPart:
      say_goodbye();
      break;
    case Step::kNone:
      break;
  }
}

bool UcxLink::takes(uint64_t bytes) const {
  if (failure_ != UCS_OK || !has_met_ || puts_.busy() >= kPutsMax) return false;
  return bytes_under_way_ == 0 ||
         bytes_under_way_ + static_cast<int64_t>(bytes) <= spec_.bytes_under_way;
}

bool UcxLink::put(const rings::SegmentHeader& header,
                  std::span<const std::byte> payload,
                  uint64_t token) {
  const auto bytes = static_cast<int64_t>(payload.size());
  if (!takes(payload.size())) return false;
  Put* const put = puts_.take();
  *put = {this, {spec_.key, header}, token, bytes};
  put->head.header.bytes = static_cast<uint32_t>(bytes);
  ucp_request_param_t params = {};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.cb.send = &UcxLink::on_put_done;
  params.user_data = put;
  if (!worker_.user_sets_rendezvous()) {
    const size_t ask_from = worker_.device().is_rdma ? kAskFromBytesRdma : kAskFromBytesTcp;
    params.flags = payload.size() < ask_from ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
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
  return has_met_ && send_note(kUcxNote, note);
}

bool UcxLink::send_note(UcxMessage message, std::span<const std::byte> bytes) {
  const bool is_over = failure_ != UCS_OK && message != kUcxGoodbye;
  if (is_over || endpoint_ == nullptr || notes_.busy() >= kNotesMax) return false;
  Note* const note = notes_.take();
  note->link = this;
  note->message = message;
  note->head = {spec_.key};
  std::copy(bytes.begin(), bytes.end(), note->bytes.begin());
  ucp_request_param_t params = {};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  params.cb.send = &UcxLink::on_note_done;
  params.user_data = note;
  params.flags = UCP_AM_SEND_FLAG_EAGER;
  if (message == kUcxMeet) params.flags |= UCP_AM_SEND_FLAG_REPLY;  // which needs the handshake
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

void UcxLink::take_frame(const rings::SegmentHeader& header,
                         const std::byte* payload,
                         LinkEvents& events) {
  if (failure_ != UCS_OK) return;
  std::byte* const place = events.place(spec_.index, header);
  if (place == nullptr) return;
  if (events.wants_sum(header)) {
    const uint32_t checksum = rings::copy_payload(header, {payload, header.bytes}, place);
    news_.add_placed_with_sum(spec_.index, header, place, checksum);
    return;
  }
  if (header.bytes != 0) std::memcpy(place, payload, header.bytes);
  news_.add_placed(spec_.index, header, place);
}

ucs_status_t UcxLink::fetch_frame(const rings::SegmentHeader& header,
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

void UcxLink::say_goodbye() {
  if (has_met_) send_note(kUcxGoodbye, {});
}

void UcxLink::fail(ucs_status_t status) {
  if (failure_ == UCS_OK) failure_ = status;
}

// False: not yet. Of what has not met, nothing of the link's owner is under way.
bool UcxLink::close_endpoint() {
  if (!has_met_) return true;
  if (endpoint_ != nullptr) {
    if (notes_.busy() != 0 && std::chrono::steady_clock::now() < lingers_until_) return false;
    ucp_request_param_t params = {};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_EP_CLOSE_FLAG_FORCE;
    closing_ = ucp_ep_close_nbx(endpoint_, &params);
    closed_at_ = std::chrono::steady_clock::now();
    endpoint_ = nullptr;
    if (UCS_PTR_IS_ERR(closing_)) closing_ = nullptr;
  }
  if (closing_ != nullptr) {
    if (ucp_request_check_status(closing_) == UCS_INPROGRESS) return false;
    ucp_request_free(closing_);
    closing_ = nullptr;
  }
  return puts_.busy() + notes_.busy() + fetches_.busy() == 0;
}

bool UcxLink::close_now() {
  fail(UCS_ERR_ENDPOINT_TIMEOUT);
  lingers_until_ = {};
  return is_lost_ || close_endpoint();
}

bool UcxLink::is_overdue() const {
  return is_failing() && endpoint_ == nullptr && closed_at_ != decltype(closed_at_)() &&
         std::chrono::steady_clock::now() > closed_at_ + kSettleMax;
}

void UcxLink::settle(LinkEvents* events) {
  if (!is_failing() || (!worker_.is_stopped() && !close_endpoint())) return;
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
  if (!has_met_ || failure_ != UCS_OK) return nullptr;
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
  if (status != UCS_OK) {
    fail(status);
  } else if (note->message == kUcxCall) {
    has_called_ = true;
    ask_to_meet();
  } else if (note->message == kUcxMeet) {
    have_met();
  }
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

}  // namespace crossdock::transports
