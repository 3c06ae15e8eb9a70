# The plugins mpi_openmpi and mpi_mpich: one source, built once for each MPI whose headers are found. Without them ranks
# have channels only, and whoever wants to compute over ranks is told what to install.
crossdock_plugin_interface(mpi data_ranks
  HEADERS memory/budget.hpp data/ranks/rank_group.hpp data/ranks/window.hpp data/ranks/communicator.hpp data/ranks/open_communicator.hpp)
if(NOT CROSSDOCK_PLUGINS)
  return()
endif()
find_path(CROSSDOCK_OPENMPI_INCLUDE mpi.h NO_DEFAULT_PATH
  PATHS "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include" /usr/lib64/openmpi/include)
find_library(CROSSDOCK_OPENMPI_LIBRARY mpi NO_DEFAULT_PATH
  PATHS "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/lib" /usr/lib64/openmpi/lib)
find_path(CROSSDOCK_MPICH_INCLUDE mpi.h NO_DEFAULT_PATH
  PATHS "/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich" /usr/include/mpich)
find_library(CROSSDOCK_MPICH_LIBRARY mpich)
foreach(mpi openmpi mpich)
  string(TOUPPER "${mpi}" upper)
  if(NOT CROSSDOCK_${upper}_INCLUDE OR NOT CROSSDOCK_${upper}_LIBRARY)
    message(STATUS "Without the plugin mpi_${mpi} (Debian: lib${mpi}-dev)")
    continue()
  endif()
  crossdock_module(data_transports_mpi_${mpi} DIR src/data/transports/mpi APART
    DEPS base memory data_ranks data_transports LINK "${CROSSDOCK_${upper}_LIBRARY}")
  target_include_directories(crossdock_data_transports_mpi_${mpi} SYSTEM PRIVATE "${CROSSDOCK_${upper}_INCLUDE}")
  # The two have C++ interfaces, too, which nobody uses.
  target_compile_definitions(crossdock_data_transports_mpi_${mpi} PRIVATE
    OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1 CROSSDOCK_MPI_INTERFACE="${CROSSDOCK_MPI_INTERFACE}"
    CROSSDOCK_MPI_FINGERPRINT=crossdock_mpi_${mpi}_interface)
  set(CROSSDOCK_MPI_${upper}_INTERFACE "${CROSSDOCK_MPI_INTERFACE}")
  crossdock_plugin(mpi_${mpi} data_transports_mpi_${mpi})
endforeach()
