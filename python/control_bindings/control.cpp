// crossdock._control: the control plane over gRPC for Python, apart from _native since it links gRPC.
//
// Ids cross as strings, topologies as JSON, everything else as plain values. Calls that wait release the GIL, and
// Ctrl-C ends them.
#include <charconv>
#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/gil.hpp"
#include "control/rpc/agent_link.hpp"
#include "control/rpc/agent_requests.hpp"
#include "control/rpc/control_client.hpp"
#include "control/rpc/control_server.hpp"
#include "control/rpc/plan_ledger.hpp"
#include "topology/graph_json.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace crossdock::python {
namespace {

struct Failure {
  Error error;
};

template <class T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) throw Failure{result.error()};
  return std::move(result.value());
}

void raise_unless(const Status& status) {
  if (!status.ok()) throw Failure{status.error()};
}

std::string_view kind_of(ErrorCode code) {
  for (const ErrorInfo& info : error_table()) {
    if (info.code == code) return info.kind;
  }
  return "InternalError";
}

nb::object described(const Error& error) {
  const std::string_view kind = kind_of(error.code);
  // A message may quote bytes that are no UTF-8; it is raised nevertheless.
  const auto size = static_cast<Py_ssize_t>(error.message.size());
  const nb::object message = nb::steal(PyUnicode_DecodeUTF8(error.message.data(), size, "replace"));
  return nb::make_tuple(code_text(error.code), nb::str(kind.data(), kind.size()), message);
}

// The reverse of text_of.
template <class Id>
Id id_of(const std::string& text) {
  uint32_t epoch = 0;
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [dash, first] = std::from_chars(text.data(), end, epoch, 16);
  if (first == std::errc() && dash != end && *dash == '-') {
    const auto [last, second] = std::from_chars(dash + 1, end, number);
    if (second == std::errc() && last == end) return Id{(uint64_t{epoch} << 32) | number};
  }
  throw Failure{make_error(
      ErrorCode::kInvalidArgument, "{:?} is no id\n  try      an id such as e7f3a1c2-12", text)};
}

template <class Id>
std::vector<Id> ids_of(const std::vector<std::string>& strings) {
  std::vector<Id> ids;
  ids.reserve(strings.size());
  for (const std::string& id : strings) ids.push_back(id_of<Id>(id));
  return ids;
}

control::RequestId request_id_of(const std::string& text) {
  control::RequestId id;
  const char* middle = text.data() + 16;
  const char* end = text.data() + text.size();
  if (text.size() == 32 && std::from_chars(text.data(), middle, id.high, 16).ptr == middle &&
      std::from_chars(middle, end, id.low, 16).ptr == end) {
    return id;
  }
  throw Failure{make_error(
      ErrorCode::kInvalidArgument, "{:?} is no request id of 32 hexadecimal digits", text)};
}

// ---- applications ---------------------------------------------------------------------------------------------------

