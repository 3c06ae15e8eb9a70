// crossdock._native.Group, Channel and ReceivedRows: processes that work together, and rows between them.
#include "bindings/channels.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/counters.hpp"
#include "bindings/held_buffer.hpp"
#include "bindings/operation.hpp"
#include "bindings/results.hpp"
#include "data/channels/channel_router.hpp"
#include "data/channels/group_trace.hpp"
#include "data/ranks/agreement.hpp"
#include "data/ranks/control_meeting.hpp"
#include "data/ranks/put_rates.hpp"
#include "data/trace/segment_trace.hpp"
#include "data/transports/network_devices.hpp"
#include "session/state.hpp"
#include "table/arrow_export.hpp"
#include "table/arrow_import.hpp"
#include "table/validate.hpp"

namespace crossdock::python {

ranks::Communicator& bulk_ranks(GroupObject& group) {
  ranks::Communicator* const ranks = value_or_raise(group.bulk.choose("bulk", group.group.get()));
  if (ranks == nullptr) {
    raise_error(make_error(ErrorCode::kInvalidArgument, "a process alone moves no rows in bulk"));
  }
  return *ranks;
}

void keep_interruption(GroupObject& group) {
  if (!group.interruption.has_value() && PyErr_CheckSignals() != 0) group.interruption.emplace();
}

namespace {

// Received rows as Python sees them; hands them out once.
class RowsObject {
 public:
  explicit RowsObject(KeptRows kept) : source_(kept.source) {
    auto schema = std::make_unique<ArrowSchema>();
    export_schema(*kept.rows.schema, schema.get());
    schema_ = make_capsule(std::move(schema), kSchemaName);
    auto array = std::make_unique<ArrowArray>();
    export_batch(kept.rows, array.get());
    array_ = make_capsule(std::move(array), kArrayName);
  }
  nb::object take(const nb::object&) {
    if (!array_.is_valid()) throw nb::value_error("these rows were already consumed");
    return nb::make_tuple(std::move(schema_), std::move(array_));
  }
  int source() const { return source_; }

