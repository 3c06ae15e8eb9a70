#include "data/transports/ucx/ucx_worker.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "data/transports/ucx/ucx_link.hpp"

namespace crossdock::transports {
namespace {

struct Default {
  const char* name;  // as in UCX_<name>
  const char* value;
  const char* bare = nullptr;  // what ucp_config_modify of 1.13 knows a variable of a transport by
};

// Measured with UCX 1.13 over loopback: its own choice for large messages over TCP, puts that are acknowledged one by
// one, gave 3.1 GB/s, messages straight into the receiver's buffer 3.5 GB/s.
constexpr Default kDefaults[] = {
    {"MAX_EAGER_RAILS", "1"},
    {"MAX_RNDV_RAILS", "1"},
    // All that UCX prints goes to standard output, which is the program's; what matters comes back as an Error.
    {"LOG_LEVEL", "fatal"},
};
constexpr Default kTcpDefaults[] = {
    {"TLS", "tcp"},
    {"RNDV_SCHEME", "am"},
    // Its own choice is to wait in connect(), for minutes if no peer answers.
    {"TCP_CONN_NB", "y", "CONN_NB"},
    // The receive buffer of a connection holds the largest frame that is sent without asking: UCX then hands over the
    // buffer itself, and does not put the frame together from parts first. Two links of 10 Gbit between network
    // namespaces: 1.2 GB/s with 64 KiB and asking, 1.8 GB/s so.
    {"TCP_RX_SEG_SIZE", "1152k", "RX_SEG_SIZE"},
    // Payloads are copied before they are sent: of one sent in place, UCX (1.13 to 1.22) completes the send twice, and
    // aborts the process, when the connection ends while a part of it is sent (4 of 60 killed peers). A whole frame
    // fits what is copied; with that the copy costs nothing that can be measured.
    {"ZCOPY_THRESH", "inf"},
    {"TCP_TX_SEG_SIZE", "1152k", "TX_SEG_SIZE"},
};
constexpr Default kRdmaDefaults[] = {{"TLS", "ib"}};

// What links that were well may take to close, beside one that does not.
constexpr std::chrono::milliseconds kCloseMax{200};

bool user_sets(const char* name) {
  return std::getenv(fmt::format("UCX_{}", name).c_str()) != nullptr;
}

Error cannot_use(const NetworkDevice& device, std::string_view step, ucs_status_t status) {
  return make_error(
      ErrorCode::kProbeFailed,
      "UCX cannot use the network device {}: {} says \"{}\". `ucx_info -d` lists what it can use; "
      "UCX_LOG_LEVEL=info tells more",
      device.name,
      step,
      ucs_status_string(status));
}

}  // namespace

Result<std::unique_ptr<UcxWorker>> UcxWorker::open(const NetworkDevice& device) {
  std::unique_ptr<UcxWorker> worker(new UcxWorker(device));
  CD_TRY(worker->start());
  return worker;
}

UcxWorker::~UcxWorker() { destroy(); }

// UCX (1.13) aborts a process that destroys a worker while an endpoint has a rendezvous under way, unless the endpoint
// was closed and a turn or two have passed since.
void UcxWorker::stop() {
  const auto deadline = std::chrono::steady_clock::now() + kCloseMax;
  const auto are_closed = [this] {
    bool all = true;
    for (const auto& [key, link] : links_) all &= link->close_now();
    return all;
  };
  while (!are_closed() && std::chrono::steady_clock::now() < deadline) progress(nullptr);
  destroy();
  for (const auto& [key, link] : links_) link->end_with_worker();
}

void UcxWorker::destroy() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
  worker_ = nullptr;
  context_ = nullptr;
}

template <UcxMessage message, auto take>
Status UcxWorker::set_handler() {
  ucp_am_handler_param_t params = {};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  params.id = message;
  params.flags = UCP_AM_FLAG_WHOLE_MSG;
  params.cb = [](void* self, auto head, auto head_bytes, auto data, auto bytes, auto how) {
    const bool is_rendezvous = (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    return (static_cast<UcxWorker*>(self)->*take)({head, head_bytes, data, bytes, is_rendezvous});
  };
  params.arg = this;
  const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_, &params);
  if (status != UCS_OK) return cannot_use(device_, "ucp_worker_set_am_recv_handler", status);
  return {};
}

