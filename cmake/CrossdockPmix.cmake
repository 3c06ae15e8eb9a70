# The plugin "pmix": ranks that mpirun or srun has started. Without PMIx's headers it is left out, and whoever asks for it
# is told what to install.
if(NOT CROSSDOCK_PLUGINS)
  return()
endif()
find_package(Pmix 3.1 QUIET)
if(NOT Pmix_FOUND)
  message(STATUS "PMIx not found: without the plugin pmix (Debian: libpmix-dev)")
  return()
endif()
crossdock_module(data_ranks_pmix DIR src/data/ranks/pmix APART DEPS base data_ranks LINK Pmix::Pmix)
crossdock_plugin(pmix data_ranks_pmix)
