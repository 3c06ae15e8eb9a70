// A server's part of a plan as protobuf messages and back.
#include "control/rpc/wire_fields.hpp"

namespace crossdock::control::wire {
// Static rather than in a namespace without a name, whose functions would hide those of wire_fields.hpp.

using Planned = std::vector<PlannedEndpoint>;

static void put(const Planned& endpoints, pb::PlannedEndpoints& out) {
  const int count = static_cast<int>(endpoints.size());
  out.mutable_endpoint()->Reserve(count);
  out.mutable_vertex()->Reserve(count);
  out.mutable_server()->Reserve(count);
  for (const PlannedEndpoint& endpoint : endpoints) {
    out.mutable_endpoint()->AddAlreadyReserved(endpoint.endpoint.value);
    out.mutable_vertex()->AddAlreadyReserved(endpoint.vertex);
    out.mutable_server()->AddAlreadyReserved(endpoint.server);
  }
}

static Result<topology::VertexIndex> vertex_of(std::string_view field, uint32_t value) {
  CD_TRY(check_at_most(field, value, topology::kServerVerticesMax - 1));
  return static_cast<topology::VertexIndex>(value);
}

static Result<Planned> taken(std::string_view field, const pb::PlannedEndpoints& in) {
  const int count = in.endpoint_size();
  if (in.vertex_size() != count || in.server_size() != count) {
    return malformed(field,
                     fmt::format("has {} endpoints, {} vertices and {} servers",
                                 count,
                                 in.vertex_size(),
                                 in.server_size()));
  }
  Planned out;
  out.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    CD_ASSIGN(const topology::VertexIndex vertex, vertex_of(field, in.vertex(i)));
    out.push_back({{in.endpoint(i)}, in.server(i), vertex});
  }
  return out;
}

static void put(const topology::HopPath& path, pb::HopPath& out) {
  for (const topology::PlacedVertex& vertex : path.between) {
    out.add_between(vertex.vertex);
    out.add_between_there(vertex.place == topology::Place::kThere);
  }
  out.set_bytes_per_s(path.bytes_per_s);
  out.set_latency_s(path.latency_s);
  out.set_hops_left(static_cast<uint32_t>(path.hops_left));
}

static topology::Place place_of(bool there) {
  return there ? topology::Place::kThere : topology::Place::kHere;
}

static Result<topology::HopPath> taken(const pb::HopPath& in) {
  if (in.between_there_size() != in.between_size()) {
    return malformed(
        "HopPath.between_there",
        fmt::format("has {} values for {}", in.between_there_size(), in.between_size()));
  }
  CD_TRY(check_at_most("HopPath.hops_left", in.hops_left(), topology::kServerVerticesMax));
  topology::HopPath path;
  for (int i = 0; i < in.between_size(); ++i) {
    CD_ASSIGN(const topology::VertexIndex vertex, vertex_of("HopPath.between", in.between(i)));
    path.between.push_back({place_of(in.between_there(i)), vertex});
  }
  path.bytes_per_s = in.bytes_per_s();
  path.latency_s = in.latency_s();
  path.hops_left = static_cast<int32_t>(in.hops_left());
  return path;
}

static void put(const NamedTable& table, pb::NamedTable& out) {
  out.set_vertex(table.vertex);
  for (const topology::ForwardingTable::Entry& entry : table.table.entries()) {
    pb::ForwardingEntry& entry_out = *out.add_entries();
    entry_out.set_structure(entry.destination.structure);
    entry_out.set_vertex(entry.destination.vertex);
    for (const topology::NextHop& hop : entry.next_hops) {
      pb::NextHop& hop_out = *entry_out.add_next_hops();
      hop_out.set_vertex(hop.next.vertex);
      hop_out.set_there(hop.next.place == topology::Place::kThere);
      for (const topology::HopPath& path : hop.paths) put(path, *hop_out.add_paths());
    }
  }
}

static Status add_entry(const pb::ForwardingEntry& in, topology::ForwardingTable& table) {
  CD_ASSIGN(const topology::VertexIndex destination,
            vertex_of("ForwardingEntry.vertex", in.vertex()));
  for (const pb::NextHop& hop : in.next_hops()) {
    CD_ASSIGN(const topology::VertexIndex next, vertex_of("NextHop.vertex", hop.vertex()));
    for (const pb::HopPath& path : hop.paths()) {
      CD_ASSIGN(topology::HopPath taken_path, taken(path));
      table.add(
          {in.structure(), destination}, {place_of(hop.there()), next}, std::move(taken_path));
    }
  }
  return {};
}

static Result<NamedTable> taken(const pb::NamedTable& in) {
  NamedTable table{in.vertex(), {}};
  for (const pb::ForwardingEntry& entry : in.entries()) CD_TRY(add_entry(entry, table.table));
  return table;
}

static void put(const ChannelOutline& outline, pb::ChannelOutline& out) {
  out.set_channel(outline.channel.value);
  put(outline.request, *out.mutable_request());
  put(outline.rows, *out.mutable_rows());
  for (const PlannedServer& server : outline.servers) {
    pb::PlannedServer& server_out = *out.add_servers();
    server_out.set_name(server.name);
    server_out.set_structure(server.structure);
  }
  put(outline.sources, *out.mutable_sources());
  put(outline.destinations, *out.mutable_destinations());
}

static Result<ChannelOutline> taken(const pb::ChannelOutline& in) {
  ChannelOutline outline;
  outline.channel = {in.channel()};
  outline.request = taken(in.request());
  outline.rows = taken(in.rows());
  for (const pb::PlannedServer& server : in.servers()) {
    outline.servers.push_back({server.name(), server.structure()});
  }
  CD_ASSIGN(outline.sources, taken("ChannelOutline.sources", in.sources()));
  CD_ASSIGN(outline.destinations, taken("ChannelOutline.destinations", in.destinations()));
  return outline;
}

void put(const ServerPart& part, pb::ServerPart& out) {
  put(*part.outline, *out.mutable_outline());
  out.set_server(part.server);
  for (const NamedTable& table : *part.tables) put(table, *out.add_tables());
}

Result<ServerPart> taken(const pb::ServerPart& in) {
  CD_ASSIGN(ChannelOutline outline, taken(in.outline()));
  std::vector<NamedTable> tables;
  for (const pb::NamedTable& table : in.tables()) {
    CD_ASSIGN(NamedTable one, taken(table));
    tables.push_back(std::move(one));
  }
  return ServerPart{std::make_shared<const ChannelOutline>(std::move(outline)),
                    in.server(),
                    std::make_shared<const std::vector<NamedTable>>(std::move(tables))};
}

}  // namespace crossdock::control::wire
