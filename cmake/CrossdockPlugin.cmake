# Rooms that need a heavy system library: each becomes a shared object of its own, which the engine loads when it is
# asked for (src/data/plugins). Neither the library crossdock nor the module _native needs that system library.

# crossdock_plugin_interface(<name> <room that loads it> HEADERS <headers of src/ that both sides share>...)
#
# Defines CROSSDOCK_<NAME>_INTERFACE for the sources of that room: the version and a digest of the headers, by which
# loader and plugin know that they fit. To be called whether or not the plugin can be built.
function(crossdock_plugin_interface name room)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "HEADERS")
  set(text "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CROSSDOCK_SANITIZE}")
  foreach(header base/error.hpp base/result.hpp ${arg_HEADERS})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${header}")
    file(SHA256 "${PROJECT_SOURCE_DIR}/src/${header}" digest)
    string(APPEND text " ${digest}")
  endforeach()
  string(SHA256 digest "${text}")
  string(SUBSTRING "${digest}" 0 12 digest)
  string(TOUPPER "${name}" upper)
  set(CROSSDOCK_${upper}_INTERFACE "${PROJECT_VERSION}-${digest}" PARENT_SCOPE)
  target_compile_definitions(crossdock_${room} PRIVATE CROSSDOCK_${upper}_INTERFACE="${PROJECT_VERSION}-${digest}")
endfunction()

# crossdock_plugin(<name> <room>): libcrossdock_<name>.so, all of the room that crossdock_module(<room> ... APART) made.
# The room exports its entry and the fingerprint, which are the only symbols seen from outside:
#   extern "C" [[gnu::visibility("default")]] const char crossdock_<name>_interface[] = CROSSDOCK_<NAME>_INTERFACE;
function(crossdock_plugin name room)
  string(TOUPPER "${name}" upper)
  target_compile_definitions(crossdock_${room} PRIVATE
    CROSSDOCK_${upper}_INTERFACE="${CROSSDOCK_${upper}_INTERFACE}")
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/crossdock_${name}_plugin.cpp" CONTENT "// The room is all there is.\n")
  add_library(crossdock_${name} MODULE "${PROJECT_BINARY_DIR}/crossdock_${name}_plugin.cpp")
  target_link_libraries(crossdock_${name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,crossdock_${room}>")
  if(NOT CROSSDOCK_SANITIZE)
    target_link_options(crossdock_${name} PRIVATE -Wl,-z,defs)
  endif()
  set_property(GLOBAL APPEND PROPERTY CROSSDOCK_PLUGINS crossdock_${name})
endfunction()