class Client {
 public:
  explicit Client(const control::ClientSettings& settings)
      : client_(value_or_raise(control::ControlClient::make(settings))) {}
  // It waits for calls that are under way, which may want the lock of the interpreter.
  ~Client() {
    const GilRelease released;
    client_.reset();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  template <class Expected>
  Expected call(const control::Request& request, double within_s) {
    std::optional<nb::python_error> interruption;
    const auto is_interrupted = [&] {
      if (interruption.has_value()) return true;
      const GilHold held;
      if (PyErr_CheckSignals() != 0) interruption.emplace();
      return interruption.has_value();
    };
    std::optional<Result<control::Reply>> reply;
    {
      const GilRelease released;
      reply.emplace(client_->call(request, within_s, is_interrupted));
    }
    if (interruption.has_value()) throw std::move(*interruption);
    return std::get<Expected>(value_or_raise(std::move(*reply)));
  }

 private:
  std::unique_ptr<control::ControlClient> client_;
};

nb::str text(std::string_view view) { return nb::str(view.data(), view.size()); }

nb::dict status_of(Client& client, double within_s) {
  const auto status = client.call<control::ControlStatus>(control::AskStatus{}, within_s);
  nb::list agents;
  for (const control::AgentStatus& agent : status.agents) {
    nb::dict row;
    row["name"] = agent.name;
    row["state"] = text(control::state_name(agent.state));
    row["gpus"] = agent.gpus;
    row["nics"] = agent.nics;
    row["endpoints"] = agent.endpoints;
    row["channels"] = agent.channels;
    row["silent_s"] = agent.silent_s;
    agents.append(row);
  }
  nb::list channels;
  for (const control::ChannelStatus& channel : status.channels) {
    nb::dict row;
    row["id"] = control::text_of(channel.channel);
    row["state"] = text(control::state_name(channel.state));
    row["sources"] = channel.sources;
    row["destinations"] = channel.destinations;
    row["agents"] = channel.agents;
    channels.append(row);
  }
  nb::dict all;
  all["epoch"] = fmt::format("{:08x}", status.epoch);
  all["up_s"] = status.up_s;
  all["endpoints"] = status.endpoints;
  all["open_channels"] = status.open_channels;
  all["channels_created"] = status.channels_created;
  all["channels_closed"] = status.channels_closed;
  all["agents"] = agents;
  all["channels"] = channels;
  return all;
}

using Strings = std::vector<std::string>;

void bind_client(nb::module_& module) {
  module.def("make_request_id", [] { return control::text_of(control::make_request_id()); });
  nb::class_<Client>(module, "Client")
      .def(nb::init<const control::ClientSettings&>(), "settings"_a)
      .def(
          "create_endpoint",
          [](Client& self,
             const std::string& agent,
             const std::string& vertex,
             const std::string& request,
             double within_s) {
            const control::CreateEndpoint asked{request_id_of(request), agent, vertex};
            return control::text_of(self.call<control::EndpointCreated>(asked, within_s).endpoint);
          },
          "agent"_a,
          "vertex"_a,
          "request"_a,
          "within_s"_a)
      .def(
          "delete_endpoint",
          [](Client& self, const std::string& endpoint, double within_s) {
            self.call<control::Done>(control::DeleteEndpoint{id_of<control::EndpointId>(endpoint)},
                                     within_s);
          },
          "endpoint"_a,
          "within_s"_a)
      .def(
          "create_channel",
          [](Client& self,
             const std::tuple<Strings, Strings>& ends,
             const std::tuple<nb::bytes, std::vector<uint32_t>>& rows,
             const std::string& request,
             double within_s) {
            const auto& [schema, key] = rows;
            const control::CreateChannel asked{request_id_of(request),
                                               ids_of<control::EndpointId>(std::get<0>(ends)),
                                               ids_of<control::EndpointId>(std::get<1>(ends)),
                                               {std::string(schema.c_str(), schema.size()), key}};
            return control::text_of(self.call<control::ChannelOpen>(asked, within_s).channel);
          },
          "ends"_a,
          "rows"_a,
          "request"_a,
          "within_s"_a)
      .def(
          "delete_channel",
          [](Client& self, const std::string& channel, double within_s) {
            self.call<control::Done>(control::DeleteChannel{id_of<control::ChannelId>(channel)},
                                     within_s);
          },
          "channel"_a,
          "within_s"_a)
      .def("status", &status_of, "within_s"_a);
}

// ---- servers --------------------------------------------------------------------------------------------------------

control::Epoch random_epoch() {
  const auto epoch = static_cast<control::Epoch>(control::make_request_id().high);
  return epoch == 0 ? 1 : epoch;
}

// A controller and its port, until it is stopped.
class ControllerProcess {
 public:
  ControllerProcess(const control::ServerSettings& server,
                    const control::ControllerSettings& controller) {
    raise_unless(control::check_rpc_settings(server));
    raise_unless(control::check_controller_settings(controller));
    const GilRelease released;
    host_ = std::make_unique<control::ControllerHost>(controller, random_epoch());
    server_ = value_or_raise(control::ControlServer::start(server, *host_));
  }
  ~ControllerProcess() { stop(); }

  std::string address() const { return server_ == nullptr ? "" : server_->address(); }
  int64_t refused_connections() const {
    return server_ == nullptr ? 0 : server_->refused_connections();
  }
  void stop() {
    const GilRelease released;
    server_.reset();
    host_.reset();
  }

 private:
  std::unique_ptr<control::ControllerHost> host_;
  std::unique_ptr<control::ControlServer> server_;
};

// An agent that keeps its parts of channels in a ledger.
class LedgerAgent {
 public:
  LedgerAgent(const std::string& name,
              const std::string& topology,
              const control::ClientSettings& controller)
      : name_(name), controller_(controller) {
    const topology::InfrastructureGraph graph = value_or_raise(topology::graph_from_json(topology));
    if (graph.server_count() != 1) {
      throw Failure{make_error(ErrorCode::kInvalidTopology,
                               "an agent is one server, the topology has {}",
                               graph.server_count())};
    }
    topology::InfrastructureGraph named;  // refuses a name that cannot be
    value_or_raise(named.add_server(name, graph.shape_at(0)));
    shape_ = graph.shape_at(0);
    const GilRelease released;
    link_ = value_or_raise(control::AgentLink::start(
        controller, {name, control::make_agent_instance()}, shape_, ledger_));
  }
  ~LedgerAgent() { stop(); }

  std::string listen(const control::ServerSettings& server) {
    const GilRelease released;
    end_serving();
    client_ = value_or_raise(control::ControlClient::make(controller_));
    requests_ = std::make_unique<control::AgentRequests>(*client_, ledger_, name_, shape_);
    server_ = value_or_raise(control::ControlServer::start(server, *requests_));
    return server_->address();
  }