 private:
  nb::object schema_;
  nb::object array_;
  int source_;
};

Batch batch_of(const nb::object& rows) {
  if (!nb::hasattr(rows, "__arrow_c_array__")) {
    throw nb::type_error("the rows have no __arrow_c_array__ method");
  }
  const nb::object capsules = rows.attr("__arrow_c_array__")();
  const SchemaPtr schema =
      value_or_raise(import_schema(*struct_of<ArrowSchema>(capsules[0], kSchemaName)));
  Batch batch =
      value_or_raise(import_batch(struct_of<ArrowArray>(capsules[1], kArrayName), schema));
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    ColumnView& column = batch.columns[i];
    column.longest_text = value_or_raise(validate_column(schema->fields[i], column));
  }
  return batch;
}

SchemaPtr schema_of(const nb::object& schema) {
  const nb::object capsule = schema.attr("__arrow_c_schema__")();
  return value_or_raise(import_schema(*struct_of<ArrowSchema>(capsule, kSchemaName)));
}

struct JoinOptions {
  std::string how = "alone";  // or "environment", "folder" or "control"
  std::string folder;
  ranks::ControlMeeting control;  // its job and ranks are those of a folder, too
};

Result<std::shared_ptr<ranks::RankGroup>> join(const JoinOptions& options) {
  if (options.how == "alone") return std::shared_ptr<ranks::RankGroup>();
  const ranks::ControlMeeting& control = options.control;
  auto joined = options.how == "folder"
                  ? ranks::join_meeting(options.folder, control.job, control.rank, control.ranks)
              : options.how == "control" ? ranks::join_control(control)
                                         : ranks::join_environment();
  if (!joined.ok()) return joined.error();
  return std::shared_ptr<ranks::RankGroup>(std::move(joined.value()));
}

std::shared_ptr<GroupObject> join_group(int64_t memory_bytes, const nb::kwargs& arguments) {
  JoinOptions options;
  channels::DataPlaneSettings settings;
  OptionReader given("Group", arguments);
  given.read("how", options.how);
  given.read("folder", options.folder);
  given.read("job", options.control.job);
  given.read("rank", options.control.rank);
  given.read("ranks", options.control.ranks);
  given.read("address", options.control.address);
  given.read("token", options.control.token);
  given.read("uses_tls", options.control.uses_tls);
  given.read("ca_pem", options.control.ca_pem);
  given.read("certificate_pem", options.control.certificate_pem);
  given.read("key_pem", options.control.key_pem);
  given.read("is_insecure", options.control.is_insecure);
  given.read("transports", settings.transports);
  given.read("devices", settings.devices);
  given.read("open_within_s", settings.open_within_s);
  given.read("lost_after_s", settings.lost_after_s);
  double step_within_s = 120;
  given.read("step_within_s", step_within_s);
  given.finish();
  // Says what an engine with these options would say of the memory, and finds out how much 0 is.
  const crossdock::Engine engine(crossdock::EngineOptions{1, memory_bytes});
  auto group = std::make_shared<GroupObject>();  // destroyed with the GIL, if the ranks do not meet
  group->bulk = BulkRanks(value_or_raise(step_limit(step_within_s)));
  const GilRelease released;
  group->memory = Memory::create(engine.memory_limit_bytes());
  group->group = value_or_raise(join(options));
  group->plane = value_or_raise(channels::DataPlane::open(group->memory, group->group, settings));
  return group;
}

std::vector<nb::bytes> gather(GroupObject& self, const nb::bytes& mine, double at_most_s) {
  const std::string text(mine.c_str(), mine.size());
  std::vector<std::string> answers{text};
  if (self.group != nullptr) {
    // Longer than a year is for ever, and would not fit the clock.
    const double within_s = std::clamp(at_most_s, 0.0, 3e7);
    const auto at_most = std::chrono::milliseconds(static_cast<int64_t>(within_s * 1000));
    const GilRelease released;
    ranks::RankGroup& meeting = self.bulk.meeting(*self.group);
    meeting.begin();
    answers = value_or_raise(ranks::agree(meeting, text, at_most));  // who leaves says so there
  }
  keep_interruption(self);
  std::vector<nb::bytes> all;
  for (const std::string& answer : answers) all.emplace_back(answer.data(), answer.size());
  return all;
}

void raise_interruption(GroupObject& self) {
  if (!self.interruption.has_value()) return;
  nb::python_error interruption = std::move(*self.interruption);
  self.interruption.reset();
  throw interruption;
}

void abort_group(GroupObject& self, const std::string& reason) {
  const nb::gil_scoped_release released;
  self.plane->abort(reason);
}

void give_up(GroupObject& self, const std::string& error) {
  const GilRelease released;
  self.bulk.give_up(ranks::error_of_text(error));
}

sorters::RouteBy route_by(const std::string& name) {
  if (name == "hash") return sorters::RouteBy::kHash;
  if (name == "explicit") return sorters::RouteBy::kExplicit;
  if (name == "range") return sorters::RouteBy::kRange;
  return sorters::RouteBy::kKey;
}

int place_of(const std::vector<int>& ranks, int rank) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == rank) return static_cast<int>(i);
  }
  return -1;
}

channels::ChannelSpec spec_of(const char* what, const nb::kwargs& arguments) {
  channels::ChannelSpec spec;
  std::string sends;
  std::string by;
  OptionReader given(what, arguments);
  given.read("sends", sends);
  given.read("by", by);
  given.read("keys", spec.route.keys);
  given.read("assignment", spec.route.assignment);
  given.read("sources", spec.source_ranks);
  given.read("destinations", spec.destination_ranks);
  given.read("segment_bytes", spec.segment.segment_bytes);
  given.read("text_bytes", spec.segment.text_bytes);
  given.read("slot_bits", spec.slot_bits);
  given.read("memory_bytes", spec.memory_bytes_max);
  given.read("open_within_s", spec.open_within_s);
  const nb::object bounds = given.take("bounds");
  given.finish();
  if (bounds.is_valid()) spec.route.bounds = batch_of(bounds);
  spec.sends = sends == "broadcast" ? channels::ChannelSpec::Sends::kBroadcast
             : sends == "named"     ? channels::ChannelSpec::Sends::kNamed
                                    : channels::ChannelSpec::Sends::kRouted;
  spec.route.by = route_by(by);
  return spec;
}

std::shared_ptr<ChannelObject> open_channel(const std::shared_ptr<GroupObject>& self,
                                            const nb::object& schema,
                                            const nb::kwargs& arguments) {
  channels::ChannelSpec spec = spec_of("channel", arguments);
  spec.schema = schema_of(schema);
  const GilRelease released;
  spec.id = self->next_channel_id++;
  std::shared_ptr<channels::Channel> channel = value_or_raise(self->plane->create_channel(spec));
  const int rank = self->plane->rank();
  const int source = place_of(spec.source_ranks, rank);
  const int destination = place_of(spec.destination_ranks, rank);
  std::unique_ptr<channels::Sender> sender;
  std::unique_ptr<channels::Receiver> receiver;
  if (source >= 0) sender = value_or_raise(channel->open_sender(source));
  if (destination >= 0) receiver = value_or_raise(channel->open_receiver(destination));
  return std::make_shared<ChannelObject>(
      self, std::move(channel), std::move(sender), std::move(receiver));
}

