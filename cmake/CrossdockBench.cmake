# One program per bench/<room's folder>/*_bench.cpp, linked with that room and what it stands on; run them from a release
# build only.
get_property(rooms GLOBAL PROPERTY CROSSDOCK_ROOMS)
get_property(rooms_apart GLOBAL PROPERTY CROSSDOCK_ROOMS_APART)
list(APPEND rooms ${rooms_apart})
foreach(room IN LISTS rooms)
  string(REPLACE "_" "/" folder "${room}")
  file(GLOB programs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/${folder}/*_bench.cpp")
  foreach(program IN LISTS programs)
    cmake_path(GET program STEM target)
    add_executable(${target} "${program}")
    crossdock_warnings(${target} PRIVATE)
    target_link_libraries(${target} PRIVATE crossdock_${room})
  endforeach()
endforeach()

# What the channels bench compares with.
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  add_executable(mpi_peer "${PROJECT_SOURCE_DIR}/bench/channels/mpi_peer.cpp")
  crossdock_warnings(mpi_peer PRIVATE)
  target_link_libraries(mpi_peer PRIVATE MPI::MPI_CXX)
endif()
