#include "data/transports/ucx_transport.hpp"

#include "data/plugins/plugin.hpp"

namespace crossdock::transports {

Result<std::unique_ptr<Transport>> open_ucx_transport(const UcxSettings& settings) {
  CD_ASSIGN(
      void* const entry,
      plugins::load_plugin({"ucx",
                            "crossdock_open_ucx",
                            CROSSDOCK_UCX_INTERFACE,
                            "UCX 1.13 or newer (Debian: libucx0, and libucx-dev to build with)"}));
  Result<std::unique_ptr<Transport>> answer = std::unique_ptr<Transport>();
  reinterpret_cast<OpenUcx*>(entry)(settings, &answer);
  return answer;
}

}  // namespace crossdock::transports