// Why ranks that MPI started do not go in bulk: "" if they do.
std::string bulk_refusal(const GroupObject& self) {
  const Error* const refusal = self.bulk.refusal();
  return refusal == nullptr ? "" : refusal->message;
}

// Whether all ranks can exchange tables in bulk, if `how` lets them.
bool goes_in_bulk(GroupObject& self, const std::string& how) {
  const GilRelease released;
  return value_or_raise(self.bulk.choose(how, self.group.get())) != nullptr;
}

std::vector<bulk::CutKey> order_of(const nb::object& given) {
  std::vector<bulk::CutKey> order;
  if (!given.is_valid()) return order;
  using Key = std::tuple<int, bool, bool>;
  for (const auto& [column, descending, nulls_first] : nb::cast<std::vector<Key>>(given)) {
    order.push_back({column, descending, nulls_first});
  }
  return order;
}

// The rows that are for this rank, and the facts as JSON. Only where goes_in_bulk().
nb::tuple exchange(GroupObject& self,
                   const ArrowTable& rows,
                   int threads,
                   const nb::kwargs& arguments) {
  nb::kwargs route = arguments;
  const auto take = [&route](const char* name) {
    const nb::object option = route.contains(name) ? nb::object(route[name]) : nb::object();
    if (option.is_valid()) nb::del(route[name]);
    return option;
  };
  const HeldBuffer named(take("named"));
  BulkMove move{{}, named.as<uint16_t>(), order_of(take("order"))};
  move.spec = spec_of("exchange", route);
  std::optional<ArrowTable> received;
  std::string facts;
  {
    const GilRelease released;
    ranks::Communicator& ranks = bulk_ranks(self);
    bulk::BulkResult arrived = value_or_raise(
        exchange_in_bulk(ranks, {self.memory, threads}, *rows.state()->table, std::move(move)));
    facts = bulk_json(arrived.facts, self.plane->rank());
    received.emplace(
        std::make_shared<ArrowTable::State>(ArrowTable::State{std::move(arrived.table)}));
  }
  keep_interruption(self);
  return nb::make_tuple(std::move(*received), facts);
}

// (bytes of a message, seconds, whether it was written without a put) for each size.
nb::list measure_group_puts(GroupObject& self, const std::vector<int64_t>& message_bytes) {
  std::vector<ranks::PutRate> rates;
  {
    const GilRelease released;
    ranks::Communicator& ranks = bulk_ranks(self);
    rates = value_or_raise(ranks::measure_puts(ranks, self.memory, message_bytes));
  }
  nb::list measured;
  for (const ranks::PutRate& rate : rates) {
    measured.append(nb::make_tuple(rate.message_bytes, rate.seconds, rate.is_near));
  }
  return measured;
}

// In the place of an exchange in bulk: this rank cannot take part, and the others get its error.
void refuse_exchange(GroupObject& self, const std::string& error) {
  const GilRelease released;
  const Result<ranks::Communicator*> ranks = self.bulk.choose("bulk", self.group.get());
  if (!ranks.ok() || ranks.value() == nullptr) return;
  const Table none{std::make_shared<Schema>(), {}, 0};
  (void)exchange_in_bulk(*ranks.value(), {self.memory, 1}, none, ranks::error_of_text(error));
}

nb::dict counters_of(ChannelObject& self) {
  const channels::ChannelCounters counters = self.counters();
  return channel_counters(counters, self.id(), self.memory_bytes());
}

// The partitions of the rows of a batch, by the hash that routes rows between ranks: 16 bits each.
nb::bytes row_partitions(const nb::object& rows, const std::vector<int>& keys, int partitions) {
  const Batch batch = batch_of(rows);
  std::vector<uint16_t> parts(static_cast<size_t>(batch.rows));
  {
    const GilRelease released;
    sorters::RouteSpec spec;
    spec.by = sorters::RouteBy::kHash;
    spec.keys = keys;
    spec.destinations = partitions;
    const auto router =
        value_or_raise(channels::make_channel_router(batch.schema, std::move(spec)));
    const Status routed = router->route(batch, 0, parts);
    if (!routed.ok()) raise_error(routed.error());
  }
  return nb::bytes(parts.data(), parts.size() * sizeof(uint16_t));
}

