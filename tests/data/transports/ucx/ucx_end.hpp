// A rank whose links are UCX's, through the plugin.
#pragma once

#include "data/transports/link_ends.hpp"
#include "data/transports/ucx_transport.hpp"

namespace crossdock::transports {

class UcxEnd : public LinkEnd {
 public:
  explicit UcxEnd(int64_t bytes_under_way = int64_t{8} << 20,
                  std::vector<std::string> devices = {"lo"})
      : LinkEnd(open_ucx_transport({std::move(devices), bytes_under_way})) {}
};

}  // namespace crossdock::transports