  // (joined, why not, joins so far, endpoints, channels)
  nb::tuple state() const {
    const control::AgentLinkState state =
        link_ == nullptr ? control::AgentLinkState{} : link_->state();
    const nb::object trouble =
        state.trouble.has_value() ? described(*state.trouble) : nb::object(nb::none());
    return nb::make_tuple(state.is_joined, trouble, state.joins, state.endpoints, state.channels);
  }

  int64_t refused_connections() const {
    return server_ == nullptr ? 0 : server_->refused_connections();
  }

  void stop() {
    const GilRelease released;
    end_serving();
    link_.reset();
  }

 private:
  // Each asks the next. Calls that end with the server are no reason to delete anything.
  void end_serving() {
    if (requests_ != nullptr) requests_->stop();
    server_.reset();
    requests_.reset();
    client_.reset();
  }

  const std::string name_;
  const control::ClientSettings controller_;
  std::shared_ptr<const topology::ServerShape> shape_;
  control::PlanLedger ledger_;
  std::unique_ptr<control::AgentLink> link_;
  std::unique_ptr<control::ControlClient> client_;
  std::unique_ptr<control::AgentRequests> requests_;
  std::unique_ptr<control::ControlServer> server_;
};

void bind_servers(nb::module_& module) {
  nb::class_<ControllerProcess>(module, "Controller")
      .def(nb::init<const control::ServerSettings&, const control::ControllerSettings&>(),
           "server"_a,
           "controller"_a)
      .def_prop_ro("address", &ControllerProcess::address)
      .def_prop_ro("refused_connections", &ControllerProcess::refused_connections)
      .def("stop", &ControllerProcess::stop);
  nb::class_<LedgerAgent>(module, "Agent")
      .def(nb::init<const std::string&, const std::string&, const control::ClientSettings&>(),
           "name"_a,
           "topology"_a,
           "controller"_a)
      .def_prop_ro("refused_connections", &LedgerAgent::refused_connections)
      .def("listen", &LedgerAgent::listen, "server"_a)
      .def("state", &LedgerAgent::state)
      .def("stop", &LedgerAgent::stop);
}

void bind_settings(nb::module_& module) {
  nb::class_<control::ServerSecurity>(module, "ServerSecurity")
      .def(nb::init<>())
      .def_rw("certificate_pem", &control::ServerSecurity::certificate_pem)
      .def_rw("key_pem", &control::ServerSecurity::key_pem)
      .def_rw("client_ca_pem", &control::ServerSecurity::client_ca_pem)
      .def_rw("token", &control::ServerSecurity::token)
      .def_rw("is_insecure", &control::ServerSecurity::is_insecure);
  nb::class_<control::ServerSettings>(module, "ServerSettings")
      .def(nb::init<>())
      .def_rw("listen", &control::ServerSettings::listen)
      .def_rw("security", &control::ServerSettings::security)
      .def_rw("message_bytes_max", &control::ServerSettings::message_bytes_max);
  nb::class_<control::ClientSecurity>(module, "ClientSecurity")
      .def(nb::init<>())
      .def_rw("uses_tls", &control::ClientSecurity::uses_tls)
      .def_rw("ca_pem", &control::ClientSecurity::ca_pem)
      .def_rw("certificate_pem", &control::ClientSecurity::certificate_pem)
      .def_rw("key_pem", &control::ClientSecurity::key_pem)
      .def_rw("token", &control::ClientSecurity::token)
      .def_rw("is_insecure", &control::ClientSecurity::is_insecure);
  nb::class_<control::ClientSettings>(module, "ClientSettings")
      .def(nb::init<>())
      .def_rw("address", &control::ClientSettings::address)
      .def_rw("security", &control::ClientSettings::security)
      .def_rw("message_bytes_max", &control::ClientSettings::message_bytes_max);
  nb::class_<control::ControllerSettings>(module, "ControllerSettings")
      .def(nb::init<>())
      .def_rw("heartbeat_s", &control::ControllerSettings::heartbeat_s)
      .def_rw("lost_after_s", &control::ControllerSettings::lost_after_s)
      .def_rw("apply_within_s", &control::ControllerSettings::apply_within_s)
      .def_rw("recover_within_s", &control::ControllerSettings::recover_within_s)
      .def_rw("agents_max", &control::ControllerSettings::agents_max)
      .def_rw("endpoints_max", &control::ControllerSettings::endpoints_max)
      .def_rw("channels_max", &control::ControllerSettings::channels_max);
}

}  // namespace
}  // namespace crossdock::python

NB_MODULE(_control, module) {
  using namespace crossdock::python;
  // A traceback that a user keeps may keep our objects past the interpreter's end; that is no fault.
  nb::set_leak_warnings(false);
  static PyObject* native_error =
      PyErr_NewException("crossdock._control.NativeError", PyExc_Exception, nullptr);
  module.attr("NativeError") = nb::borrow(native_error);
  nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
    try {
      std::rethrow_exception(raised);
    } catch (const Failure& failure) {
      PyErr_SetObject(native_error, described(failure.error).ptr());
    }
  });
  bind_settings(module);
  bind_client(module);
  bind_servers(module);
}