Status UcxWorker::start() {
  user_sets_rendezvous_ = user_sets("RNDV_THRESH");
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return cannot_use(device_, "ucp_config_read", status);
  const Status opened = make_context(config);
  ucp_config_release(config);
  CD_TRY(opened);
  CD_TRY(check_device());

  ucp_worker_params_t params = {};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucp_worker_create(context_, &params, &worker_);
  if (status != UCS_OK) return cannot_use(device_, "ucp_worker_create", status);
  status = ucp_worker_get_efd(worker_, &event_fd_);
  if (status != UCS_OK) return cannot_use(device_, "ucp_worker_get_efd", status);
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  status = ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return cannot_use(device_, "ucp_worker_get_address", status);
  address_.assign(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  CD_TRY((set_handler<kUcxFrame, &UcxWorker::take_frame>()));
  CD_TRY((set_handler<kUcxNote, &UcxWorker::take_note>()));
  CD_TRY((set_handler<kUcxCall, &UcxWorker::take_call>()));
  CD_TRY((set_handler<kUcxMeet, &UcxWorker::take_meet>()));
  return set_handler<kUcxGoodbye, &UcxWorker::take_goodbye>();
}

Status UcxWorker::make_context(ucp_config_t* config) {
  const auto set = [&](const char* name, const char* value) -> Status {
    const ucs_status_t status = ucp_config_modify(config, name, value);
    if (status == UCS_OK) return {};
    return cannot_use(device_, fmt::format("ucp_config_modify({}={})", name, value), status);
  };
  const auto set_all = [&](std::span<const Default> defaults) -> Status {
    for (const Default& one : defaults) {
      if (user_sets(one.name)) continue;
      CD_TRY(set(one.name, one.value));
      if (one.bare != nullptr) CD_TRY(set(one.bare, one.value));
    }
    return {};
  };
  CD_TRY(set_all(kDefaults));
  CD_TRY(set_all(device_.is_rdma ? std::span<const Default>(kRdmaDefaults) : kTcpDefaults));
  CD_TRY(set("NET_DEVICES", device_.name.c_str()));
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  const ucs_status_t status = ucp_init(&params, config, &context_);
  if (status != UCS_OK) return cannot_use(device_, "ucp_init", status);
  return {};
}

// ucp_config_modify takes names that it does not know without a word, so what came of it is looked at: among the lines
// that describe the context are "resource 0 : ... tcp/eth0".
Status UcxWorker::check_device() const {
  char* text = nullptr;
  size_t bytes = 0;
  FILE* const stream = open_memstream(&text, &bytes);
  if (stream == nullptr) return cannot_use(device_, "open_memstream", UCS_ERR_NO_MEMORY);
  ucp_context_print_info(context_, stream);
  std::fclose(stream);
  const std::string info(text, bytes);
  std::free(text);
  if (info.find("/" + device_.name) != std::string::npos) return {};
  return make_error(ErrorCode::kProbeFailed,
                    "UCX was asked to use the network device {} and uses others:\n{}",
                    device_.name,
                    info);
}

bool UcxWorker::progress(LinkEvents* events) {
  if (is_stopped()) return false;
  events_ = events;
  const bool moved = ucp_worker_progress(worker_) != 0;
  events_ = nullptr;
  return moved;
}

bool UcxWorker::arm() { return is_stopped() || ucp_worker_arm(worker_) == UCS_OK; }

// Null: not from a link of this worker. Who sends it is no peer, or one whose link is over.
UcxLink* UcxWorker::link_of(const Arrived& message, size_t head_bytes) const {
  if (message.head_bytes != head_bytes) return nullptr;
  UcxNoteHead head;
  std::memcpy(&head, message.head, sizeof head);
  const auto at = links_.find(head.key);
  return at == links_.end() ? nullptr : at->second;
}

// Answering UCS_OK without having asked for the data makes UCX drop them.
ucs_status_t UcxWorker::take_frame(const Arrived& message) {
  UcxLink* const link = link_of(message, sizeof(UcxFrameHead));
  if (link == nullptr || events_ == nullptr) return UCS_OK;
  UcxFrameHead head;
  std::memcpy(&head, message.head, sizeof head);  // it may lie askew
  if (head.header.bytes != message.bytes) return UCS_OK;
  if (message.is_rendezvous) return link->fetch_frame(head.header, message.data, *events_);
  link->take_frame(head.header, static_cast<const std::byte*>(message.data), *events_);
  return UCS_OK;
}

ucs_status_t UcxWorker::take_note(const Arrived& message) {
  UcxLink* const link = link_of(message, sizeof(UcxNoteHead));
  // A note is sent at once and whole; what is not comes from a peer that does not keep to the rules.
  if (link == nullptr || message.bytes > kNoteBytesMax || message.is_rendezvous) return UCS_OK;
  link->take_note({static_cast<const std::byte*>(message.data), message.bytes});
  return UCS_OK;
}

ucs_status_t UcxWorker::take_call(const Arrived& message) {
  if (UcxLink* const link = link_of(message, sizeof(UcxNoteHead)); link != nullptr)
    link->take_call();
  return UCS_OK;
}

ucs_status_t UcxWorker::take_meet(const Arrived& message) {
  if (UcxLink* const link = link_of(message, sizeof(UcxNoteHead)); link != nullptr)
    link->take_meet();
  return UCS_OK;
}

ucs_status_t UcxWorker::take_goodbye(const Arrived& message) {
  if (UcxLink* const link = link_of(message, sizeof(UcxNoteHead)); link != nullptr)
    link->take_goodbye();
  return UCS_OK;
}

}  // namespace crossdock::transports
