# A room of src/ as a CMake target, and the one library that users link.

# crossdock_public_headers(): include/crossdock as a target of its own, so that each public header is compiled alone.
function(crossdock_public_headers)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/crossdock/*.hpp")
  add_library(crossdock_public INTERFACE)
  target_sources(crossdock_public INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
  set_target_properties(crossdock_public PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

# Rooms that look at every value of a table, whose tests are the longest.
set(crossdock_rooms_of_values base memory table scan expressions data_rings data_codecs data_codecs_device data_segments
  data_sorters data_bulk operators operators_device execution)

# crossdock_module(<name> DIR <folder> [DEPS <rooms>...] [LINK <targets>...] [ROOMS <sub-folders>...] [LEVEL <1|2>]
#   [APART] [LIGHT])
#
# Makes the static library crossdock_<name> of every .cpp and .hpp below DIR. Sub-folders that are rooms of their own
# are named in ROOMS and left out. Variants are chosen by file: `x_cuda.cu` is built with CUDA, `x_nocuda.cpp` without.
# Headers without a source are also compiled alone (target all_verify_interface_header_sets), which catches a missing
# include; a source includes its own header first (tools/tidy.py), which shows the same of the others.
# APART: neither the library crossdock nor the module _native has the room, since it needs heavy system parts.
# LEVEL: how far GCC optimises what users get, instead of -O3: 1 for rooms that plan, describe and meet, and touch no
# rows. src/topology is compiled in 29 s instead of 53 s.
# LIGHT: fewer checks by the sanitizers (crossdock_light_checks), in rooms that read nothing from outside, or only texts.
function(crossdock_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "APART;LIGHT" "DIR;LEVEL" "DEPS;LINK;ROOMS")
  set(folder "${PROJECT_SOURCE_DIR}/${arg_DIR}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${folder}/*.hpp" "${folder}/*.cuh")
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS "${folder}/*.cu")
  foreach(room IN LISTS arg_ROOMS)
    list(FILTER sources EXCLUDE REGEX "^${folder}/${room}/")
    list(FILTER headers EXCLUDE REGEX "^${folder}/${room}/")
    list(FILTER kernels EXCLUDE REGEX "^${folder}/${room}/")
  endforeach()
  if(CROSSDOCK_CUDA_BUILDS)
    list(FILTER sources EXCLUDE REGEX "_nocuda\\.cpp$")
  else()
    set(kernels "")
  endif()
  if(NOT sources AND NOT headers)
    message(STATUS "Room ${arg_DIR} has nothing yet")
    return()
  endif()

  set(target crossdock_${name})
  set_property(GLOBAL PROPERTY CROSSDOCK_DEPS_${name} ${arg_DEPS})
  set(scope PUBLIC)
  if(kernels)  # apart, so that all kernels can be compiled without the rest (target crossdock_kernels)
    add_library(${target}_kernels OBJECT ${kernels})
    target_include_directories(${target}_kernels PRIVATE "${PROJECT_SOURCE_DIR}/src")
    if(NOT TARGET crossdock_kernels)
      add_custom_target(crossdock_kernels)
    endif()
    add_dependencies(crossdock_kernels ${target}_kernels)
    list(APPEND sources $<TARGET_OBJECTS:${target}_kernels>)
  endif()
  if(sources)
    add_library(${target} STATIC ${sources})
    crossdock_warnings(${target} PRIVATE)
    crossdock_unity(${target} 24)
    if(arg_LEVEL)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O${arg_LEVEL}>)
    endif()
    if(arg_LIGHT)
      crossdock_light_checks(${target})
    endif()
    if(NOT name IN_LIST crossdock_rooms_of_values)
      crossdock_checks_by_call(${target})
    endif()
    if(NOT arg_APART)  # those take flags from their heavy system parts
      crossdock_precompile(${target} std)
    endif()
    target_compile_definitions(${target} PRIVATE
      CROSSDOCK_VERSION="${PROJECT_VERSION}" CROSSDOCK_BUILD_TYPE="$<CONFIG>" CROSSDOCK_SANITIZERS="${CROSSDOCK_SANITIZE}")
    if(NOT arg_APART)
      set_property(GLOBAL APPEND PROPERTY CROSSDOCK_BUILT_ROOMS ${target})
    endif()
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  list(FILTER headers EXCLUDE REGEX "\\.cuh$")
  set(alone ${headers})
  foreach(source IN LISTS sources)
    cmake_path(REPLACE_EXTENSION source hpp)
    list(REMOVE_ITEM alone "${source}")
  endforeach()
  list(REMOVE_ITEM headers ${alone})
  target_sources(${target} ${scope}
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${headers}
    FILE_SET alone TYPE HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${alone})
  target_include_directories(${target} ${scope} "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} ${scope} crossdock_public ${arg_LINK})
  foreach(dep IN LISTS arg_DEPS)
    if(TARGET crossdock_${dep})
      target_link_libraries(${target} ${scope} crossdock_${dep})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY alone)
  if(arg_APART)
    set_property(GLOBAL APPEND PROPERTY CROSSDOCK_ROOMS_APART ${name})
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY CROSSDOCK_LINKED ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY CROSSDOCK_ROOMS ${name})
endfunction()

# crossdock_world(<name> DEPS <rooms>...): rooms that tests and benches need together; what joins them stands in tests/.
function(crossdock_world name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS")
  add_library(crossdock_${name} INTERFACE)
  list(TRANSFORM arg_DEPS PREPEND crossdock_ OUTPUT_VARIABLE targets)
  target_link_libraries(crossdock_${name} INTERFACE ${targets})
  set_property(GLOBAL PROPERTY CROSSDOCK_DEPS_${name} ${arg_DEPS})
  set_property(GLOBAL APPEND PROPERTY CROSSDOCK_ROOMS_APART ${name})
endfunction()

# crossdock_library(): libcrossdock.a, all rooms in one archive, whose only visible headers are the public ones.
# It is what `find_package(crossdock)` gives, so that no internal header is ever installed.
function(crossdock_library)
  get_property(built GLOBAL PROPERTY CROSSDOCK_BUILT_ROOMS)
  get_property(linked GLOBAL PROPERTY CROSSDOCK_LINKED)
  if(NOT built)
    return()
  endif()
  list(REMOVE_DUPLICATES linked)
  list(TRANSFORM built REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(crossdock STATIC ${objects})
  add_library(crossdock::crossdock ALIAS crossdock)
  # The module links the rooms themselves.
  set_target_properties(crossdock PROPERTIES LINKER_LANGUAGE CXX EXCLUDE_FROM_ALL ${CROSSDOCK_PYTHON})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/crossdock/*.hpp")
  target_sources(crossdock PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
  target_compile_features(crossdock PUBLIC cxx_std_20)
  target_link_libraries(crossdock PUBLIC ${linked})
  # Programs look for plugins (CrossdockPlugin.cmake) where this library is, wherever they lie themselves.
  target_link_options(crossdock INTERFACE "$<BUILD_INTERFACE:-Wl,-rpath,${PROJECT_BINARY_DIR}>")
endfunction()