// Of this machine's network devices, but for loopback; as text.
std::vector<std::string> host_addresses() {
  std::vector<std::string> addresses;
  for (const transports::NetworkDevice& device : value_or_raise(transports::list_interfaces())) {
    char text[INET6_ADDRSTRLEN] = "";
    const int family = device.ip.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
    if (device.is_loopback || device.ip.empty()) continue;
    if (::inet_ntop(family, device.ip.data(), text, sizeof text) != nullptr)
      addresses.emplace_back(text);
  }
  return addresses;
}

std::string finish_trace(GroupObject& self, bool is_own) {
  const GilRelease released;
  if (is_own) return value_or_raise(channels::finish_own_trace(*self.plane));
  return value_or_raise(
      channels::finish_group_trace(*self.plane, *self.memory, self.next_channel_id++));
}

void start_trace(uint32_t notes_per_thread) {
  const Status started = trace::SegmentTrace::start(notes_per_thread);
  if (!started.ok()) raise_error(started.error());
}

void bind_channel(nb::module_& module) {
  nb::class_<RowsObject>(module, "ReceivedRows")
      .def_prop_ro("source", &RowsObject::source)
      .def("__arrow_c_array__", &RowsObject::take, "requested_schema"_a = nb::none());
  nb::class_<ChannelObject>(module, "Channel")
      .def(
          "send",
          [](ChannelObject& self, const nb::object& rows, int to) {
            self.send(batch_of(rows), to);
          },
          "rows"_a,
          "to"_a = -1)
      .def(
          "try_send",
          [](ChannelObject& self, const nb::object& rows, int to) {
            return self.try_send(batch_of(rows), to);
          },
          "rows"_a,
          "to"_a = -1)
      .def("flush", &ChannelObject::flush)
      .def(
          "recv",
          [](ChannelObject& self, double wait_s) -> std::optional<RowsObject> {
            std::optional<KeptRows> kept = self.recv(wait_s);
            if (!kept.has_value()) return std::nullopt;
            return RowsObject(std::move(*kept));
          },
          "wait_s"_a)
      .def("close", &ChannelObject::close, "cause"_a)
      .def_prop_ro("is_source", &ChannelObject::is_source)
      .def_prop_ro("is_destination", &ChannelObject::is_destination)
      .def_prop_ro("is_flushed", &ChannelObject::is_flushed)
      .def_prop_ro("is_ended", &ChannelObject::is_ended)
      .def_prop_ro("memory_bytes", &ChannelObject::memory_bytes)
      .def("counters", &counters_of);
}

}  // namespace

void bind_channels(nb::module_& module) {
  bind_channel(module);
  module.def("row_partitions", &row_partitions, "rows"_a, "keys"_a, "partitions"_a);
  module.def("launch_variable", &ranks::launch_variable);
  module.def("launch_place", [] {
    const ranks::LaunchPlace place = value_or_raise(ranks::launch_place());
    return std::pair(place.rank, place.ranks);
  });
  module.def("host_addresses", &host_addresses);
  nb::class_<GroupObject> group(module, "Group");
  group.def_static("join", &join_group, "memory_bytes"_a, "options"_a)
      .def_prop_ro("rank", [](const GroupObject& self) { return self.plane->rank(); })
      .def_prop_ro("size", [](const GroupObject& self) { return self.plane->ranks(); })
      .def_prop_ro("memory_used_bytes",
                   [](const GroupObject& self) { return self.memory->used_bytes(); })
      .def("gather", &gather, "mine"_a, "at_most_s"_a)
      .def("raise_interruption", &raise_interruption)
      .def("give_up", &give_up, "error"_a)
      .def("abort", &abort_group, "reason"_a)
      .def("links",
           [](const GroupObject& self) {
             std::vector<movers::LinkCounters> links;
             {
               const GilRelease released;
               links = self.plane->links();
             }
             return link_counters(links);
           })
      .def_static("start_trace", &start_trace, "notes_per_thread"_a)
      .def("finish_trace", &finish_trace, "own"_a)
      .def("channel", &open_channel, "schema"_a, "options"_a)
      .def("goes_in_bulk", &goes_in_bulk, "how"_a)
      .def_prop_ro("bulk_refusal", &bulk_refusal)
      .def("measure_puts", &measure_group_puts, "message_bytes"_a)
      .def("exchange", &exchange, "rows"_a, "threads"_a, "options"_a)
      .def("refuse_exchange", &refuse_exchange, "error"_a);
  bind_perf(group);
}

}  // namespace crossdock::python
