// Plans as JSON text, for programs that show them: names instead of numbers, bytes and seconds in plain units. Every
// number is one of the structs that it is made from.
#pragma once

#include <string>

#include "control/optimizer/channel_plan.hpp"
#include "control/optimizer/exchange_strategy.hpp"

namespace crossdock::control {

// The ways from a source to a destination, the edges that bound them, and how long `bytes` take when nothing else
// moves. Errors: those of predict_transfer.
Result<std::string> transfer_json(const ChannelPlan& plan,
                                  topology::Location source,
                                  topology::Location destination,
                                  double bytes);

// An exchange among all endpoints, which are of one kind: the form chosen and those considered, and how long each link
// of the server with the fullest one is busy. Errors: those of choose_exchange.
Result<std::string> exchange_json(const ChannelPlan& plan,
                                  const ExchangeTask& task,
                                  const model::TransferRates& rates);

// The forwarding tables of a server. A destination that stands on several other servers alike, and vertices on its
// server, are named with "*" for the server: "*/gpu0". Error: that of ChannelPlan::tables.
Result<std::string> tables_json(const ChannelPlan& plan, topology::ServerIndex server);

}  // namespace crossdock::control
