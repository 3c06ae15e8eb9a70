# The room data/transports/ucx and its plugin, where UCX is found. Without it, open_ucx_transport says what to install.
crossdock_plugin_interface(ucx data_transports
  HEADERS data/rings/actor.hpp data/rings/segment_header.hpp data/transports/link.hpp data/transports/ucx_transport.hpp)
if(NOT CROSSDOCK_PLUGINS)
  return()
endif()
find_package(Ucx 1.13 QUIET)
if(NOT Ucx_FOUND)
  message(STATUS "UCX 1.13 not found: without the plugin for networks (Debian: libucx-dev)")
  return()
endif()
crossdock_module(data_transports_ucx DIR src/data/transports/ucx APART
  DEPS base data_rings data_transports LINK Ucx::ucp)
crossdock_plugin(ucx data_transports_ucx)
