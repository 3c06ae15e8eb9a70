# One program per bench/<room's folder>/*_bench.cpp, linked with that room and what it stands on; run them from a release
# build only.
get_property(rooms GLOBAL PROPERTY CROSSDOCK_ROOMS)
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
